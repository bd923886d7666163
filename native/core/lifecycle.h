// The life of a started child up to its settled end. Its steps run on the reactor thread; any thread may ask.
//
//   running ──exit seen──▶ exited ──owner settles──▶ group gone ──▶ reaped ──▶ logs ended ──▶ settled
//                          (number held)              (or left)               (one deadline)
//
// The exit is seen first and reaped last: while the zombie is held, its number and its group's are nobody else's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drain.h"
#include "event.h"
#include "ladder.h"
#include "process.h"
#include "reactor.h"

namespace exactspawn {

// Who ended it, in the order of lib/process/exit.ts.
enum class EndedBy : int32_t { kSelf, kTerminate, kKill, kTimeout, kAbort, kDrop, kUnknown };

struct LifecycleOptions {
  bool owned = true;            // by its handle: dropping the handle ends it
  bool keep_leftovers = false;  // members that outlive the leader are counted, not killed
  int64_t drain_ms = 1000;      // shared by all logs, from the settled group on
  int64_t timeout_ms = -1;      // from the start; ends it by `timeout_ladder`
  LadderPlan timeout_ladder;
  std::string cgroup_leaf;
};

class Lifecycle final : public Counted<Lifecycle>, private Handler, private Timer, private DrainOwner {
 public:
  Lifecycle(uint32_t id, EventSink* sink, Ref<Process> process, LifecycleOptions options, UniqueFd guard_pipe,
            UniqueFd cgroup, int64_t host_peak_bytes);

  // Watches the child and its logs, then tells `started`. On failure the child is killed and reaped, and the error
  // names what could not be watched (index = target of the log, or -1). Thread: spawner. Blocks: only on failure,
  // until the killed child is reaped.
  SysError begin(Reactor* reactor, std::vector<CapturePipe> captures, Ref<SecretSet> secrets, const Event& started);

  const Ref<Process>& process() const { return process_; }
  EventSink* sink() const { return sink_.get(); }
  uint32_t id() const { return id_; }
  bool owned() const { return options_.owned; }

  // Thread: any. Blocks: no.
  void set_waiting(bool waiting);
  void end(EndedBy cause, const LadderPlan& plan);
  // SIGKILL to the group (or the leader, where the group is not its own), now; then it is settled.
  // 0, or ESRCH when the child has exited already.
  int kill(EndedBy cause);
  int signal_leader(int signal);
  int signal_group(int signal);
  // The handle is gone: an owned child is killed and its logs end with it, a detached one goes on and is only reaped.
  void drop();
  // False when there is no log on that target.
  bool copy_log(int target, LogCopy* out);

  // Keeps the leader unreaped while another child joins its group; false when it has exited.
  bool hold();
  void unhold();

 private:
  friend class Counted<Lifecycle>;
  friend class LifecycleTask;
  friend class CountJob;
  friend class RemoveLeafJob;
  friend class LiveChildren;
  ~Lifecycle() = default;

  void on_ready(uint32_t interest) override;
  void on_time() override;
  void on_drain_end() override;
  SysError watch_exit();
  SysError start_drains(std::vector<CapturePipe>* captures, const Ref<SecretSet>& secrets);
  void abandon();
  void schedule();
  void kill_cgroup_members();
  void release_on_reactor();

  // Reactor thread.
  bool begun();
  bool logs_wanted();
  bool keeps_leftovers();
  void advance();
  void see_exit();
  void tell_exit();
  void step_ladder();
  bool settle_due();
  void settle();
  bool settle_group();
  bool settle_cgroup();
  bool settle_logs();
  uint32_t silent_logs();
  void tell_settled();
  bool know_members(int* count);
  bool looks_gone(int members);
  void wake_in(int64_t ms);
  void reap();
  void send(int signal);
  void send_continue();
  void tell_gave_up();

  // What a pass over /proc answers is 0 or more, or -1 where /proc does not tell.
  static constexpr int kNotCounted = -2;

  const uint32_t id_;
  const SinkRef sink_;
  const Ref<Process> process_;
  const LifecycleOptions options_;
  const int64_t host_peak_bytes_;
  UniqueFd guard_pipe_;
  Reactor* reactor_ = nullptr;
  std::vector<std::unique_ptr<Drain>> drains_;
  // Of the list of live children, under its lock.
  Lifecycle* live_previous_ = nullptr;
  Lifecycle* live_next_ = nullptr;

  // Any thread, under the lock.
  Mutex mutex_;
  bool begun_ = false;
  bool exit_early_ = false;  // seen before the start was told
  EndedBy cause_ = EndedBy::kSelf;
  int waiting_ = 0;
  bool exit_seen_ = false;  // by the reactor, which alone sets it and so may read it without the lock
  int holds_ = 0;
  bool settle_wanted_ = false;
  bool logs_wanted_ = true;
  bool let_go_ = false;  // detached and dropped: reaped when it ends, and nothing else
  bool scheduled_ = false;
  bool ladder_requested_ = false;
  LadderPlan requested_ladder_;
  UniqueFd cgroup_;
  int counted_ = kNotCounted;
  bool counting_ = false;
  bool leaf_removed_ = false;

  // Reactor thread.
  Ladder ladder_;
  int ladder_error_ = 0;
  bool disarmed_ = false;  // the watch on the pidfd has fired
  bool settled_ = false;
  int64_t timeout_at_ = kNever;
  int64_t wake_at_ = kNever;
  int64_t group_deadline_ = kNever;
  int64_t drain_deadline_ = kNever;
  int64_t poll_ms_ = 1;
  bool group_settled_ = false;
  bool cgroup_killed_ = false;
  bool leaf_removal_begun_ = false;
  bool cgroup_settled_ = false;
  int group_left_ = -1;
  int empty_passes_ = 0;
  int64_t cgroup_peak_ = -1;
};

}  // namespace exactspawn
