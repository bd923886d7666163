#include "loop_watch.h"

#include "reactor.h"

namespace exactspawn {
namespace {

int to_uv(uint32_t interest) {
  int events = 0;
  if (interest & kReadable) events |= kUvReadable;
  if (interest & kWritable) events |= kUvWritable;
  // Never reported of a pipe, but the error that comes unasked needs a handle that waits for something.
  if (interest & kHangup) events |= kUvDisconnect;
  return events;
}

uint32_t from_uv(int events) {
  uint32_t interest = 0;
  if (events & kUvReadable) interest |= kReadable;
  if (events & kUvWritable) interest |= kWritable;
  if (events & kUvDisconnect) interest |= kHangup;
  return interest;
}

}  // namespace

SysError LoopWatch::arm(uint32_t interest) {
  wanted_ |= interest;
  if ((wanted_ & ~watched_) == 0) return {};
  return watch(wanted_ | watched_);
}

SysError LoopWatch::watch(uint32_t interest) {
  if (handle_ == nullptr) {
    int failed = loop_->add(fd_, this, &handle_);
    if (failed != 0) return {Stage::kPipe, Syscall::kEpollCtl, failed, -1};
  }
  watched_ = interest;
  if (interest == 0) {
    loop_->calls().poll_stop(handle_);
  } else {
    loop_->calls().poll_start(handle_, to_uv(interest), on_ready);
  }
  return {};
}

void LoopWatch::on_ready(UvHandle* handle, int status, int events) {
  auto* self = static_cast<LoopWatch*>(handle->data);
  uint32_t ready = from_uv(events);
  // The other end is closed: libuv calls that EBADF and has stopped the handle, but left its number in the poll set,
  // which would report it once more.
  if (status < 0) ready = kReadable | kWritable | kHangup;
  if (ready & kHangup) ready |= kReadable | kWritable;
  uint32_t told = ready & self->wanted_;
  self->wanted_ &= ~told;
  if (status < 0) {
    self->watch(self->wanted_);
  } else if ((from_uv(events) & ~told) != 0) {
    self->watch(self->wanted_ | told);
  }
  // Nothing of this watch after the call: the listener may have closed the pipe.
  if (told != 0) self->loop_->tell(self->id_, told);
}

void LoopWatch::stop() {
  if (handle_ != nullptr) loop_->remove(handle_);
  delete this;
}

}  // namespace exactspawn
