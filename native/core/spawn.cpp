#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capabilities.h"
#include "cgroup.h"
#include "clone_call.h"
#include "fd_sources.h"
#include "guard_program.h"
#include "pidfd.h"
#include "process_table.h"
#include "spawn_plan.h"

namespace exactspawn {
namespace {

constexpr int kBusyTextRetries = 10;

// Each spawner thread has its own, mapped at its first start and kept: the thread never ends.
thread_local ChildStack* thread_stack = nullptr;

ChildStack* stack_of_this_thread() {
  if (thread_stack == nullptr) thread_stack = new ChildStack;
  return thread_stack->map() ? thread_stack : nullptr;
}

// The child's peak would otherwise be indistinguishable from ours, which exec folds into its record [B078].
int64_t own_peak_bytes() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

int reap(pid_t pid) {
  int word = 0;
  while (waitpid(pid, &word, 0) < 0 && errno == EINTR) {
  }
  return word;
}

// One start, from the request to the answer.
class Start {
 public:
  Start(SpawnRequest* request, int join_pgid, const std::atomic<bool>& cancelled)
      : request_(request), join_pgid_(join_pgid), cancelled_(cancelled), capabilities_(capabilities()) {}

  Spawned run() {
    result_.error = prepare();
    if (!result_.error) result_.error = attempt();
    if (result_.error) {
      discard();
    } else {
      // Now and not before: the host may have grown until the very exec.
      result_.host_peak_bytes = own_peak_bytes();
      result_.guard_pipe = std::move(guard_pipe_.write_end);
      result_.captures = std::move(sources_.captures);
    }
    return std::move(result_);
  }

 private:
  bool uses_fork() const { return request_->changes_ids() || !capabilities_.shared_memory_clone; }

  SysError prepare() {
    if (SysError error = open_sources(request_, &sources_)) return error;
    descriptors_.map = sources_.map;
    if (request_->guard) {
      if (SysError error = prepare_guard()) return error;
    }
    if (!request_->cgroup_leaf.empty()) {
      if (SysError error = open_cgroup_leaf(request_->cgroup_leaf, &result_.cgroup)) return error;
    }
    return {};
  }

  SysError prepare_guard() {
    if (SysError error = make_pipe(&guard_pipe_)) return error;
    descriptors_.guard_pipe = guard_pipe_.read_end.get();
    if (!capabilities_.memfd_exec) return {};  // then /bin/sh is the guard
    if (SysError error = make_guard_program(&guard_program_)) return error;
    descriptors_.guard_program = guard_program_.get();
    return {};
  }

  SysError attempt() {
    bool into_cgroup = result_.cgroup.valid() && !uses_fork() && capabilities_.clone3;
    for (int busy = 0;;) {
      if (result_.cgroup.valid() && !into_cgroup && !cgroup_procs_.valid()) {
        if (SysError error = open_cgroup_procs(result_.cgroup.get(), &cgroup_procs_)) return error;
        descriptors_.cgroup_procs = cgroup_procs_.get();
      }
      SysError error = attempt_once(into_cgroup ? result_.cgroup.get() : -1);
      if (!error) return {};
      // CLONE_INTO_CGROUP fails where the leaf's controllers or our own rights forbid it, and kills the child at birth
      // when our own cgroup was ever killed [docs/native.md T13]. Nothing of the program ran: joining by file says what
      // is really wrong, if anything.
      bool at_birth = error.stage == Stage::kClone || error.stage == Stage::kKilledBeforeExec;
      if (into_cgroup && at_birth && error.errnum != ECANCELED) {
        into_cgroup = false;
        continue;
      }
      // Some other thread's fork still holds the program's file open for writing; it goes away within microseconds.
      bool text_busy = error.stage == Stage::kExec && error.errnum == ETXTBSY;
      if (!text_busy || ++busy > kBusyTextRetries) return error;
      timespec pause = {0, 1000000};
      nanosleep(&pause, nullptr);
    }
  }

  SysError attempt_once(int cgroup_fd) {
    if (cancelled_.load()) return {Stage::kClone, Syscall::kNone, ECANCELED, -1};
    if (uses_fork()) {
      if (SysError error = make_pipe(&completion_)) return error;
      descriptors_.completion = completion_.write_end.get();
    }
    ChildStack* stack = stack_of_this_thread();
    SpawnPlan plan(*request_, descriptors_, capabilities_, join_pgid_, uses_fork());
    if (stack == nullptr || !plan.valid()) return {Stage::kClone, Syscall::kMmap, ENOMEM, -1};
    return make_child(*stack, &plan, cgroup_fd);
  }

