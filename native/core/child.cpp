// THE code between clone and exec. It shares the host's memory with at least ten live threads, so: raw system calls
// only, no libc, no errno, no allocation, no lock, no stack protector, no sanitizer. `nm -u` on this object prints
// nothing, and scripts/check-child-symbols.mjs holds it to that.
//
// The order of the steps is not free (docs/native.md tells each reason): descriptors before limits (dup3 obeys
// RLIMIT_NOFILE), limits before ids (raising one needs the privilege), cwd after ids (as the target user), parent-death
// signal after ids (a change of credentials clears it, prctl(2)), signal mask last (what is pending fires then).
#include "child_plan.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "directory_entry.h"
#include "raw_syscall.h"

namespace exactspawn {
namespace {

constexpr long kErrIntr = 4, kErrNoEnt = 2, kErrAcces = 13, kErrNotDir = 20, kErrSrch = 3, kErrPerm = 1;
constexpr long kErrInval = 22;
constexpr unsigned long kCloneVm = 0x100, kCloneVfork = 0x4000, kCloneParent = 0x8000;
constexpr long kPrSetPdeathsig = 1, kPrSetNoNewPrivs = 38;
constexpr int kExitNotStarted = 127;

[[noreturn]] void leave(int code) {
  for (;;) raw_syscall(SYS_exit_group, code);
}

[[noreturn]] void fail(ChildPlan* plan, Stage stage, Syscall syscall, long result, int index = -1) {
  plan->outcome->errnum = static_cast<int32_t>(-result);
  plan->outcome->index = index;
  plan->outcome->syscall = static_cast<int32_t>(syscall);
  plan->outcome->stage = static_cast<int32_t>(stage);
  leave(kExitNotStarted);
}

// The kernel's struct sigaction begins with the handler; flags, restorer and mask are zero in every layout.
struct KernelSigaction {
  unsigned long handler;
  unsigned long zero[4];
};

long set_disposition(int signal, unsigned long handler) {
  KernelSigaction action = {handler, {0, 0, 0, 0}};
  return raw_syscall(SYS_rt_sigaction, signal, arg(&action), 0, 8);
}

// Ignored signals survive exec and also CLONE_CLEAR_SIGHAND: Node leaves SIGPIPE and SIGXFSZ ignored [B055]. glibc's
// sigaction refuses 32 and 33, the kernel does not.
void default_dispositions(ChildPlan* plan) {
  for (int signal = 1; signal <= 64; signal++) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    long result = set_disposition(signal, 0);
    if (result < 0) fail(plan, Stage::kSigaction, Syscall::kRtSigaction, result, signal);
  }
}

void enter_group(ChildPlan* plan) {
  if (plan->group == GroupMode::kSession) {
    long result = raw_syscall(SYS_setsid);
    if (result < 0) fail(plan, Stage::kSetsid, Syscall::kSetsid, result);
  } else if (plan->group != GroupMode::kInherit) {
    long pgid = plan->group == GroupMode::kJoin ? plan->join_pgid : 0;
    long result = raw_syscall(SYS_setpgid, 0, pgid);
    if (result < 0) fail(plan, Stage::kSetpgid, Syscall::kSetpgid, result);
  }
}

// Read back: the kernel silently leaves out processors that the machine or the cpuset does not have,
// sched_setaffinity(2), and the program would run on other ones than declared. The index is the first that is missing.
void set_affinity(ChildPlan* plan) {
  if (plan->affinity_bytes == 0) return;
  long result = raw_syscall(SYS_sched_setaffinity, 0, arg(plan->affinity_bytes), arg(plan->affinity));
  if (result < 0) fail(plan, Stage::kAffinity, Syscall::kSchedSetaffinity, result);
  constexpr long kWordBytes = sizeof(unsigned long), kWordBits = kWordBytes * 8;
  unsigned long granted[kMaxProcessors / kWordBits];
  result = raw_syscall(SYS_sched_getaffinity, 0, sizeof granted, arg(granted));
  if (result < 0) fail(plan, Stage::kAffinity, Syscall::kSchedSetaffinity, result);
  for (long i = 0; i < static_cast<long>(plan->affinity_bytes) / kWordBytes; i++) {
    unsigned long missing = plan->affinity[i] & ~((i + 1) * kWordBytes <= result ? granted[i] : 0UL);
    if (missing == 0) continue;
    long processor = i * kWordBits + __builtin_ctzl(missing);
    fail(plan, Stage::kAffinity, Syscall::kSchedSetaffinity, -kErrInval, static_cast<int>(processor));
  }
}

// Calls visit(number) for every open descriptor but the one it reads with. For kernels before 5.9 and sandboxes that
// refuse close_range; a loop to the limit would take minutes at RLIMIT_NOFILE 2^30 [B012].
template <typename Visit>
long each_open_descriptor(Visit visit) {
  long directory =
      raw_syscall(SYS_openat, AT_FDCWD, arg("/proc/self/fd"), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (directory < 0) return directory;
  alignas(8) char buffer[2048];
  long size;
  while ((size = raw_syscall(SYS_getdents64, directory, arg(buffer), sizeof buffer)) > 0) {
    each_numbered_entry(buffer, size, [&](const char* name) {
      long number = 0;
      for (const char* digit = name; *digit != 0; digit++) number = number * 10 + (*digit - '0');
      if (number != directory) visit(number);
    });
  }
  raw_syscall(SYS_close, directory);
  return size;
}

// For a host without /proc and close_range alike: the limit bounds what can be open.
template <typename Visit>
void each_possible_descriptor(Visit visit) {
  struct rlimit limit = {0, 0};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, arg(&limit));
  for (unsigned long number = 0; number < limit.rlim_max; number++) visit(static_cast<long>(number));
}

void close_on_exec_everything(ChildPlan* plan) {
  if (!plan->no_close_range && raw_syscall(kSysCloseRange, 0, ~0U, kCloseRangeCloexec) == 0) return;
  auto mark = [](long number) { raw_syscall(SYS_fcntl, number, F_SETFD, FD_CLOEXEC); };
  if (each_open_descriptor(mark) < 0) each_possible_descriptor(mark);
}

void run_steps(ChildPlan* plan) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const FdStep& step = plan->steps[i];
    if (step.kind == FdStepKind::kInherit) {
      long result = raw_syscall(SYS_fcntl, step.from, F_SETFD, 0);
      if (result < 0) fail(plan, Stage::kDupFd, Syscall::kFcntl, result, static_cast<int>(i));
    } else {
      long flags = step.kind == FdStepKind::kDupCloexec ? O_CLOEXEC : 0;
      long result = raw_syscall(SYS_dup3, step.from, step.to, flags);
      if (result < 0) fail(plan, Stage::kDupFd, Syscall::kDup3, result, static_cast<int>(i));
    }
  }
}

