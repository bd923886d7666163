#include "clone_call.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

// The child cannot return through a frame that the host's thread is using, so it starts on its own stack, whose top
// holds {body, argument}. libc's clone() would do for the legacy call but offers no clone3.
extern "C" {
__attribute__((visibility("hidden"))) long exactspawn_clone3(void* args, size_t size);
__attribute__((visibility("hidden"))) long exactspawn_clone(unsigned long flags, void* stack_top, int* pidfd);
}

#if defined(__x86_64__)
__asm__(R"(
  .text
  .globl exactspawn_clone3
  .hidden exactspawn_clone3
  .type exactspawn_clone3, @function
exactspawn_clone3:
  mov $435, %eax
  syscall
  test %rax, %rax
  jz exactspawn_child_entry
  ret
  .size exactspawn_clone3, . - exactspawn_clone3

  .globl exactspawn_clone
  .hidden exactspawn_clone
  .type exactspawn_clone, @function
exactspawn_clone:
  xor %r10d, %r10d
  xor %r8d, %r8d
  mov $56, %eax
  syscall
  test %rax, %rax
  jz exactspawn_child_entry
  ret
  .size exactspawn_clone, . - exactspawn_clone

exactspawn_child_entry:
  xor %ebp, %ebp
  pop %rax
  pop %rdi
  call *%rax
  hlt
)");
#elif defined(__aarch64__)
__asm__(R"(
  .text
  .globl exactspawn_clone3
  .hidden exactspawn_clone3
  .type exactspawn_clone3, %function
exactspawn_clone3:
  mov x8, #435
  svc #0
  cbz x0, exactspawn_child_entry
  ret
  .size exactspawn_clone3, . - exactspawn_clone3

  .globl exactspawn_clone
  .hidden exactspawn_clone
  .type exactspawn_clone, %function
exactspawn_clone:
  mov x3, xzr
  mov x4, xzr
  mov x8, #220
  svc #0
  cbz x0, exactspawn_child_entry
  ret
  .size exactspawn_clone, . - exactspawn_clone

exactspawn_child_entry:
  mov x29, xzr
  ldp x9, x0, [sp], #16
  blr x9
  brk #0
)");
#endif

namespace exactspawn {
namespace {

constexpr size_t kStackGuardBytes = 64 * 1024;  // a page on every kernel, also those with 64 KiB pages
constexpr unsigned long kSharedFlags = CLONE_VM | CLONE_VFORK;

// Lays {body, argument} at the top of the stack, which stays 16-byte aligned for the call.
char* prepare(ChildStack& stack, void (*body)(void*), void* argument) {
  auto** top = reinterpret_cast<void**>(stack.base() + ChildStack::kBytes) - 2;
  top[0] = reinterpret_cast<void*>(body);
  top[1] = argument;
  return reinterpret_cast<char*>(top);
}

// clone_args as of Linux 5.7; the kernel takes any known prefix. 5.4 answers E2BIG to a longer one with a non-zero
// tail, so the size without a cgroup is the first published one.
struct CloneArguments {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
  uint64_t set_tid, set_tid_size, cgroup;
};
constexpr size_t kSizeFirst = 64, kSizeWithCgroup = 88;
constexpr uint64_t kClearSighand = 0x100000000ULL, kIntoCgroup = 0x200000000ULL;

}  // namespace

ChildStack::~ChildStack() {
  if (base_ != nullptr) munmap(base_ - kStackGuardBytes, kBytes + kStackGuardBytes);
}

bool ChildStack::map() {
  if (base_ != nullptr) return true;
  void* memory = mmap(nullptr, kBytes + kStackGuardBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  mprotect(memory, kStackGuardBytes, PROT_NONE);
  base_ = static_cast<char*>(memory) + kStackGuardBytes;
  return true;
}

pid_t clone3_shared(ChildStack& stack, int* pidfd, int cgroup_fd, void (*body)(void*), void* argument) {
  CloneArguments args;
  memset(&args, 0, sizeof args);
  args.flags = kSharedFlags | kClearSighand;
  if (pidfd != nullptr) {
    args.flags |= CLONE_PIDFD;
    args.pidfd = reinterpret_cast<uintptr_t>(pidfd);
  }
  args.exit_signal = SIGCHLD;
  char* top = prepare(stack, body, argument);
  args.stack = reinterpret_cast<uintptr_t>(stack.base());
  args.stack_size = static_cast<uint64_t>(top - stack.base());
  if (cgroup_fd >= 0) {
    args.flags |= kIntoCgroup;
    args.cgroup = static_cast<uint64_t>(cgroup_fd);
  }
  return static_cast<pid_t>(exactspawn_clone3(&args, cgroup_fd >= 0 ? kSizeWithCgroup : kSizeFirst));
}

pid_t clone_shared(ChildStack& stack, int* pidfd, void (*body)(void*), void* argument) {
  unsigned long flags = kSharedFlags | SIGCHLD | (pidfd != nullptr ? CLONE_PIDFD : 0);
  return static_cast<pid_t>(exactspawn_clone(flags, prepare(stack, body, argument), pidfd));
}

pid_t clone_cow(int* pidfd, void (*body)(void*), void* argument) {
  unsigned long flags = SIGCHLD | (pidfd != nullptr ? CLONE_PIDFD : 0);
  long pid = syscall(SYS_clone, flags, 0, pidfd, 0, 0);
  if (pid == 0) body(argument);
  return pid < 0 ? -errno : static_cast<pid_t>(pid);
}

bool means_absent(int errnum) { return errnum == ENOSYS || errnum == EPERM || errnum == EINVAL; }

// pthread_sigmask keeps 32 and 33 for libc; a set-id call elsewhere in the host signals with 33.
AllSignalsBlocked::AllSignalsBlocked() {
  unsigned long every = ~0UL;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every, &before_, sizeof every);
}

AllSignalsBlocked::~AllSignalsBlocked() {
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
}

}  // namespace exactspawn
