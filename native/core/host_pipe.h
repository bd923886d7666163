// The host's end of a protocol pipe: JS reads and writes it without blocking, and a watch says when to try again.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fd.h"
#include "pipe_watch.h"

namespace exactspawn {

// Thread: the environment's.
class HostPipe {
 public:
  // Takes a non-blocking end, and who watches it.
  HostPipe(UniqueFd fd, PipeWatch* watch);
  ~HostPipe() { close(); }
  HostPipe(const HostPipe&) = delete;
  HostPipe& operator=(const HostPipe&) = delete;

  int fd() const { return fd_.get(); }

  // One read or write, never blocking. >= 0: bytes; -EAGAIN: arm() and wait; other negative errno. A write never raises
  // SIGPIPE, also when the host has set that back to its default [B037].
  long read(uint8_t* bytes, size_t size);
  long write(const uint8_t* bytes, size_t size);

  // As PipeWatch. Not after take() or close().
  SysError arm(uint32_t interest) { return watch_->arm(interest); }
  void disarm(uint32_t interest) { watch_->disarm(interest); }

  // Ends the watch and hands the number over.
  int take();
  // Repeatable.
  void close();

 private:
  UniqueFd fd_;
  PipeWatch* watch_;
};

}  // namespace exactspawn
