// The reactor's half of a child's life: from the exit that is seen to the end that is told.
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "cgroup.h"
#include "lifecycle.h"
#include "live_children.h"
#include "work_pool.h"

namespace exactspawn {
namespace {

// The kernel adds a process's pages up per processor and in batches: two readings of one peak differ by less than this.
constexpr int64_t kPeakSlackBytes = 1024 * 1024;

// Members that were killed are gone within microseconds, unless the kernel holds them: poll soon, then less often.
constexpr int64_t kPollMaxMs = 50;
// How long a killed group or cgroup may take to die before the end is told with what is left.
constexpr int64_t kGroupDeadlineMs = 1000;

}  // namespace

// One pass over /proc on a file thread; the answer comes back to the reactor.
class CountJob final : public Job {
 public:
  explicit CountJob(Lifecycle* lifecycle) : lifecycle_(lifecycle) {}
  void run() override {
    int count = lifecycle_->process_->count_members();
    {
      Lock lock(lifecycle_->mutex_);
      lifecycle_->counted_ = count;
      lifecycle_->counting_ = false;
    }
    lifecycle_->schedule();
    delete this;
  }

 private:
  Ref<Lifecycle> lifecycle_;
};

// Told back, so that the end is not told before the leaf is gone.
class RemoveLeafJob final : public Job {
 public:
  explicit RemoveLeafJob(Lifecycle* lifecycle) : lifecycle_(lifecycle) {}
  void run() override {
    remove_cgroup_leaf(lifecycle_->options_.cgroup_leaf);
    {
      Lock lock(lifecycle_->mutex_);
      lifecycle_->leaf_removed_ = true;
    }
    lifecycle_->schedule();
    delete this;
  }