// Close-on-exec is not enough: exec wakes the host before it closes those, and in that window (seen in 73 to 99 of
// 100 starts) the child still holds the write end whose EOF the host waits for [docs/native.md T1].
void close_gaps(ChildPlan* plan) {
  for (uint32_t i = 0; i < plan->gap_count; i++) {
    const FdGap& gap = plan->gaps[i];
    if (!plan->no_close_range && raw_syscall(kSysCloseRange, gap.first, gap.last, 0) == 0) continue;
    auto close_if_in_gap = [plan](long number) {
      for (uint32_t g = 0; g < plan->gap_count; g++) {
        if (number >= plan->gaps[g].first && number <= plan->gaps[g].last) raw_syscall(SYS_close, number);
      }
    };
    each_open_descriptor(close_if_in_gap);
    return;
  }
}

void set_limits(ChildPlan* plan) {
  for (uint32_t i = 0; i < plan->limit_count; i++) {
    struct rlimit limit = {plan->limits[i].soft, plan->limits[i].hard};
    long result = raw_syscall(SYS_prlimit64, 0, plan->limits[i].resource, arg(&limit), 0);
    if (result < 0) fail(plan, Stage::kRlimit, Syscall::kPrlimit, result, static_cast<int>(i));
  }
}

void raise_descriptor_limit(ChildPlan* plan) {
  if (plan->raise_nofile == 0) return;
  struct rlimit limit = {0, 0};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, arg(&limit));
  if (limit.rlim_cur >= plan->raise_nofile) return;
  limit.rlim_cur = plan->raise_nofile;
  if (limit.rlim_max < limit.rlim_cur) limit.rlim_max = limit.rlim_cur;
  long result = raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, arg(&limit), 0);
  if (result < 0) fail(plan, Stage::kRlimit, Syscall::kPrlimit, result);
}

