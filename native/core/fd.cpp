#include "fd.h"

#include <errno.h>
#include <fcntl.h>

namespace exactspawn {

SysError lift_above_stdio(UniqueFd* fd, Stage stage) {
  if (!fd->valid() || fd->get() > 2) return {};
  int lifted = fcntl(fd->get(), F_DUPFD_CLOEXEC, 3);
  if (lifted < 0) return {stage, Syscall::kFcntl, errno, -1};
  fd->reset(lifted);
  return {};
}

SysError make_pipe(Pipe* out) {
  int ends[2];
#if defined(__linux__)
  if (pipe2(ends, O_CLOEXEC) != 0) return {Stage::kPipe, Syscall::kPipe2, errno, -1};
#else
  // No pipe2 on macOS: the flag is set a moment later, and posix_spawn's CLOEXEC_DEFAULT covers the window.
  if (pipe(ends) != 0) return {Stage::kPipe, Syscall::kPipe2, errno, -1};
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
#endif
  out->read_end.reset(ends[0]);
  out->write_end.reset(ends[1]);
  if (SysError error = lift_above_stdio(&out->read_end, Stage::kPipe)) return error;
  return lift_above_stdio(&out->write_end, Stage::kPipe);
}

SysError duplicate(int fd, Stage stage, UniqueFd* out) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return {stage, Syscall::kFcntl, errno, -1};
  out->reset(copy);
  return {};
}

SysError set_nonblocking(int fd, bool on) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return {Stage::kFile, Syscall::kFcntl, errno, -1};
  int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
  if (wanted != flags && fcntl(fd, F_SETFL, wanted) != 0) return {Stage::kFile, Syscall::kFcntl, errno, -1};
  return {};
}

}  // namespace exactspawn
