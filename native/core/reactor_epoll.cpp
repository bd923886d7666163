#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "reactor.h"

namespace exactspawn {
namespace {

constexpr int kBatch = 64;
constexpr int64_t kLongestWaitUs = 60'000'000;

// Linux 5.11, and no libc's floor wraps it: the same number everywhere.
constexpr long kSysEpollPwait2 = 441;

// Waits for whole milliseconds, rounded up, where the finer call is not offered: a moment then takes 1 ms.
int wait_for_events(int poller, epoll_event* events, int64_t wait_us) {
  static bool fine = true;  // the reactor thread's
  if (wait_us == kNever) return epoll_wait(poller, events, kBatch, -1);
  wait_us = std::min(wait_us, kLongestWaitUs);
  if (fine && wait_us % 1000 != 0) {
    struct {
      int64_t seconds, nanoseconds;
    } wait = {wait_us / 1'000'000, wait_us % 1'000'000 * 1000};
    long count = syscall(kSysEpollPwait2, poller, events, kBatch, &wait, nullptr, 0);
    if (count >= 0 || errno == EINTR) return static_cast<int>(count);
    fine = false;
  }
  return epoll_wait(poller, events, kBatch, static_cast<int>((wait_us + 999) / 1000));
}

uint32_t to_epoll(uint32_t interest, bool once) {
  uint32_t events = 0;
  if (interest & kReadable) events |= EPOLLIN;
  if (interest & kWritable) events |= EPOLLOUT;
  if (once) events |= EPOLLONESHOT;
  return events;
}

// A hang-up makes a pending read and a pending write ready too: the call that follows tells what it means.
uint32_t from_epoll(uint32_t events) {
  uint32_t interest = 0;
  if (events & EPOLLIN) interest |= kReadable;
  if (events & EPOLLOUT) interest |= kWritable;
  if (events & (EPOLLHUP | EPOLLERR)) interest |= kHangup;
  return interest;
}

}  // namespace

SysError Reactor::open() {
  poller_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!poller_.valid()) return {Stage::kPipe, Syscall::kEpollCreate, errno, -1};
  if (SysError error = lift_above_stdio(&poller_, Stage::kPipe)) return error;
  waker_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waker_.valid()) return {Stage::kPipe, Syscall::kEventfd, errno, -1};
  if (SysError error = lift_above_stdio(&waker_, Stage::kPipe)) return error;
  nowhere_.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nowhere_.valid() && lift_above_stdio(&nowhere_, Stage::kPipe)) nowhere_.reset();
  return add(waker_.get(), kReadable, false, nullptr);
}

SysError Reactor::add(int fd, uint32_t interest, bool once, Handler* handler) {
  epoll_event event = {};
  event.events = to_epoll(interest, once);
  event.data.ptr = handler;
  added_.fetch_add(1, std::memory_order_release);
  if (epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return {Stage::kPipe, Syscall::kEpollCtl, errno, -1};
}

SysError Reactor::rearm(int fd, uint32_t interest, Handler* handler) {
  epoll_event event = {};
  event.events = to_epoll(interest, true);
  event.data.ptr = handler;
  added_.fetch_add(1, std::memory_order_release);
  if (epoll_ctl(poller_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return {};
  return {Stage::kPipe, Syscall::kEpollCtl, errno, -1};
}

void Reactor::remove(int fd) { epoll_ctl(poller_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Reactor::wake() { eventfd_write(waker_.get(), 1); }

void Reactor::loop() {
  epoll_event events[kBatch];
  for (;;) {
    int count = wait_for_events(poller_.get(), events, wait_us());
    added_.load(std::memory_order_acquire);
    for (int i = 0; i < count; i++) {
      auto* handler = static_cast<Handler*>(events[i].data.ptr);
      if (handler == nullptr) {
        eventfd_t ignored;
        eventfd_read(waker_.get(), &ignored);
      } else {
        handler->on_ready(from_epoll(events[i].events));
      }
    }
    run_tasks();
    timers_.fire(now_ms());
    if (later_.due_us() != kNever) later_.fire(now_us());
  }
}

}  // namespace exactspawn
