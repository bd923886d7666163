#include "quiet_write.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace exactspawn {
namespace {

#if defined(__linux__)
// RWF_NOSIGNAL, linux/fs.h. Linux 6.18; an older kernel refuses it before it writes, with EOPNOTSUPP.
constexpr int kNoSignal = 0x100;

std::atomic<bool> no_signal_offered{true};

// False where it is not offered: nothing was written then.
bool write_flagged(int fd, const uint8_t* bytes, size_t size, long* out) {
  if (!no_signal_offered.load(std::memory_order_relaxed)) return false;
  iovec part = {const_cast<uint8_t*>(bytes), size};
  // By number: no libc's floor has the wrapper. The offset -1 means as write(2) does, pwritev2(2).
  long written = syscall(SYS_pwritev2, fd, &part, 1, -1L, -1L, kNoSignal);
  // A sandbox may answer what it likes; these are none that a write to a pipe gives.
  if (written < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL || errno == EPERM)) {
    no_signal_offered.store(false, std::memory_order_relaxed);
    return false;
  }
  *out = written < 0 ? -errno : written;
  return true;
}
#else
bool write_flagged(int, const uint8_t*, size_t, long*) { return false; }
#endif

bool sigpipe_is_ignored() {
  struct sigaction action;
  return sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Blocks SIGPIPE for one write and takes away the one that this write raised.
long write_blocked(int fd, const uint8_t* bytes, size_t size) {
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

long write_once(int fd, const uint8_t* bytes, size_t size) {
  long written;
  if (write_flagged(fd, bytes, size, &written)) return written;
  // Asked each time: the host may change it between two writes.
  if (!sigpipe_is_ignored()) return write_blocked(fd, bytes, size);
  written = ::write(fd, bytes, size);
  return written < 0 ? -errno : written;
}

}  // namespace

long quiet_write(int fd, const uint8_t* bytes, size_t size) {
  long written;
  do {
    written = write_once(fd, bytes, size);
  } while (written == -EINTR);
  return written;
}

}  // namespace exactspawn
