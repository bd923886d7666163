// The child's half of a start on macOS, from fork(2) to exec. It is a copy of one thread of the host: another thread's
// locks stay locked in it for ever, so only async-signal-safe functions [sigaction(2)] and plain system calls, and no
// allocation. The order of the steps and its reasons are child.cpp's.
//
// What this kernel has no call for is refused with ENOTSUP at its step. The parent-death signal alone is not: every
// child of a handle asks for it. Here it means only that nothing is started for a host that has died already.
#include "child_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <libproc.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace exactspawn {
namespace {

constexpr int kExitNotStarted = 127;

[[noreturn]] void fail(ChildPlan* plan, Stage stage, Syscall syscall, int errnum, int index = -1) {
  plan->outcome->errnum = errnum;
  plan->outcome->index = index;
  plan->outcome->syscall = static_cast<int32_t>(syscall);
  plan->outcome->stage = static_cast<int32_t>(stage);
  _exit(kExitNotStarted);
}

[[noreturn]] void refuse(ChildPlan* plan, Stage stage) { fail(plan, stage, Syscall::kNone, ENOTSUP); }

void default_dispositions(ChildPlan* plan) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; signal++) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    if (sigaction(signal, &action, nullptr) == 0) continue;
    fail(plan, Stage::kSigaction, Syscall::kRtSigaction, errno, signal);
  }
}

void enter_group(ChildPlan* plan) {
  if (plan->group == GroupMode::kSession) {
    if (setsid() < 0) fail(plan, Stage::kSetsid, Syscall::kSetsid, errno);
  } else if (plan->group != GroupMode::kInherit) {
    pid_t pgid = plan->group == GroupMode::kJoin ? plan->join_pgid : 0;
    if (setpgid(0, pgid) != 0) fail(plan, Stage::kSetpgid, Syscall::kSetpgid, errno);
  }
}

void raise_descriptor_limit(ChildPlan* plan) {
  if (plan->raise_nofile == 0) return;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= plan->raise_nofile) return;
  limit.rlim_cur = plan->raise_nofile;
  limit.rlim_max = std::max(limit.rlim_max, limit.rlim_cur);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail(plan, Stage::kRlimit, Syscall::kPrlimit, errno);
}

// Without dup3 the flag comes one call later, which no other thread is there to see.
bool run_step(const FdStep& step) {
  if (step.kind == FdStepKind::kInherit) return fcntl(step.from, F_SETFD, 0) == 0;
  if (dup2(step.from, step.to) < 0) return false;
  return step.kind == FdStepKind::kDup || fcntl(step.to, F_SETFD, FD_CLOEXEC) == 0;
}

void run_steps(ChildPlan* plan) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    Syscall call = plan->steps[i].kind == FdStepKind::kInherit ? Syscall::kFcntl : Syscall::kDup3;
    if (!run_step(plan->steps[i])) fail(plan, Stage::kDupFd, call, errno, static_cast<int>(i));
  }
}

bool in_gap(const ChildPlan* plan, uint32_t number) {
  for (uint32_t i = 0; i < plan->gap_count; i++) {
    if (number >= plan->gaps[i].first && number <= plan->gaps[i].last) return true;
  }
  return false;
}