// Raw, because libc's setres*id signals every thread of the process to do the same. Only on the fork path: in shared
// memory a change of uid clears the host's dumpable flag, so no core dump and no debugger there [docs/native.md T9].
// Read back, since a kernel that maps ids could answer success for less.
void change_ids(ChildPlan* plan) {
  if (plan->group_count >= 0) {
    long result = raw_syscall(SYS_setgroups, plan->group_count, arg(plan->groups));
    if (result < 0) fail(plan, Stage::kGroups, Syscall::kSetgroups, result);
  }
  uint32_t real, effective, saved;
  if (plan->set_gid) {
    long result = raw_syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid);
    if (result < 0) fail(plan, Stage::kGid, Syscall::kSetresgid, result);
    raw_syscall(SYS_getresgid, arg(&real), arg(&effective), arg(&saved));
    if (real != plan->gid || effective != plan->gid || saved != plan->gid) {
      fail(plan, Stage::kGid, Syscall::kSetresgid, -kErrPerm);
    }
  }
  if (plan->set_uid) {
    long result = raw_syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid);
    if (result < 0) fail(plan, Stage::kUid, Syscall::kSetresuid, result);
    raw_syscall(SYS_getresuid, arg(&real), arg(&effective), arg(&saved));
    if (real != plan->uid || effective != plan->uid || saved != plan->uid) {
      fail(plan, Stage::kUid, Syscall::kSetresuid, -kErrPerm);
    }
  }
}

// The signal tells only of a death that comes later; a host that died before the prctl shows in getppid [prctl(2)].
void bind_to_parent(ChildPlan* plan) {
  if (plan->parent_death_signal == 0) return;
  long result = raw_syscall(SYS_prctl, kPrSetPdeathsig, plan->parent_death_signal, 0, 0, 0);
  if (result < 0) fail(plan, Stage::kPdeathsig, Syscall::kPrctl, result);
  if (raw_syscall(SYS_getppid) != plan->host_pid) fail(plan, Stage::kPdeathsig, Syscall::kGetppid, -kErrSrch);
}

// Runs in a copy of the child's descriptor table and signal table, in its group, as a child of the host.
[[noreturn]] __attribute__((noinline)) void guard_main(ChildPlan* plan) {
  const GuardPlan& guard = plan->guard;
  constexpr int kProgram = 1;
  for (int signal = 1; signal <= 64; signal++) {
    if (signal != SIGKILL && signal != SIGSTOP) set_disposition(signal, 1);
  }
  long result = raw_syscall(SYS_dup3, guard.pipe_fd, 0, 0);
  if (result >= 0 && guard.program_fd >= 0) result = raw_syscall(SYS_dup3, guard.program_fd, kProgram, O_CLOEXEC);
  if (result >= 0) {
    // Nothing of the host may live on in the guard: a copy of a pipe's write end would keep a reader waiting.
    const int last_kept = guard.program_fd >= 0 ? kProgram : 0;
    if (plan->no_close_range || raw_syscall(kSysCloseRange, last_kept + 1, ~0U, 0) != 0) {
      each_open_descriptor([last_kept](long number) {
        if (number > last_kept) raw_syscall(SYS_close, number);
      });
    }
    raw_syscall(SYS_chdir, arg("/"));
    result = guard.program_fd >= 0 ? raw_syscall(SYS_execveat, kProgram, arg(""), arg(guard.argv),
                                                 arg(guard.envp), AT_EMPTY_PATH)
                                   : raw_syscall(SYS_execve, arg(guard.shell), arg(guard.argv), arg(guard.envp));
  }
  plan->outcome->guard_errnum = static_cast<int32_t>(-result);
  leave(kExitNotStarted);
}

