#include "host_pipe.h"

#include <errno.h>
#include <unistd.h>

#include <utility>

#include "quiet_write.h"

namespace exactspawn {

HostPipe::HostPipe(UniqueFd fd, PipeWatch* watch) : fd_(std::move(fd)), watch_(watch) {}

long HostPipe::read(uint8_t* bytes, size_t size) {
  ssize_t got;
  do {
    got = ::read(fd_.get(), bytes, size);
  } while (got < 0 && errno == EINTR);
  return got < 0 ? -errno : got;
}

long HostPipe::write(const uint8_t* bytes, size_t size) { return quiet_write(fd_.get(), bytes, size); }

int HostPipe::take() {
  if (PipeWatch* watch = std::exchange(watch_, nullptr)) watch->stop();
  return fd_.release();
}

void HostPipe::close() { UniqueFd closed(take()); }

}  // namespace exactspawn
