#include "capabilities.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_plan.h"
#include "fd.h"
#include "guard_program.h"
#include "pidfd.h"
#include "raw_syscall.h"
#include "sync.h"
#include "test_hooks.h"

namespace exactspawn {
namespace {

Mutex mutex;
bool probed = false;
Capabilities found;

// Reaps by number: the pidfd is what is being judged.
void reap_probe(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool probe_clone3() {
  // Size 0 is below every published size: a reachable clone3 answers EINVAL and makes nothing.
  return syscall(SYS_clone3, nullptr, 0) < 0 && errno == EINVAL;
}

bool probe_close_range() {
  // An empty range above every number; the flag came two releases after the call.
  unsigned first = ~0U - 1;
  return syscall(kSysCloseRange, first, ~0U, 0) == 0 && syscall(kSysCloseRange, first, ~0U, kCloseRangeCloexec) == 0;
}

// An exited, unreaped child and its pidfd answer all that is asked of pidfds.
void probe_pidfd(const UniqueFd& pidfd, Capabilities* out) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  if (waitid(static_cast<idtype_t>(kWaitByPidfd), static_cast<id_t>(pidfd.get()), &info,
             WEXITED | WNOWAIT | WNOHANG) != 0) {
    return;
  }
  if (pidfd_signal(pidfd.get(), 0) != 0) return;
  out->clone_pidfd = true;
  // The probe leads no group, so a kernel that knows the flag answers ESRCH, one that does not EINVAL.
  int group = pidfd_signal_group(pidfd.get(), 0);
  out->pidfd_group_signal = group == 0 || group == ESRCH;
  int status;
  out->pidfd_exit_info = pidfd_exit_status(pidfd.get(), &status) != ENOTTY;
}

// Says nothing of what the kernel offers, only that it is not to be had just now.
bool means_exhausted(int errnum) {
  return errnum == EMFILE || errnum == ENFILE || errnum == EAGAIN || errnum == ENOMEM;
}

// False when it ran out of something on the way: what is missing then may only seem so.
bool probe(Capabilities* out) {
  Capabilities& result = *out;
  ChildStack stack;
  if (!stack.map()) return false;
  result.clone3 = probe_clone3();
  result.close_range = probe_close_range();

  AllSignalsBlocked blocked;
  volatile int flag = 0;
  int number = -1;
  pid_t pid = clone_shared(stack, &number, probe_main, const_cast<int*>(&flag));
  if (pid < 0 && means_absent(-pid)) pid = clone_shared(stack, nullptr, probe_main, const_cast<int*>(&flag));
  if (pid > 0) {
    // Under an emulator that turned this into a fork the child may still run: wait without reaping first.
    siginfo_t info;
    while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    result.shared_memory_clone = flag == 1;
    UniqueFd pidfd(number);
    if (pidfd.valid()) probe_pidfd(pidfd, &result);
    reap_probe(pid);
  }
  SysError error = probe_guard_program(&result.memfd_exec);
  return !(pid < 0 && means_exhausted(-pid)) && !means_exhausted(error.errnum);
}

}  // namespace

Capabilities capabilities() {
  Lock lock(mutex);
  if (!probed) {
    found = {};
    probed = probe(&found);
  }
  Capabilities result = found;
  TestHooks hooks = test_hooks();
  if (hooks.no_clone3) result.clone3 = false;
  if (hooks.force_fork) result.shared_memory_clone = false;
  if (hooks.no_pidfd) result.clone_pidfd = false;
  if (hooks.no_pidfd || hooks.no_group_pidfd) result.pidfd_group_signal = false;
  if (hooks.no_pidfd || hooks.no_exit_info) result.pidfd_exit_info = false;
  if (hooks.no_close_range) result.close_range = false;
  if (hooks.no_memfd_exec) result.memfd_exec = false;
  return result;
}

bool known_capabilities(Capabilities* out) {
  {
    Lock lock(mutex);
    if (!probed) return false;
  }
  *out = capabilities();
  return true;
}

}  // namespace exactspawn