 private:
  Ref<Lifecycle> lifecycle_;
};

// The pidfd is watched for one shot: it stays readable, and a child that has exited before its start is told would make
// the reactor spin until then.
void Lifecycle::on_ready(uint32_t) {
  disarmed_ = true;
  {
    Lock lock(mutex_);
    exit_early_ = !begun_;
    if (exit_early_) return;
  }
  advance();
  if (exit_seen_ || process_->pidfd() < 0) return;
  disarmed_ = false;
  reactor_->rearm(process_->pidfd(), kReadable, this);
}

void Lifecycle::on_time() {
  wake_at_ = kNever;
  advance();
}

void Lifecycle::on_drain_end() {
  if (exit_seen_) advance();
}

bool Lifecycle::begun() {
  Lock lock(mutex_);
  return begun_;
}

bool Lifecycle::keeps_leftovers() {
  Lock lock(mutex_);
  return options_.keep_leftovers || let_go_;
}

bool Lifecycle::logs_wanted() {
  Lock lock(mutex_);
  return logs_wanted_;
}

void Lifecycle::wake_in(int64_t ms) { wake_at_ = std::min(wake_at_, now_ms() + ms); }

void Lifecycle::advance() {
  if (settled_ || !begun()) return;
  wake_at_ = kNever;
  bool exits = !exit_seen_ && process_->peek();
  if (exits) see_exit();
  // Also after the leader's exit: members that nobody has settled yet are the child's too.
  if (timeout_at_ != kNever && now_ms() >= timeout_at_) {
    timeout_at_ = kNever;
    end(EndedBy::kTimeout, options_.timeout_ladder);
  }
  step_ladder();
  if (exit_seen_ && !ladder_.active() && settle_due()) settle();
  if (settled_) return;
  if (exits) tell_exit();
  reactor_->set_timer(this, std::min(wake_at_, timeout_at_));
}

void Lifecycle::see_exit() {
  {
    Lock lock(mutex_);
    exit_seen_ = true;
  }
  // A copy of the pidfd in some child that is being born would go on reporting it; a shot that is spent does not.
  if (process_->pidfd() >= 0 && !disarmed_) reactor_->remove(process_->pidfd());
  for (auto& drain : drains_) drain->hurry();
}

// Not with an end that came at once: that tells the exit too.
void Lifecycle::tell_exit() {
  if (sink_.get() == nullptr) return;
  ExitStatus status = process_->status();
  Event event = {EventType::kExited, id_, {}};
  event.fields[0] = status.code;
  event.fields[1] = status.signal;
  event.fields[2] = status.core_dumped;
  event.fields[3] = status.known;
  sink_->emit(event);
}

void Lifecycle::send(int signal) {
  int failed = process_->leads_group() ? process_->signal_group(signal) : process_->signal_leader(signal);
  ladder_error_ = failed;
}

void Lifecycle::step_ladder() {
  {
    Lock lock(mutex_);
    if (ladder_requested_) ladder_.start(requested_ladder_, now_ms());
    ladder_requested_ = false;
  }
  while (ladder_.active()) {
    bool gone = false;
    if (exit_seen_) {
      // Reaping first makes the kernel's own answer about the group exact; the pidfd goes on naming it.
      if (process_->group_outlives_leader()) reap();
      gone = process_->surely_alone();
      int members;
      if (!gone) {
        if (!know_members(&members)) return;
        gone = looks_gone(members);
      }
    }
    Ladder::Step step = ladder_.next(gone, now_ms());
    if (step == Ladder::Step::kSendFirst) {
      send(ladder_.first_signal());
      send_continue();
    } else if (step == Ladder::Step::kSendKill) {
      send(SIGKILL);
      kill_cgroup_members();
    } else if (step == Ladder::Step::kGaveUp) {
      tell_gave_up();
    } else if (step == Ladder::Step::kDone) {
      Lock lock(mutex_);
      settle_wanted_ = true;
    } else {
      // A child stopped after the first signal would never act on it [B058].
      if (ladder_.in_grace() && process_->leader_stopped()) send_continue();
      poll_ms_ = std::min(poll_ms_ * 2, kPollMaxMs);
      wake_in(std::min(poll_ms_, std::max<int64_t>(ladder_.deadline() - now_ms(), 1)));
      return;
    }
    poll_ms_ = 1;
  }
}

void Lifecycle::send_continue() {
  if (process_->leads_group()) {
    process_->signal_group(SIGCONT);
  } else {
    process_->signal_leader(SIGCONT);
  }
}

void Lifecycle::tell_gave_up() {
  if (sink_.get() == nullptr) return;
  Event event = {EventType::kEndDeadline, id_, {}};
  event.fields[0] = ladder_error_;
  sink_->emit(event);
}

bool Lifecycle::settle_due() {
  Lock lock(mutex_);
  return (settle_wanted_ || waiting_ > 0) && holds_ == 0;
}

// True with the number of live members; false while a pass over /proc is under way, which comes back to advance().
bool Lifecycle::know_members(int* count) {
  {
    Lock lock(mutex_);
    if (counting_) return false;
    if (counted_ != kNotCounted) {
      *count = counted_;
      counted_ = kNotCounted;
      return true;
    }
    counting_ = true;
  }
  auto* job = new CountJob(this);
  if (file_pool().submit(job)) job->run();
  return false;
}

// A pass over /proc is no snapshot: a member that forks and exits all the time is missed by about every third one. Where
// the kernel says at the same time that the group has somebody, two passes must agree; that they are only zombies which
// their new parent does not reap is the one other explanation.
bool Lifecycle::looks_gone(int members) {
  bool kernel_says_some = process_->group_outlives_leader() && !process_->has_guard();
  if (members < 0) return !kernel_says_some;
  empty_passes_ = members == 0 ? empty_passes_ + 1 : 0;
  return empty_passes_ >= (kernel_says_some ? 2 : 1);
}

void Lifecycle::reap() {
  Lock lock(mutex_);
  if (holds_ == 0) process_->reap();
}

void Lifecycle::settle() {
  if (!settle_group() || !settle_cgroup() || !settle_logs()) return;
  settled_ = true;
  reactor_->cancel_timer(this);
  live_children_remove(this);
  // Before the end is told: who counts descriptors right after a wait must find none of ours.
  process_->retire();
  tell_settled();
  release_on_reactor();
}

bool Lifecycle::settle_group() {
  if (group_settled_) return true;
  if (process_->group_outlives_leader()) reap();
  bool alone = process_->surely_alone();
  int members = 0;
  if (!alone && !know_members(&members)) return false;
  if (group_left_ < 0) group_left_ = std::max(members, 0);
  // Whatever the count says, for it can miss a member that forks all the time; the signal misses none: no member can fork
  // between being found and being signalled.
  if (!alone && !keeps_leftovers()) {
    if (group_deadline_ == kNever) {
      group_deadline_ = deadline_in(kGroupDeadlineMs);
      poll_ms_ = 1;
    }
    process_->signal_group(SIGKILL);
    // Where /proc does not tell, the signal must do: of a group whose members are all zombies that their new parent
    // does not reap, the kernel says for ever that it has some.
    if (members > 0 && now_ms() < group_deadline_) {
      poll_ms_ = std::min(poll_ms_ * 2, kPollMaxMs);
      wake_in(poll_ms_);
      return false;
    }
  }
  // The guard goes last: until now the host's death would have ended the members.
  if (!process_->dismiss_guard()) {
    wake_in(1);
    return false;
  }
  guard_pipe_.reset();
  reap();
  group_settled_ = true;
  return true;
}

bool Lifecycle::settle_cgroup() {
  if (cgroup_settled_ || options_.cgroup_leaf.empty()) return true;
  if (!keeps_leftovers() && !leaf_removal_begun_) {
    if (!cgroup_killed_) {
      cgroup_killed_ = true;
      group_deadline_ = deadline_in(kGroupDeadlineMs);
      poll_ms_ = 1;
    }
    // Each time: killed one by one, a member that was just being forked may have been missed.
    kill_cgroup_members();
    if (cgroup_populated(cgroup_.get()) && now_ms() < group_deadline_) {
      poll_ms_ = std::min(poll_ms_ * 2, kPollMaxMs);
      wake_in(poll_ms_);
      return false;
    }
  }
  if (!leaf_removal_begun_) {
    cgroup_peak_ = cgroup_peak_bytes(cgroup_.get());
    {
      Lock lock(mutex_);
      cgroup_.reset();
    }
    leaf_removal_begun_ = true;
    auto* job = new RemoveLeafJob(this);
    if (file_pool().submit(job)) job->run();
  }
  Lock lock(mutex_);
  cgroup_settled_ = leaf_removed_;
  return cgroup_settled_;
}

// One deadline for all logs, not one each [M-30]: an escaped descendant may hold a pipe for ever.
bool Lifecycle::settle_logs() {
  bool ended = true;
  for (auto& drain : drains_) ended &= drain->ended();
  if (ended) return true;
  if (drain_deadline_ == kNever) drain_deadline_ = deadline_in(options_.drain_ms);
  if (logs_wanted() && now_ms() < drain_deadline_) {
    wake_in(drain_deadline_ - now_ms());
    return false;
  }
  for (auto& drain : drains_) drain->cancel();
  return true;
}

// A bit for each of the first logs in which nothing was written: most programs leave one of two so.
uint32_t Lifecycle::silent_logs() {
  uint32_t bits = 0;
  for (size_t i = 0; i < std::min<size_t>(drains_.size(), 32); i++) bits |= static_cast<uint32_t>(drains_[i]->silent()) << i;
  return bits;
}

void Lifecycle::tell_settled() {
  if (sink_.get() == nullptr) return;
  ExitStatus status = process_->status();
  ReapedUsage usage = process_->usage();
  EndedBy cause;
  {
    Lock lock(mutex_);
    cause = status.known ? cause_ : EndedBy::kUnknown;
  }
  // exec folds the host's own peak into the child's record: only a larger figure is the child's [B078].
  bool rss_is_its_own = usage.known && usage.max_rss_bytes > host_peak_bytes_ + kPeakSlackBytes;
  double peak = cgroup_peak_ >= 0 ? static_cast<double>(cgroup_peak_)
                : rss_is_its_own  ? static_cast<double>(usage.max_rss_bytes)
                                  : -1;
  const double fields[] = {
      static_cast<double>(status.code),
      static_cast<double>(status.signal),
      static_cast<double>(status.core_dumped),
      static_cast<double>(status.known),
      static_cast<double>(cause),
      static_cast<double>(ladder_.escalated()),
      static_cast<double>(group_left_),
      static_cast<double>(usage.known),
      static_cast<double>(usage.user_us),
      static_cast<double>(usage.system_us),
      peak,
      cgroup_peak_ >= 0 ? 1.0 : 0.0,
      static_cast<double>(usage.minor_faults),
      static_cast<double>(usage.major_faults),
      static_cast<double>(usage.blocks_in),
      static_cast<double>(usage.blocks_out),
      static_cast<double>(usage.voluntary_switches),
      static_cast<double>(usage.involuntary_switches),
      static_cast<double>(silent_logs()),
  };
  static_assert(sizeof fields <= sizeof(Event::fields));
  Event event = {EventType::kSettled, id_, {}};
  memcpy(event.fields, fields, sizeof fields);
  sink_->emit(event);
}

}  // namespace exactspawn
