#include <errno.h>
#include <sys/event.h>

#include <algorithm>

#include "reactor.h"

namespace exactspawn {
namespace {

constexpr int kBatch = 64;
constexpr int64_t kLongestWaitUs = 60'000'000;

int change(int poller, uintptr_t subject, int16_t filter, uint16_t flags, uint32_t notes, Handler* handler) {
  struct kevent entry;
  EV_SET(&entry, subject, filter, flags, notes, 0, handler);
  return kevent(poller, &entry, 1, nullptr, 0, nullptr) == 0 ? 0 : errno;
}

// Reading and writing are two filters of one descriptor, kqueue(2), where epoll has one entry with two bits.
// EV_ADD of a filter that is there already replaces it.
int watch(int poller, int fd, uint32_t interest, bool once, Handler* handler) {
  uint16_t flags = once ? EV_ADD | EV_ONESHOT : EV_ADD;
  int failed = 0;
  if (interest & kReadable) failed = change(poller, static_cast<uintptr_t>(fd), EVFILT_READ, flags, 0, handler);
  if (failed == 0 && (interest & kWritable)) {
    failed = change(poller, static_cast<uintptr_t>(fd), EVFILT_WRITE, flags, 0, handler);
  }
  return failed;
}

// ENOENT: it was not there, or its one shot has been fired.
void unwatch(int poller, int fd, uint32_t interest) {
  if (interest & kReadable) change(poller, static_cast<uintptr_t>(fd), EVFILT_READ, EV_DELETE, 0, nullptr);
  if (interest & kWritable) change(poller, static_cast<uintptr_t>(fd), EVFILT_WRITE, EV_DELETE, 0, nullptr);
}

uint32_t interest_of(const struct kevent& event) {
  uint32_t interest = event.filter == EVFILT_WRITE ? kWritable : kReadable;
  return event.flags & EV_EOF ? interest | kHangup : interest;
}

timespec timespec_of(int64_t us) {
  timespec time;
  time.tv_sec = static_cast<time_t>(us / 1'000'000);
  time.tv_nsec = static_cast<long>(us % 1'000'000) * 1000;
  return time;
}

}  // namespace

// A kqueue closes on exec and is not copied by fork from its birth [xnu bsd/kern/kern_event.c, kqueue_internal].
SysError Reactor::open() {
  poller_.reset(kqueue());
  if (!poller_.valid()) return {Stage::kPipe, Syscall::kNone, errno, -1};
  if (SysError error = lift_above_stdio(&poller_, Stage::kPipe)) return error;
  int failed = change(poller_.get(), 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, nullptr);
  return failed == 0 ? SysError{} : SysError{Stage::kPipe, Syscall::kNone, failed, -1};
}

SysError Reactor::add(int fd, uint32_t interest, bool once, Handler* handler) {
  added_.fetch_add(1, std::memory_order_release);
  int failed = watch(poller_.get(), fd, interest, once, handler);
  if (failed == 0) return {};
  remove(fd);
  return {Stage::kPipe, Syscall::kNone, failed, -1};
}

// One shot disarms the filter that fired; the other one stays, and may still report what was asked for before.
SysError Reactor::rearm(int fd, uint32_t interest, Handler* handler) {
  added_.fetch_add(1, std::memory_order_release);
  unwatch(poller_.get(), fd, ~interest);
  int failed = watch(poller_.get(), fd, interest, true, handler);
  return failed == 0 ? SysError{} : SysError{Stage::kPipe, Syscall::kNone, failed, -1};
}

void Reactor::remove(int fd) { unwatch(poller_.get(), fd, kReadable | kWritable); }

void Reactor::wake() { change(poller_.get(), 0, EVFILT_USER, 0, NOTE_TRIGGER, nullptr); }

void Reactor::loop() {
  struct kevent events[kBatch];
  for (;;) {
    int64_t us = wait_us();
    timespec wait = timespec_of(std::min(us, kLongestWaitUs));
    int count = kevent(poller_.get(), nullptr, 0, events, kBatch, us == kNever ? nullptr : &wait);
    added_.load(std::memory_order_acquire);
    for (int i = 0; i < count; i++) {
      auto* handler = static_cast<Handler*>(events[i].udata);
      if (handler != nullptr) handler->on_ready(interest_of(events[i]));  // null: the waker
    }
    run_tasks();
    timers_.fire(now_ms());
    if (later_.due_us() != kNever) later_.fire(now_us());
  }
}

}  // namespace exactspawn
