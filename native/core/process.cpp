#include "process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pidfd.h"
#include "process_table.h"

namespace exactspawn {
namespace {

int64_t microseconds(const timeval& time) { return static_cast<int64_t>(time.tv_sec) * 1000000 + time.tv_usec; }

ReapedUsage usage_of(const struct rusage& raw) {
  ReapedUsage usage;
  usage.known = true;
  usage.user_us = microseconds(raw.ru_utime);
  usage.system_us = microseconds(raw.ru_stime);
#if defined(__APPLE__)
  usage.max_rss_bytes = raw.ru_maxrss;
#else
  usage.max_rss_bytes = static_cast<int64_t>(raw.ru_maxrss) * 1024;
#endif
  usage.minor_faults = raw.ru_minflt;
  usage.major_faults = raw.ru_majflt;
  usage.blocks_in = raw.ru_inblock;
  usage.blocks_out = raw.ru_oublock;
  usage.voluntary_switches = raw.ru_nvcsw;
  usage.involuntary_switches = raw.ru_nivcsw;
  return usage;
}

#if defined(__linux__)
// libc's waitid has no fifth argument; the kernel's fills the resource usage too.
int wait_id(int pidfd, pid_t pid, siginfo_t* info, int options, struct rusage* usage) {
  memset(info, 0, sizeof *info);
  int type = pidfd >= 0 ? kWaitByPidfd : P_PID;
  int id = pidfd >= 0 ? pidfd : pid;
  long result;
  do {
    result = syscall(SYS_waitid, type, id, info, options, usage);
  } while (result < 0 && errno == EINTR);
  return result < 0 ? errno : 0;
}
#else
int wait_id(int, pid_t pid, siginfo_t* info, int options, struct rusage* usage) {
  memset(info, 0, sizeof *info);
  if ((options & WNOWAIT) == 0) {
    int word;
    pid_t result = wait4(pid, &word, WNOHANG, usage);
    if (result < 0) return errno;
    info->si_pid = result;
    return 0;
  }
  return waitid(P_PID, static_cast<id_t>(pid), info, options) == 0 ? 0 : errno;
}
#endif

// The reaper that beat us makes the status unwaitable first and has the kernel record it just after: asked in between,
// a record that is about to come would be told as lost [B065]. Bounded for a reaper that is preempted right there.
int kept_exit_status(int pidfd, int* word) {
  constexpr int kNaps = 2000;
  constexpr struct timespec kNap = {0, 50'000};
  int failed = pidfd_exit_status(pidfd, word);
  for (int nap = 0; failed == ENODATA && nap < kNaps; nap++) {
    nanosleep(&kNap, nullptr);
    failed = pidfd_exit_status(pidfd, word);
  }
  return failed;
}

}  // namespace

Process::Process(pid_t pid, UniqueFd pidfd, bool leads_group, pid_t guard_pid, bool group_pidfd, bool exit_info)
    : pid_(pid),
      pidfd_(std::move(pidfd)),
      leads_group_(leads_group),
      guard_pid_(guard_pid),
      group_pidfd_(group_pidfd && pidfd_.valid()),
      exit_info_(exit_info && pidfd_.valid()) {}

bool Process::peek() {
  Lock lock(mutex_);
  return peek_locked();
}

bool Process::peek_locked() {
  if (exited_) return true;
  siginfo_t info;
  int failed = wait_id(pidfd_.get(), pid_, &info, WEXITED | WNOHANG | WNOWAIT, nullptr);
  if (failed == 0) {
    if (info.si_pid == 0) return false;
    status_ = exit_status_of(info);
    exited_ = true;
    return true;
  }
  if (failed != ECHILD) return false;
  // Another reaper in this process took it, or SIGCHLD is ignored [B065]. The number may be a stranger's from now on.
  exited_ = true;
  reaped_ = true;
  int word;
  if (exit_info_ && kept_exit_status(pidfd_.get(), &word) == 0) status_ = exit_status_of_word(word);
  return true;
}

UniqueFd Process::copy_pidfd() const {
  Lock lock(mutex_);
  UniqueFd copy;
  duplicate(pidfd_.get(), Stage::kNone, &copy);
  return copy;
}

bool Process::exited() const {
  Lock lock(mutex_);
  return exited_;
}

bool Process::reaped() const {
  Lock lock(mutex_);
  return reaped_;
}

ExitStatus Process::status() const {
  Lock lock(mutex_);
  return status_;
}

ReapedUsage Process::usage() const {
  Lock lock(mutex_);
  return usage_;
}

void Process::reap() {
  Lock lock(mutex_);
  if (reaped_ || !peek_locked() || reaped_) return;
  siginfo_t info;
  struct rusage usage;
  if (wait_id(pidfd_.get(), pid_, &info, WEXITED | WNOHANG, &usage) == 0 && info.si_pid != 0) {
    usage_ = usage_of(usage);
  }
  reaped_ = true;
}

// Unreaped means that the kernel holds the number for us. Asked anew each time: a thief may have taken the zombie that
// we have seen. The pidfd then refuses; without one the kernel knows no such child of ours.
bool Process::number_is_ours_locked() const {
  if (reaped_) return false;
  if (pidfd_.valid()) return pidfd_signal(pidfd_.get(), 0) != ESRCH;
  siginfo_t info;
  return wait_id(-1, pid_, &info, WEXITED | WNOHANG | WNOWAIT, nullptr) != ECHILD;
}

int Process::signal_leader(int signal) {
  Lock lock(mutex_);
  if (reaped_) return ESRCH;
  if (pidfd_.valid()) return pidfd_signal(pidfd_.get(), signal);
  if (peek_locked()) return ESRCH;
  return kill(pid_, signal) == 0 ? 0 : errno;
}

int Process::signal_group(int signal) {
  Lock lock(mutex_);
  if (!leads_group_ || retired_) return ESRCH;
  if (group_pidfd_) return pidfd_signal_group(pidfd_.get(), signal);
  peek_locked();
  if (!number_is_ours_locked()) return ESRCH;
  return kill(-pid_, signal) == 0 ? 0 : errno;
}

bool Process::surely_alone() {
  Lock lock(mutex_);
  if (!leads_group_) return true;
  // With the zombie held the kernel counts it as a member, and so it does the guard: then only a list tells.
  bool exact = group_pidfd_ && reaped_ && guard_pid_ <= 0;
  return exact && pidfd_signal_group(pidfd_.get(), 0) == ESRCH;
}

int Process::count_members() {
  pid_t guard;
  {
    Lock lock(mutex_);
    // A stolen number without a pidfd may name somebody else's group by now.
    if (!leads_group_ || (!group_pidfd_ && !number_is_ours_locked())) return 0;
    guard = guard_pid_;
  }
  return count_group_members(pid_, guard);
}

bool Process::leader_stopped() {
  Lock lock(mutex_);
  if (exited_ || !number_is_ours_locked()) return false;
  char state = process_state(pid_);
  return state == 'T' || state == 'D';
}

void Process::retire() {
  Lock lock(mutex_);
  retired_ = true;
  pidfd_.reset();
}

bool Process::dismiss_guard() {
  Lock lock(mutex_);
  if (guard_pid_ <= 0) return true;
  // Asked first: once another reaper took it, the number may be a stranger's.
  pid_t result = waitpid(guard_pid_, nullptr, WNOHANG);
  if (result == 0) {
    if (!guard_killed_) kill(guard_pid_, SIGKILL);
    guard_killed_ = true;
    return false;
  }
  guard_pid_ = 0;
  return true;
}

}  // namespace exactspawn
