// What the reactor is whatever it polls with; reactor_epoll.cpp and reactor_kqueue.cpp have the rest.
#include "reactor.h"

namespace exactspawn {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

Mutex start_mutex;
Reactor* instance = nullptr;  // leaked on purpose: its thread outlives every environment

}  // namespace

SysError Reactor::start(Reactor** out) {
  Lock lock(start_mutex);
  if (instance == nullptr) {
    auto* reactor = new Reactor;
    if (SysError error = reactor->launch()) {
      delete reactor;
      return error;
    }
    instance = reactor;
  }
  *out = instance;
  return {};
}

SysError Reactor::launch() {
  if (SysError error = open()) return error;
  int failed = start_detached_thread("xs-reactor", kStackBytes, thread_main, this);
  return failed == 0 ? SysError{} : SysError{Stage::kPipe, Syscall::kPthreadCreate, failed, -1};
}

void Reactor::post(Task* task) {
  Lock lock(mutex_);
  task->next_ = nullptr;
  *last_ = task;
  last_ = &task->next_;
  if (awake_) return;  // it looks at the list again before it sleeps
  awake_ = true;
  wake();
}

void Reactor::run_tasks() {
  for (;;) {
    Task* task;
    {
      Lock lock(mutex_);
      task = first_;
      if (task == nullptr) {
        awake_ = false;
        return;
      }
      first_ = nullptr;
      last_ = &first_;
    }
    while (task != nullptr) {
      Task* next = task->next_;
      task->run();
      task = next;
    }
  }
}

void Reactor::thread_main(void* self) { static_cast<Reactor*>(self)->loop(); }

}  // namespace exactspawn
