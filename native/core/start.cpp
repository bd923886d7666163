#include "start.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "capabilities.h"
#include "cgroup.h"

namespace exactspawn {
namespace {

class RemoveJob final : public Job {
 public:
  explicit RemoveJob(std::string path) : path_(std::move(path)) {}
  void run() override {
    remove_cgroup_leaf(path_);
    delete this;
  }

 private:
  std::string path_;
};

void remove_leaf_of(const std::string& path) {
  auto* job = new RemoveJob(path);
  if (file_pool().submit(job)) job->run();
}

}  // namespace

Start::Start(uint32_t id, EventSink* sink, SpawnRequest request, LifecycleOptions options, Ref<SecretSet> secrets,
             Ref<Lifecycle> join)
    : id_(id),
      sink_(sink),
      request_(std::move(request)),
      options_(std::move(options)),
      secrets_(std::move(secrets)),
      join_(std::move(join)) {}

SysError Start::submit() {
  retain();  // the queue's reference
  SysError error = spawner_pool().submit(this);
  if (error) release();
  return error;
}

void Start::cancel() {
  cancelled_.store(true);
  if (spawner_pool().withdraw(this)) release();
}

void Start::run() {
  Reactor* reactor;
  SysError error = Reactor::start(&reactor);
  // The leader must keep its number, and so its group, until the newcomer is in it.
  bool held = !error && join_ && join_->hold();
  if (!error && join_ && !held) error = {Stage::kSetpgid, Syscall::kSetpgid, ESRCH, -1};
  if (error) {
    tell_failure(error, 0);
  } else {
    int join_pgid = join_ ? static_cast<int>(join_->process()->pid()) : 0;
    Spawned spawned = spawn(&request_, join_pgid, cancelled_);
    if (spawned.error) {
      tell_failure(spawned.error, spawned.killed_by);
    } else {
      hand_over(std::move(spawned));
    }
  }
  if (held) join_->unhold();
  release();
}

void Start::tell_failure(const SysError& error, int killed_by) {
  // Whoever cancelled could not remove it while the unborn child was in it.
  if (!request_.cgroup_leaf.empty()) remove_leaf_of(request_.cgroup_leaf);
  if (sink_.get() == nullptr || cancelled_.load()) return;
  Event event = {EventType::kStartFailed, id_, {}};
  event.fields[0] = static_cast<double>(error.stage);
  event.fields[1] = static_cast<double>(error.syscall);
  event.fields[2] = error.errnum;
  event.fields[3] = error.index;
  event.fields[4] = killed_by;
  sink_->emit(event);
}

void Start::hand_over(Spawned spawned) {
  Capabilities offered = capabilities();
  Ref<Process> process(new Process(spawned.pid, std::move(spawned.pidfd), leads_group(request_.group),
                                   spawned.guard_pid, offered.pidfd_group_signal, offered.pidfd_exit_info));
  Event started = {EventType::kStarted, id_, {}};
  started.fields[0] = spawned.pid;
  started.fields[1] = static_cast<double>(spawned.mechanism);
  started.fields[2] = spawned.candidate;
  started.fields[3] = process->pidfd() >= 0;
  started.fields[4] = process->group_outlives_leader();
  options_.cgroup_leaf = request_.cgroup_leaf;
  Ref<Lifecycle> child(new Lifecycle(id_, cancelled_.load() ? nullptr : sink_.get(), process, std::move(options_),
                                     std::move(spawned.guard_pipe), std::move(spawned.cgroup),
                                     spawned.host_peak_bytes));
  Reactor* reactor;
  Reactor::start(&reactor);
  SysError error = child->begin(reactor, std::move(spawned.captures), std::move(secrets_), started);
  if (error) {
    tell_failure(error, 0);
  } else if (cancelled_.load()) {
    // Wanted by nobody, whatever its owner would have been.
    child->kill(EndedBy::kAbort);
  }
}

}  // namespace exactspawn
