// Locks, a condition and a thread over pthread. Not <mutex> or <thread>: std::thread and std::call_once pull in
// libstdc++, which the shipped library does not link, and on musl std::mutex can be a silent no-op.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <cstddef>

namespace exactspawn {

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  void wait(Mutex& mutex) { pthread_cond_wait(&condition_, &mutex.mutex_); }
  void wake_one() { pthread_cond_signal(&condition_); }
  void wake_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

// Starts a thread that nobody joins, with every signal blocked from its first instruction: a handler of the host would
// run on our small stack, and from a spawner in the child, under its pid and on the host's memory [docs/native.md T4].
// `name` has at most 15 bytes and begins with "xs-".
// Fails: EAGAIN.
int start_detached_thread(const char* name, size_t stack_bytes, void (*body)(void*), void* argument);

}  // namespace exactspawn
