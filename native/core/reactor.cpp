// What the reactor is whatever it polls with; reactor_epoll.cpp and reactor_kqueue.cpp have the rest.
#include "reactor.h"

#include <algorithm>
#include <utility>

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
  {
    Lock lock(mutex_);
    task->next_ = nullptr;
    *last_ = task;
    last_ = &task->next_;
    if (awake_) return;  // it looks at the list again before it sleeps
    awake_ = true;
  }
  wake();
}

void LaterList::add(Later* later, int64_t now_us) {
  if (holds(later)) return;
  if (list_.empty()) due_us_ = now_us + kMomentUs;
  later->index_ = list_.size();
  list_.push_back(later);
}

// The place stays, empty: the list is short-lived, and it may be under way.
void LaterList::remove(Later* later) {
  if (!holds(later)) return;
  list_[std::exchange(later->index_, SIZE_MAX)] = nullptr;
}

void LaterList::fire(int64_t now_us) {
  if (now_us < due_us_) return;
  due_us_ = kNever;
  size_t count = list_.size();
  for (size_t i = 0; i < count; i++) {
    Later* later = std::exchange(list_[i], nullptr);
    if (later == nullptr) continue;
    later->index_ = SIZE_MAX;
    later->on_later();
  }
  list_.erase(list_.begin(), list_.begin() + static_cast<ptrdiff_t>(count));
  for (size_t i = 0; i < list_.size(); i++) {
    if (list_[i] != nullptr) list_[i]->index_ = i;
  }
  if (!list_.empty()) due_us_ = now_us + kMomentUs;
}

int64_t Reactor::wait_us() const {
  int64_t due = later_.due_us();
  if (timers_.next_due() != kNever) due = std::min(due, timers_.next_due() * 1000);
  return due == kNever ? kNever : std::max<int64_t>(due - now_us(), 0);
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
