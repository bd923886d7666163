// One thread that waits for everything: exits, log pipes, protocol pipes that JS waits for, deadlines. It belongs to
// the process, starts at the first use and never ends. epoll on Linux, kqueue on macOS.
#pragma once

#include <stdint.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "clock.h"
#include "fd.h"
#include "sync.h"

namespace exactspawn {

// Interest and readiness bits. Hang-up and error are always reported, as kHangup.
enum Interest : uint32_t { kReadable = 1, kWritable = 2, kHangup = 4 };

// A handler must stay alive until a task that was posted after its remove() has run: an event of the current batch may
// still name it.
class Handler {
 public:
  virtual void on_ready(uint32_t interest) = 0;  // reactor thread

 protected:
  ~Handler() = default;
};

// A deadline in the reactor's heap. Set and cancelled on the reactor thread only.
class Timer {
 public:
  virtual void on_time() = 0;  // reactor thread; the timer is no longer set

 protected:
  ~Timer() = default;

 private:
  friend class TimerHeap;
  int64_t due_ = kNever;
  size_t index_ = SIZE_MAX;
};

// Work for the reactor thread. run() may delete the task.
class Task {
 public:
  virtual ~Task() = default;
  virtual void run() = 0;

 private:
  friend class Reactor;
  Task* next_ = nullptr;
};

class TimerHeap {
 public:
  void set(Timer* timer, int64_t due);
  void cancel(Timer* timer);
  int64_t next_due() const { return heap_.empty() ? kNever : heap_[0]->due_; }
  // Calls and unsets every timer that is due.
  void fire(int64_t now);

 private:
  void place(size_t index, Timer* timer);
  void sift_up(size_t index);
  void sift_down(size_t index);
  std::vector<Timer*> heap_;
};

class Reactor {
 public:
  // The one reactor, started if need be. Thread: any. Fails: EMFILE, EAGAIN, ENOMEM; a later call tries again.
  static SysError start(Reactor** out);

  // Thread: any. Level-triggered unless once. Fails: ENOSPC (max_user_watches), ENOMEM.
  SysError add(int fd, uint32_t interest, bool once, Handler* handler);
  SysError rearm(int fd, uint32_t interest, Handler* handler);
  // Before the descriptor is closed, always: a copy in some child would go on reporting it otherwise.
  void remove(int fd);

  // Thread: any. Takes the task; runs it between two batches of events.
  void post(Task* task);

  // Thread: the reactor's.
  void set_timer(Timer* timer, int64_t due) { timers_.set(timer, due); }
  void cancel_timer(Timer* timer) { timers_.cancel(timer); }
  // Where drains read into: kScratchBytes, with `room` bytes writable in front. Lost at the next call.
  uint8_t* scratch(size_t room) {
    if (scratch_.size() < room + kScratchBytes) scratch_.resize(room + kScratchBytes);
    return scratch_.data() + room;
  }
  static constexpr size_t kScratchBytes = 256 * 1024;

 private:
  Reactor() = default;
  SysError launch();
  SysError open();  // the poller and what wakes it
  void loop();
  void wake();
  void run_tasks();
  static void thread_main(void* self);

  UniqueFd poller_;
  UniqueFd waker_;  // Linux: an eventfd
  TimerHeap timers_;
  Mutex mutex_;
  Task* first_ = nullptr;
  Task** last_ = &first_;
  bool awake_ = false;
  std::vector<uint8_t> scratch_;
};

}  // namespace exactspawn
