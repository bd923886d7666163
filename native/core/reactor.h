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

// Looks again a moment later in place of being told at once: what trickles in is taken in fewer turns.
class Later {
 public:
  virtual void on_later() = 0;  // reactor thread; it is no longer listed

 protected:
  ~Later() = default;

 private:
  friend class LaterList;
  size_t index_ = SIZE_MAX;
};

// Those that look again together, one moment after the first of them was listed.
class LaterList {
 public:
  // Repeatable.
  void add(Later* later, int64_t now_us);
  void remove(Later* later);
  bool holds(const Later* later) const { return later->index_ != SIZE_MAX; }
  int64_t due_us() const { return due_us_; }
  // Calls all that are listed, if it is time. Those that are listed meanwhile have their own moment.
  void fire(int64_t now_us);
  static constexpr int64_t kMomentUs = 100;

 private:
  std::vector<Later*> list_;  // null: removed while the list was called
  int64_t due_us_ = kNever;
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
  void look_later(Later* later) { later_.add(later, now_us()); }
  void forget_later(Later* later) { later_.remove(later); }
  bool looks_later(const Later* later) const { return later_.holds(later); }
  // Where drains read into: kScratchBytes, with `room` bytes writable in front. Lost at the next call.
  uint8_t* scratch(size_t room) {
    if (scratch_.size() < room + kScratchBytes) scratch_.resize(room + kScratchBytes);
    return scratch_.data() + room;
  }
  static constexpr size_t kScratchBytes = 256 * 1024;
  // /dev/null for drains to move into what nobody will see. -1: there is none.
  int nowhere() const { return nowhere_.get(); }

 private:
  Reactor() = default;
  SysError launch();
  SysError open();  // the poller and what wakes it
  void loop();
  void wake();
  // Until the next timer or moment: 0 when one is due, kNever when there is none.
  int64_t wait_us() const;
  void run_tasks();
  static void thread_main(void* self);

  UniqueFd poller_;
  UniqueFd waker_;    // Linux: an eventfd
  UniqueFd nowhere_;  // Linux
  TimerHeap timers_;
  LaterList later_;
  Mutex mutex_;
  Task* first_ = nullptr;
  Task** last_ = &first_;
  bool awake_ = false;
  // What a handler was made with is seen by the thread that calls it: the kernel's own order is no promise to C++.
  std::atomic<uint32_t> added_{0};
  std::vector<uint8_t> scratch_;
};

}  // namespace exactspawn
