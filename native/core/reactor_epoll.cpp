#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "reactor.h"

namespace exactspawn {
namespace {

constexpr int kBatch = 64;

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
  return add(waker_.get(), kReadable, false, nullptr);
}

SysError Reactor::add(int fd, uint32_t interest, bool once, Handler* handler) {
  epoll_event event = {};
  event.events = to_epoll(interest, once);
  event.data.ptr = handler;
  if (epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return {Stage::kPipe, Syscall::kEpollCtl, errno, -1};
}

SysError Reactor::rearm(int fd, uint32_t interest, Handler* handler) {
  epoll_event event = {};
  event.events = to_epoll(interest, true);
  event.data.ptr = handler;
  if (epoll_ctl(poller_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return {};
  return {Stage::kPipe, Syscall::kEpollCtl, errno, -1};
}

void Reactor::remove(int fd) { epoll_ctl(poller_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Reactor::wake() { eventfd_write(waker_.get(), 1); }

void Reactor::loop() {
  epoll_event events[kBatch];
  for (;;) {
    int64_t due = timers_.next_due();
    int64_t wait = due == kNever ? -1 : due - now_ms();
    if (due != kNever && wait < 0) wait = 0;
    if (wait > 60000) wait = 60000;
    int count = epoll_wait(poller_.get(), events, kBatch, static_cast<int>(wait));
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
  }
}

}  // namespace exactspawn
