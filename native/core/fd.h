// Descriptors that the host holds: always close-on-exec, never below 3.
#pragma once

#include <unistd.h>

#include "sys_error.h"

namespace exactspawn {

// Owns one descriptor and closes it. Thread: any, one at a time. Blocks: as close(2). Fails: never.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Hands the number over: from here on the caller closes it.
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1) {
    // close(2) is not repeated on EINTR: on Linux the number is free again whatever it answers.
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

// Both ends close-on-exec from birth and at 3 or above, so that a host with 0, 1 or 2 closed never gets a pipe
// where its child expects stdin [B009]. Thread: any. Blocks: no. Fails: EMFILE, ENFILE.
SysError make_pipe(Pipe* out);

// Moves a descriptor that landed on 0, 1 or 2 to 3 or above. Owns fd either way. Fails: EMFILE.
SysError lift_above_stdio(UniqueFd* fd, Stage stage);

// A private close-on-exec copy at 3 or above, so that the caller may close its own number at once. Fails: EBADF, EMFILE.
SysError duplicate(int fd, Stage stage, UniqueFd* out);

// Sets or clears O_NONBLOCK on the open file description, which every copy shares. Fails: EBADF.
SysError set_nonblocking(int fd, bool on);

}  // namespace exactspawn
