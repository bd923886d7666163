// fork(2) is the only way to make a child whose steps are ours; the kernel makes none that shares our memory.
#include "clone_call.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

namespace exactspawn {

ChildStack::~ChildStack() = default;

// The copy runs on its copy of the forking thread's stack.
bool ChildStack::map() { return true; }

pid_t clone3_shared(ChildStack&, int*, int, void (*)(void*), void*) { return -ENOSYS; }

pid_t clone_shared(ChildStack&, int*, void (*)(void*), void*) { return -ENOSYS; }

// libc's, as there is no stable system call interface below it: the atfork handlers of every library run in the child,
// and the descriptors that they open are closed with all others.
pid_t clone_cow(int*, void (*body)(void*), void* argument) {
  pid_t pid = fork();
  if (pid == 0) body(argument);
  return pid < 0 ? -errno : pid;
}

bool means_absent(int errnum) { return errnum == ENOSYS; }

AllSignalsBlocked::AllSignalsBlocked() {
  static_assert(sizeof(sigset_t) <= sizeof before_);
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  memcpy(&before_, &before, sizeof before);
}

AllSignalsBlocked::~AllSignalsBlocked() {
  sigset_t before;
  memcpy(&before, &before_, sizeof before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace exactspawn
