// A few immortal threads that take blocking jobs in order. A job that finds no idle thread brings a new one, up to the
// pool's limit, so that one stuck in the kernel (a slow exec, a dead network mount) does not hold up the others.
#pragma once

#include "sync.h"
#include "sys_error.h"

namespace exactspawn {

class Job {
 public:
  virtual ~Job() = default;
  virtual void run() = 0;  // on a pool thread; may delete the job

 private:
  friend class WorkPool;
  Job* next_ = nullptr;
};

class WorkPool {
 public:
  constexpr WorkPool(const char* name, int max_threads) : name_(name), max_threads_(max_threads) {}

  // Thread: any. Blocks: no. Takes the job. Fails: EAGAIN when there is no thread at all to run it; then the job
  // stays the caller's.
  SysError submit(Job* job);
  // Takes back a job that no thread has begun; false when one has. Thread: any.
  bool withdraw(Job* job);

 private:
  static void thread_main(void* self);
  void loop();

  const char* name_;
  const int max_threads_;
  Mutex mutex_;
  Condition ready_;
  Job* first_ = nullptr;
  Job** last_ = nullptr;
  int queued_ = 0;
  int threads_ = 0;
  int idle_ = 0;
};

// Starts of children: the only place that clones. A parent-death signal fires when the thread that cloned ends, also
// while the host lives on; these never end [docs/native.md T7].
WorkPool& spawner_pool();
// File system work and passes over /proc: never on a JS, reactor or spawner thread.
WorkPool& file_pool();

}  // namespace exactspawn
