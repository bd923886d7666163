#include "work_pool.h"

namespace exactspawn {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

// Constant-initialised and never destroyed: their threads outlive every environment.
constinit WorkPool spawners("xs-spawner", 16);
constinit WorkPool files("xs-file", 4);

}  // namespace

WorkPool& spawner_pool() { return spawners; }
WorkPool& file_pool() { return files; }

SysError WorkPool::submit(Job* job) {
  {
    Lock lock(mutex_);
    if (queued_ >= idle_ && threads_ < max_threads_) {
      int failed = start_detached_thread(name_, kStackBytes, thread_main, this);
      if (failed == 0) {
        threads_++;
      } else if (threads_ == 0) {
        return {Stage::kClone, Syscall::kPthreadCreate, failed, -1};
      }
    }
    job->next_ = nullptr;
    if (first_ == nullptr) last_ = &first_;
    *last_ = job;
    last_ = &job->next_;
    queued_++;
  }
  // Not under the lock, which the one that is woken takes first of all.
  ready_.wake_one();
  return {};
}

bool WorkPool::withdraw(Job* job) {
  Lock lock(mutex_);
  for (Job** at = &first_; *at != nullptr; at = &(*at)->next_) {
    if (*at != job) continue;
    *at = job->next_;
    if (job->next_ == nullptr) last_ = at;
    queued_--;
    return true;
  }
  return false;
}

void WorkPool::thread_main(void* self) { static_cast<WorkPool*>(self)->loop(); }

void WorkPool::loop() {
  for (;;) {
    Job* job;
    {
      Lock lock(mutex_);
      idle_++;
      while (first_ == nullptr) ready_.wait(mutex_);
      idle_--;
      job = first_;
      first_ = job->next_;
      queued_--;
    }
    job->run();
  }
}

}  // namespace exactspawn
