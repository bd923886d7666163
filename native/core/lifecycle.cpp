#include "lifecycle.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "cgroup.h"
#include "live_children.h"

namespace exactspawn {
namespace {

constexpr size_t kWaiterStackBytes = 64 * 1024;

}  // namespace

class LifecycleTask final : public Task {
 public:
  explicit LifecycleTask(Lifecycle* lifecycle) : lifecycle_(lifecycle) {}
  void run() override {
    {
      Lock lock(lifecycle_->mutex_);
      lifecycle_->scheduled_ = false;
    }
    lifecycle_->advance();
    delete this;
  }

 private:
  Ref<Lifecycle> lifecycle_;
};

Lifecycle::Lifecycle(uint32_t id, EventSink* sink, Ref<Process> process, LifecycleOptions options,
                     UniqueFd guard_pipe, UniqueFd cgroup, int64_t host_peak_bytes)
    : id_(id),
      sink_(sink),
      process_(std::move(process)),
      options_(std::move(options)),
      host_peak_bytes_(host_peak_bytes),
      guard_pipe_(std::move(guard_pipe)),
      cgroup_(std::move(cgroup)) {}

SysError Lifecycle::begin(Reactor* reactor, std::vector<CapturePipe> captures, Ref<SecretSet> secrets,
                          const Event& started) {
  reactor_ = reactor;
  retain();  // the reactor's reference, given back when the end is told
  SysError error = start_drains(&captures, secrets);
  if (!error) error = watch_exit();
  if (error) {
    abandon();
    return error;
  }
  live_children_add(this);
  if (sink_.get() != nullptr) {
    sink_->adopt(id_, this);
    sink_->emit(started);
  }
  timeout_at_ = deadline_in(options_.timeout_ms);
  bool look_again = options_.timeout_ms >= 0 || process_->pidfd() < 0;
  {
    // Until here the reactor, which may see the exit at once, says nothing: the start is told first. What was asked
    // for since then has met a reactor that did nothing.
    Lock lock(mutex_);
    begun_ = true;
    look_again |= exit_early_ || waiting_ > 0 || settle_wanted_ || ladder_requested_;
  }
  if (look_again) schedule();
  return {};
}

SysError Lifecycle::start_drains(std::vector<CapturePipe>* captures, const Ref<SecretSet>& secrets) {
  for (CapturePipe& capture : *captures) {
    drains_.push_back(std::make_unique<Drain>(std::move(capture), secrets, static_cast<DrainOwner*>(this)));
  }
  for (auto& drain : drains_) {
    SysError error = drain->start(reactor_);
    if (error) {
      error.index = drain->target();
      return error;
    }
  }
  return {};
}

// Without a pidfd a thread waits for the one child, without reaping it, and wakes the reactor.
SysError Lifecycle::watch_exit() {
  if (process_->pidfd() >= 0) return reactor_->add(process_->pidfd(), kReadable, true, this);
  retain();
  int failed = start_detached_thread(
      "xs-waiter", kWaiterStackBytes,
      [](void* self) {
        auto* lifecycle = static_cast<Lifecycle*>(self);
        siginfo_t info;
        while (waitid(P_PID, static_cast<id_t>(lifecycle->process_->pid()), &info, WEXITED | WNOWAIT) < 0 &&
               errno == EINTR) {
        }
        lifecycle->schedule();
        lifecycle->release();
      },
      this);
  if (failed == 0) return {};
  release();
  return {Stage::kClone, Syscall::kPthreadCreate, failed, -1};
}

// The program runs but cannot be watched: it must not stay [M-47].
void Lifecycle::abandon() {
  if (process_->leads_group()) process_->signal_group(SIGKILL);
  process_->signal_leader(SIGKILL);
  while (!process_->peek()) usleep(1000);
  while (!process_->dismiss_guard()) usleep(1000);
  process_->reap();
  release_on_reactor();
}

// An event of the reactor's current batch may still name this object or one of its drains. Whoever lets go last, on
// whatever thread, finds the drains closed: after an abandoned start the reactor would still be reading them.
void Lifecycle::release_on_reactor() {
  class Release final : public Task {
   public:
    explicit Release(Lifecycle* lifecycle) : lifecycle_(lifecycle) {}
    void run() override {
      for (auto& drain : lifecycle_->drains_) drain->cancel();
      lifecycle_->release();
      delete this;
    }

   private:
    Lifecycle* lifecycle_;
  };
  reactor_->post(new Release(this));
}

void Lifecycle::schedule() {
  {
    Lock lock(mutex_);
    if (scheduled_) return;
    scheduled_ = true;
  }
  reactor_->post(new LifecycleTask(this));
}

void Lifecycle::set_waiting(bool waiting) {
  bool late;
  {
    Lock lock(mutex_);
    waiting_ += waiting ? 1 : -1;
    late = exit_seen_;
  }
  // Before the exit there is nothing to do: waking the reactor would cost more than all the rest of this call.
  if (waiting && late) schedule();
}

void Lifecycle::end(EndedBy cause, const LadderPlan& plan) {
  {
    Lock lock(mutex_);
    // What ended by itself before we acted keeps its own cause [B087].
    if (cause_ == EndedBy::kSelf && !process_->peek()) cause_ = cause;
    if (ladder_requested_) {
      // The reactor has not seen the first request yet: as with a running ladder, the second only shortens the grace.
      requested_ladder_.grace_ms = std::min(requested_ladder_.grace_ms, plan.grace_ms);
    } else {
      requested_ladder_ = plan;
    }
    ladder_requested_ = true;
  }
  schedule();
}

int Lifecycle::kill(EndedBy cause) {
  bool already;
  {
    Lock lock(mutex_);
    already = process_->peek();
    if (cause_ == EndedBy::kSelf && !already) cause_ = cause;
    settle_wanted_ = true;
  }
  int failed = process_->leads_group() ? process_->signal_group(SIGKILL) : 0;
  if (!already && !process_->leads_group()) failed = process_->signal_leader(SIGKILL);
  kill_cgroup_members();
  schedule();
  return already ? ESRCH : failed;
}

void Lifecycle::kill_cgroup_members() {
  Lock lock(mutex_);
  if (cgroup_.valid()) kill_cgroup(cgroup_.get());
}

int Lifecycle::signal_leader(int signal) {
  if (process_->peek()) return ESRCH;
  return process_->signal_leader(signal);
}

int Lifecycle::signal_group(int signal) {
  // A zombie takes every signal: only with the leader reaped does the kernel tell whether anybody is left [B057].
  if (process_->group_outlives_leader() && process_->peek()) reap();
  return process_->signal_group(signal);
}

void Lifecycle::drop() {
  {
    Lock lock(mutex_);
    logs_wanted_ = false;
    settle_wanted_ = true;
    let_go_ = !options_.owned;
  }
  if (options_.owned) {
    kill(EndedBy::kDrop);
  } else {
    schedule();
  }
}

bool Lifecycle::copy_log(int target, LogCopy* out) {
  for (auto& drain : drains_) {
    if (drain->target() != target) continue;
    drain->copy(out);
    return true;
  }
  return false;
}

bool Lifecycle::hold() {
  Lock lock(mutex_);
  if (process_->peek()) return false;
  holds_++;
  return true;
}

void Lifecycle::unhold() {
  {
    Lock lock(mutex_);
    holds_--;
  }
  schedule();
}

}  // namespace exactspawn