// CLONE_PARENT makes the guard a child of the host, which reaps it and so keeps its number from being reused;
// CLONE_VFORK holds us until it has left this memory. It runs on our stack below this frame: the branch of pid 0
// does nothing in the frame itself, as with vfork(2).
__attribute__((noinline)) void start_guard(ChildPlan* plan) {
  if (!plan->guard.wanted) return;
  long pid = raw_syscall(SYS_clone, kCloneVm | kCloneVfork | kCloneParent | SIGCHLD);
  if (pid == 0) guard_main(plan);
  if (pid < 0) fail(plan, Stage::kClone, Syscall::kClone, pid);
  plan->outcome->guard_pid = static_cast<int32_t>(pid);
  if (plan->outcome->guard_errnum != 0) fail(plan, Stage::kClone, Syscall::kExecve, -plan->outcome->guard_errnum);
}

void wait_for_test(ChildPlan* plan) {
  if (plan->test_delay_ms == 0) return;
  struct {
    long seconds, nanoseconds;
  } left = {plan->test_delay_ms / 1000, (plan->test_delay_ms % 1000) * 1000000L};
  while (raw_syscall(SYS_nanosleep, arg(&left), arg(&left)) == -kErrIntr) {
  }
}

// Tries each candidate in order. A directory of the search path without the file is passed over; one where it may
// not be executed is remembered, because that says more than "not found"; anything else ends the search.
[[noreturn]] void execute(ChildPlan* plan) {
  long best = -kErrNoEnt;
  int best_index = 0;
  bool denied = false;
  plan->outcome->progress = kAtExec;
  for (uint32_t i = 0; i < plan->candidate_count; i++) {
    plan->outcome->index = static_cast<int32_t>(i);  // which one it was, should this succeed
    long result = raw_syscall(SYS_execve, arg(plan->candidates[i]), arg(plan->argv), arg(plan->envp));
    bool missing = result == -kErrNoEnt || result == -kErrNotDir;
    if (!missing && result != -kErrAcces) fail(plan, Stage::kExec, Syscall::kExecve, result, static_cast<int>(i));
    if (denied || (missing && i > 0)) continue;
    denied = !missing;
    best = result;
    best_index = static_cast<int>(i);
  }
  fail(plan, Stage::kExec, Syscall::kExecve, best, best_index);
}

}  // namespace

[[noreturn]] void probe_main(void* flag) {
  *static_cast<volatile int*>(flag) = 1;
  leave(0);
}

[[noreturn]] void child_main(void* opaque) {
  auto* plan = static_cast<ChildPlan*>(opaque);
  plan->outcome->progress = kBorn;
  default_dispositions(plan);
  enter_group(plan);
  if (plan->cgroup_procs_fd >= 0) {
    long result = raw_syscall(SYS_write, plan->cgroup_procs_fd, arg("0"), 1);
    if (result < 0) fail(plan, Stage::kCgroup, Syscall::kWrite, result);
  }
  start_guard(plan);
  if (plan->set_nice) {
    long result = raw_syscall(SYS_setpriority, PRIO_PROCESS, 0, plan->nice);
    if (result < 0) fail(plan, Stage::kPriority, Syscall::kSetpriority, result);
  }
  set_affinity(plan);
  if (plan->umask >= 0) raw_syscall(SYS_umask, plan->umask);
  raise_descriptor_limit(plan);
  close_on_exec_everything(plan);
  run_steps(plan);
  close_gaps(plan);
  set_limits(plan);
  change_ids(plan);
  if (plan->cwd != nullptr) {
    long result = raw_syscall(SYS_chdir, arg(plan->cwd));
    if (result < 0) fail(plan, Stage::kChdir, Syscall::kChdir, result);
  }
  bind_to_parent(plan);
  if (plan->no_new_privs) {
    long result = raw_syscall(SYS_prctl, kPrSetNoNewPrivs, 1, 0, 0, 0);
    if (result < 0) fail(plan, Stage::kNoNewPrivs, Syscall::kPrctl, result);
  }
  wait_for_test(plan);
  uint64_t none = 0;
  long result = raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, arg(&none), 0, 8);
  if (result < 0) fail(plan, Stage::kSigmask, Syscall::kRtSigprocmask, result);
  execute(plan);
}

}  // namespace exactspawn
