#include "reactor_watch.h"

#include <utility>

namespace exactspawn {

ReactorWatch::ReactorWatch(uint32_t id, EventSink* sink, int fd) : id_(id), sink_(sink), fd_(fd) {
  retain();  // the pipe's reference, until it is stopped
}

SysError ReactorWatch::arm(uint32_t interest) {
  Lock lock(mutex_);
  wanted_ |= interest;
  if (reactor_ != nullptr) return reactor_->rearm(fd_, wanted_, this);
  Reactor* reactor;
  if (SysError error = Reactor::start(&reactor)) return error;
  if (SysError error = reactor->add(fd_, wanted_, true, this)) return error;
  reactor_ = reactor;
  return {};
}

void ReactorWatch::disarm(uint32_t interest) {
  Lock lock(mutex_);
  wanted_ &= ~interest;
}

void ReactorWatch::on_ready(uint32_t interest) {
  uint32_t told;
  {
    Lock lock(mutex_);
    if (fd_ < 0) return;
    if (interest & kHangup) interest |= kReadable | kWritable;
    told = interest & wanted_;
    wanted_ &= ~told;
    if (wanted_ != 0) reactor_->rearm(fd_, wanted_, this);
  }
  if (told == 0 || sink_.get() == nullptr) return;
  Event event = {EventType::kPipeReady, id_, {}};
  event.fields[0] = told;
  sink_->emit(event);
}

void ReactorWatch::stop() {
  Reactor* reactor;
  {
    Lock lock(mutex_);
    reactor = std::exchange(reactor_, nullptr);
    if (reactor != nullptr) reactor->remove(fd_);
    fd_ = -1;
  }
  if (reactor == nullptr) return release();
  // An event of the reactor's current batch may still name this watch.
  class Release final : public Task {
   public:
    explicit Release(ReactorWatch* watch) : watch_(watch) {}
    void run() override {
      watch_->release();
      delete this;
    }

   private:
    ReactorWatch* watch_;
  };
  reactor->post(new Release(this));
}

}  // namespace exactspawn
