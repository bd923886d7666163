#include "host_pipe.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <utility>

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

HostPipe::HostPipe(UniqueFd fd, PipeWatch* watch) : fd_(std::move(fd)), watch_(watch) {}

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

int HostPipe::take() {
  if (PipeWatch* watch = std::exchange(watch_, nullptr)) watch->stop();
  return fd_.release();
}

void HostPipe::close() { UniqueFd closed(take()); }

}  // namespace exactspawn