  pid_t clone_child(ChildStack& stack, SpawnPlan* plan, int cgroup_fd, int* pidfd) {
    AllSignalsBlocked blocked;
    if (uses_fork()) {
      result_.mechanism = Mechanism::kFork;
      return clone_cow(pidfd, child_main, plan->child());
    }
    if (capabilities_.clone3) {
      result_.mechanism = Mechanism::kClone3;
      pid_t pid = clone3_shared(stack, pidfd, cgroup_fd, child_main, plan->child());
      if (pid >= 0 || cgroup_fd >= 0 || !(means_absent(-pid) || pid == -E2BIG)) return pid;
      if (pidfd != nullptr) *pidfd = -1;
    }
    result_.mechanism = Mechanism::kClone;
    return clone_shared(stack, pidfd, child_main, plan->child());
  }

  SysError make_child(ChildStack& stack, SpawnPlan* plan, int cgroup_fd) {
    int pidfd = -1;
    pid_t pid = clone_child(stack, plan, cgroup_fd, capabilities_.clone_pidfd ? &pidfd : nullptr);
    if (pid < 0) {
      Syscall call = result_.mechanism == Mechanism::kClone3 ? Syscall::kClone3 : Syscall::kClone;
      return {Stage::kClone, call, static_cast<int>(-pid), -1};
    }
    result_.pid = pid;
    result_.pidfd.reset(pidfd);
    if (uses_fork()) await_exec();
    const Outcome& outcome = plan->outcome();
    result_.guard_pid = outcome.guard_pid;
    if (outcome.stage == 0 && outcome.progress == kAtExec && !died_in_exec()) {
      result_.candidate = outcome.index;
      return lift_above_stdio(&result_.pidfd, Stage::kClone);
    }
    int word = reap(pid);
    end_guard();
    result_.pid = -1;
    result_.pidfd.reset();
    if (outcome.stage == 0) {
      result_.killed_by = WIFSIGNALED(word) ? WTERMSIG(word) : 0;
      return {Stage::kKilledBeforeExec, Syscall::kNone, 0, -1};
    }
    return {static_cast<Stage>(outcome.stage), static_cast<Syscall>(outcome.syscall), outcome.errnum, outcome.index};
  }

  // The child's copy of the write end closes at exec or exit, once ours is gone.
  void await_exec() {
    completion_.write_end.reset();
    char byte;
    while (read(completion_.read_end.get(), &byte, 1) < 0 && errno == EINTR) {
    }
    completion_.read_end.reset();
  }

  // A signal during a slow exec leaves the same mark as success: only the kernel's own flag tells that the program of this
  // process was never replaced. Past its point of no return exec clears the flag, and a death there is the program's.
  bool died_in_exec() const {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int options = WEXITED | WNOHANG | WNOWAIT;
    bool dead = waitid(P_PID, static_cast<id_t>(result_.pid), &info, options) == 0 && info.si_pid != 0;
    return dead && info.si_code != CLD_EXITED && never_executed(result_.pid);
  }

  // Also reaps it. Asked first: where another reaper took it, the number may be a stranger's by now.
  void end_guard() {
    if (result_.guard_pid > 0 && waitpid(result_.guard_pid, nullptr, WNOHANG) == 0) {
      kill(result_.guard_pid, SIGKILL);
      reap(result_.guard_pid);
    }
    result_.guard_pid = 0;
  }

  // A pidfd on 0, 1 or 2 that could not be lifted is the one error that comes after exec: the program runs, and may have
  // a group by now.
  void discard() {
    if (result_.pid > 0 && waitpid(result_.pid, nullptr, WNOHANG) == 0) {
      if (leads_group(request_->group)) kill(-result_.pid, SIGKILL);
      kill(result_.pid, SIGKILL);
      reap(result_.pid);
    }
    end_guard();
    result_.pid = -1;
    result_.pidfd.reset();
  }

  SpawnRequest* request_;
  int join_pgid_;
  const std::atomic<bool>& cancelled_;
  Capabilities capabilities_;
  OpenSources sources_;
  StartDescriptors descriptors_;
  Pipe completion_;
  Pipe guard_pipe_;
  UniqueFd guard_program_;
  UniqueFd cgroup_procs_;
  Spawned result_;
};

}  // namespace

Spawned spawn(SpawnRequest* request, int join_pgid, const std::atomic<bool>& cancelled) {
  return Start(request, join_pgid, cancelled).run();
}

}  // namespace exactspawn
