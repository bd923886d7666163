#include "host_pipe.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace exactspawn {
namespace {

bool sigpipe_is_ignored() {
  struct sigaction action;
  return sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Blocks SIGPIPE for one write and takes away the one that this write raised.
long write_without_signal(int fd, const uint8_t* bytes, size_t size) {
  sigset_t pipe_only, before, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  sigpending(&pending);
  ssize_t written = ::write(fd, bytes, size);
  int failed = errno;
#if !defined(__APPLE__)
  if (written < 0 && failed == EPIPE && !sigismember(&pending, SIGPIPE)) {
    timespec now = {0, 0};
    while (sigtimedwait(&pipe_only, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
#endif
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return written < 0 ? -failed : written;
}

}  // namespace

HostPipe::HostPipe(uint32_t id, EventSink* sink, UniqueFd fd) : id_(id), sink_(sink), fd_(std::move(fd)) {}

long HostPipe::read(uint8_t* bytes, size_t size) {
  ssize_t got;
  do {
    got = ::read(fd_.get(), bytes, size);
  } while (got < 0 && errno == EINTR);
  return got < 0 ? -errno : got;
}

long HostPipe::write(const uint8_t* bytes, size_t size) {
  if (!sigpipe_is_ignored()) return write_without_signal(fd_.get(), bytes, size);
  ssize_t written;
  do {
    written = ::write(fd_.get(), bytes, size);
  } while (written < 0 && errno == EINTR);
  return written < 0 ? -errno : written;
}

SysError HostPipe::arm(uint32_t interest) {
  Lock lock(mutex_);
  wanted_ |= interest;
  if (reactor_ != nullptr) return reactor_->rearm(fd_.get(), wanted_, this);
  Reactor* reactor;
  if (SysError error = Reactor::start(&reactor)) return error;
  if (SysError error = reactor->add(fd_.get(), wanted_, true, this)) return error;
  reactor_ = reactor;
  retain();  // the reactor's reference
  return {};
}

void HostPipe::disarm(uint32_t interest) {
  Lock lock(mutex_);
  wanted_ &= ~interest;
}

void HostPipe::on_ready(uint32_t interest) {
  uint32_t told;
  {
    Lock lock(mutex_);
    if (!fd_.valid() || reactor_ == nullptr) return;
    // The end of the other side makes a waiting read or write ready: the call itself says what it means.
    if (interest & kHangup) interest |= kReadable | kWritable;
    told = interest & wanted_;
    wanted_ &= ~told;
    if (wanted_ != 0) reactor_->rearm(fd_.get(), wanted_, this);
  }
  if (told == 0 || sink_.get() == nullptr) return;
  Event event = {EventType::kPipeReady, id_, {}};
  event.fields[0] = told;
  sink_->emit(event);
}

int HostPipe::take() {
  Lock lock(mutex_);
  if (reactor_ != nullptr) {
    class Release final : public Task {
     public:
      explicit Release(HostPipe* pipe) : pipe_(pipe) {}
      void run() override {
        pipe_->release();
        delete this;
      }

     private:
      HostPipe* pipe_;
    };
    reactor_->remove(fd_.get());
    reactor_->post(new Release(this));
    reactor_ = nullptr;
  }
  return fd_.release();
}

void HostPipe::close() { UniqueFd closed(take()); }

}  // namespace exactspawn
