#include "fd_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1U
#define MFD_ALLOW_SEALING 2U
#endif

namespace exactspawn {
namespace {

SysError open_null(UniqueFd* out) {
  int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd < 0) return {Stage::kFile, Syscall::kOpen, errno, -1};
  out->reset(fd);
  return lift_above_stdio(out, Stage::kFile);
}

#if defined(__linux__)
// Linux 6.3 warns once about a memfd that says neither exec nor noexec; older kernels refuse the flag.
constexpr unsigned kMfdNoexecSeal = 0x8;

SysError open_memory(UniqueFd* out) {
  long fd = syscall(SYS_memfd_create, "xs-bytes", MFD_CLOEXEC | MFD_ALLOW_SEALING | kMfdNoexecSeal);
  if (fd < 0 && errno == EINVAL) fd = syscall(SYS_memfd_create, "xs-bytes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return {Stage::kFile, Syscall::kMemfdCreate, errno, -1};
  out->reset(static_cast<int>(fd));
  return {};
}

// Sealed, so that what the child reads is what was given, whoever else holds a copy.
SysError seal(int fd) {
  int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  return fcntl(fd, F_ADD_SEALS, seals) == 0 ? SysError{} : SysError{Stage::kFile, Syscall::kFcntl, errno, -1};
}
#else
SysError open_memory(UniqueFd* out) {
  char path[] = "/tmp/xs-bytes-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) return {Stage::kFile, Syscall::kOpen, errno, -1};
  unlink(path);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  out->reset(fd);
  return {};
}

SysError seal(int) { return {}; }
#endif

SysError open_bytes(const std::string& bytes, UniqueFd* out) {
  if (SysError error = open_memory(out)) return error;
  if (SysError error = lift_above_stdio(out, Stage::kFile)) return error;
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t written = write(out->get(), bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return {Stage::kFile, Syscall::kWrite, errno, -1};
    done += static_cast<size_t>(written);
  }
  lseek(out->get(), 0, SEEK_SET);
  return seal(out->get());
}

SysError open_capture(const FdSource& source, UniqueFd* child_end, OpenSources* out) {
  Pipe pipe;
  if (SysError error = make_pipe(&pipe)) return error;
  if (SysError error = set_nonblocking(pipe.read_end.get(), true)) return error;
  CapturePipe capture;
  capture.target = source.target;
  capture.read_end = std::move(pipe.read_end);
  capture.head_bytes = source.head_bytes;
  capture.tail_bytes = source.tail_bytes;
  out->captures.push_back(std::move(capture));
  *child_end = std::move(pipe.write_end);
  return {};
}

class Opener {
 public:
  Opener(SpawnRequest* request, OpenSources* out) : request_(request), out_(out) {}

  SysError run() {
    for (FdSource& source : request_->fds) {
      if (source.kind == FdSourceKind::kSameAs) continue;
      int number = -1;
      SysError error = open_one(&source, &number);
      if (error) {
        error.index = source.target;
        return error;
      }
      out_->map.push_back({source.target, number});
    }
    // After the others, so that the order in which the caller wrote them does not matter.
    for (const FdSource& source : request_->fds) {
      if (source.kind == FdSourceKind::kSameAs) out_->map.push_back({source.target, number_of(source.same_as)});
    }
    return {};
  }

 private:
  SysError open_one(FdSource* source, int* number) {
    UniqueFd fd;
    if (source->kind == FdSourceKind::kNull) {
      // One description for all of them: nothing on /dev/null depends on which of the numbers was used.
      if (null_ < 0) {
        if (SysError error = open_null(&fd)) return error;
        null_ = fd.get();
        out_->held.push_back(std::move(fd));
      }
      *number = null_;
      return {};
    }
    if (source->kind == FdSourceKind::kDescriptor) fd = std::move(source->fd);
    if (source->kind == FdSourceKind::kBytes) {
      if (SysError error = open_bytes(source->bytes, &fd)) return error;
    }
    if (source->kind == FdSourceKind::kCapture) {
      if (SysError error = open_capture(*source, &fd, out_)) return error;
    }
    *number = fd.get();
    out_->held.push_back(std::move(fd));
    return {};
  }

  int number_of(int target) const {
    for (const FdMapping& pair : out_->map) {
      if (pair.target == target) return pair.source;
    }
    return -1;
  }

  SpawnRequest* request_;
  OpenSources* out_;
  int null_ = -1;
};

}  // namespace

SysError open_sources(SpawnRequest* request, OpenSources* out) { return Opener(request, out).run(); }

}  // namespace exactspawn
