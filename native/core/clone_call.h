// The three ways to make a child, as bare as the kernel has them. Linux only.
#pragma once

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

namespace exactspawn {

// A stack for children that share our memory, with a guard page below. One per spawner thread, reused.
class ChildStack {
 public:
  ChildStack() = default;
  ~ChildStack();
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;
  // Thread: the one that clones. Fails: ENOMEM as false.
  bool map();
  char* base() const { return base_; }
  static constexpr size_t kBytes = 64 * 1024;

 private:
  char* base_ = nullptr;
};

// Each runs body(argument) in the child, on `stack` where memory is shared. `pidfd` is null for none; otherwise it
// must hold -1 and keeps it where the kernel does not know CLONE_PIDFD. All return the pid, or a negative errno.
// Blocks: the two that share memory until the child has exec'd or exited; clone_cow does not.
// The caller has blocked every signal: a handler of the host would run in the child on the host's memory, and libuv's
// would write into libuv's signal pipe [docs/native.md T4].
pid_t clone3_shared(ChildStack& stack, int* pidfd, int cgroup_fd, void (*body)(void*), void* argument);
pid_t clone_shared(ChildStack& stack, int* pidfd, void (*body)(void*), void* argument);
// Not libc's fork: that would run every library's pthread_atfork handlers in the child, and libuv's makes pipes.
pid_t clone_cow(int* pidfd, void (*body)(void*), void* argument);

// ENOSYS, EPERM and EINVAL alike mean that a call is not to be had: old container runtimes answer EPERM to what
// their filter does not know.
bool means_absent(int errnum);

// Blocks every signal of the calling thread, the real-time ones that libc keeps for itself included, and restores
// the mask when it goes.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked();
  ~AllSignalsBlocked();
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  unsigned long before_ = 0;
};

}  // namespace exactspawn