// The list is made here and not in the host, whose other threads open more at any time; here nobody does. Its room is
// mapped, not allocated. proc_pidinfo is one system call: without a buffer it tells the room that the list takes.
void close_gaps(ChildPlan* plan) {
  pid_t self = getpid();
  int room = proc_pidinfo(self, PROC_PIDLISTFDS, 0, nullptr, 0);
  if (room <= 0) fail(plan, Stage::kCloseFds, Syscall::kNone, errno);
  void* memory = mmap(nullptr, static_cast<size_t>(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (memory == MAP_FAILED) fail(plan, Stage::kCloseFds, Syscall::kMmap, errno);
  const auto* list = static_cast<const proc_fdinfo*>(memory);
  int size = proc_pidinfo(self, PROC_PIDLISTFDS, 0, memory, room);
  if (size <= 0) fail(plan, Stage::kCloseFds, Syscall::kNone, errno);
  for (size_t i = 0; i < static_cast<size_t>(size) / sizeof *list; i++) {
    if (in_gap(plan, static_cast<uint32_t>(list[i].proc_fd))) close(list[i].proc_fd);
  }
}

// Infinity is 2^63 - 1 here, and more is refused.
void set_limits(ChildPlan* plan) {
  for (uint32_t i = 0; i < plan->limit_count; i++) {
    const ChildLimit& wanted = plan->limits[i];
    struct rlimit limit;
    limit.rlim_cur = std::min<uint64_t>(wanted.soft, RLIM_INFINITY);
    limit.rlim_max = std::min<uint64_t>(wanted.hard, RLIM_INFINITY);
    if (setrlimit(wanted.resource, &limit) != 0) {
      fail(plan, Stage::kRlimit, Syscall::kPrlimit, errno, static_cast<int>(i));
    }
  }
}

// The list's first entry *is* the effective group id, and an empty list makes that 0 [xnu bsd/kern/kern_prot.c,
// setgroups_internal]; setgid then overwrites the entry. So the group that shall be effective goes first, in front of
// those that were asked for.
void change_groups(ChildPlan* plan) {
  if (plan->group_count < 0) return;
  gid_t groups[NGROUPS_MAX];
  int count = 0;
  groups[count++] = plan->set_gid ? plan->gid : getegid();
  for (int32_t i = 0; i < plan->group_count; i++) {
    if (plan->groups[i] == groups[0]) continue;
    if (count == NGROUPS_MAX) fail(plan, Stage::kGroups, Syscall::kSetgroups, EINVAL);
    groups[count++] = plan->groups[i];
  }
  if (setgroups(count, groups) != 0) fail(plan, Stage::kGroups, Syscall::kSetgroups, errno);
}

// Without privilege setgid and setuid change the effective id only, setuid(2): that is not what was asked for.
void change_ids(ChildPlan* plan) {
  change_groups(plan);
  if (plan->set_gid) {
    if (setgid(plan->gid) != 0) fail(plan, Stage::kGid, Syscall::kSetresgid, errno);
    if (getgid() != plan->gid || getegid() != plan->gid) fail(plan, Stage::kGid, Syscall::kSetresgid, EPERM);
  }
  if (plan->set_uid) {
    if (setuid(plan->uid) != 0) fail(plan, Stage::kUid, Syscall::kSetresuid, errno);
    if (getuid() != plan->uid || geteuid() != plan->uid) fail(plan, Stage::kUid, Syscall::kSetresuid, EPERM);
  }
}

void check_host(ChildPlan* plan) {
  if (plan->parent_death_signal == 0 || getppid() == plan->host_pid) return;
  fail(plan, Stage::kPdeathsig, Syscall::kGetppid, ESRCH);
}

void wait_for_test(const ChildPlan* plan) {
  if (plan->test_delay_ms > 0) poll(nullptr, 0, plan->test_delay_ms);
}

// child.cpp's rule: a missing file is passed over, one that may not be executed is remembered, anything else ends it.
[[noreturn]] void execute(ChildPlan* plan) {
  int best = ENOENT;
  int best_index = 0;
  bool denied = false;
  plan->outcome->progress = kAtExec;
  for (uint32_t i = 0; i < plan->candidate_count; i++) {
    int index = static_cast<int>(i);
    plan->outcome->index = index;  // which one it was, should this succeed
    execve(plan->candidates[i], plan->argv, plan->envp);
    bool missing = errno == ENOENT || errno == ENOTDIR;
    if (!missing && errno != EACCES) fail(plan, Stage::kExec, Syscall::kExecve, errno, index);
    if (denied || (missing && i > 0)) continue;
    denied = !missing;
    best = errno;
    best_index = index;
  }
  fail(plan, Stage::kExec, Syscall::kExecve, best, best_index);
}

}  // namespace

[[noreturn]] void child_main(void* opaque) {
  auto* plan = static_cast<ChildPlan*>(opaque);
  plan->outcome->progress = kBorn;
  default_dispositions(plan);
  enter_group(plan);
  if (plan->guard.wanted) refuse(plan, Stage::kClone);
  if (plan->set_nice && setpriority(PRIO_PROCESS, 0, plan->nice) != 0) {
    fail(plan, Stage::kPriority, Syscall::kSetpriority, errno);
  }
  if (plan->affinity_bytes > 0) refuse(plan, Stage::kAffinity);
  if (plan->umask >= 0) umask(static_cast<mode_t>(plan->umask));
  raise_descriptor_limit(plan);
  run_steps(plan);
  close_gaps(plan);
  set_limits(plan);
  change_ids(plan);
  if (plan->cwd != nullptr && chdir(plan->cwd) != 0) fail(plan, Stage::kChdir, Syscall::kChdir, errno);
  check_host(plan);
  if (plan->no_new_privs) refuse(plan, Stage::kNoNewPrivs);
  wait_for_test(plan);
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0) fail(plan, Stage::kSigmask, Syscall::kRtSigprocmask, errno);
  execute(plan);
}

}  // namespace exactspawn
