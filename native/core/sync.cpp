#include "sync.h"

#include <stdlib.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace exactspawn {
namespace {

struct Start {
  const char* name;
  void (*body)(void*);
  void* argument;
};

void* run(void* opaque) {
  Start start = *static_cast<Start*>(opaque);
  free(opaque);
#if defined(__APPLE__)
  pthread_setname_np(start.name);
#else
  prctl(PR_SET_NAME, start.name);
#endif
  start.body(start.argument);
  return nullptr;
}

}  // namespace

int start_detached_thread(const char* name, size_t stack_bytes, void (*body)(void*), void* argument) {
  auto* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (start == nullptr) return ENOMEM;
  *start = {name, body, argument};

  sigset_t every, before;
  sigfillset(&every);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);

  // Blocked in the creator and inherited: blocking in the new thread itself would leave a window.
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_t thread;
  int failed = pthread_create(&thread, &attributes, run, start);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (failed != 0) {
    free(start);
    return failed;
  }
  return 0;
}

}  // namespace exactspawn
