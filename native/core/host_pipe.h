// The host's end of a protocol pipe: JS reads and writes it without blocking, and the reactor says when to try again.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "reactor.h"

namespace exactspawn {

class HostPipe final : public Counted<HostPipe>, private Handler {
 public:
  // Takes a non-blocking end. Events carry `id`.
  HostPipe(uint32_t id, EventSink* sink, UniqueFd fd);

  int fd() const { return fd_.get(); }

  // One read or write, never blocking. >= 0: bytes; -EAGAIN: arm() and wait; other negative errno. A write never raises
  // SIGPIPE, also when the host has set that back to its default [B037]. Thread: the environment's.
  long read(uint8_t* bytes, size_t size);
  long write(const uint8_t* bytes, size_t size);

  // Emits one kPipeReady with the bits of `interest` (kReadable, kWritable, kHangup) that became true. Interests add up
  // until told or disarmed. Thread: any. Fails: as Reactor::add.
  SysError arm(uint32_t interest);
  void disarm(uint32_t interest);

  // Takes the number out of the reactor and hands it over. Thread: the environment's.
  int take();
  void close();

 private:
  friend class Counted<HostPipe>;
  ~HostPipe() = default;
  void on_ready(uint32_t interest) override;

  const uint32_t id_;
  const SinkRef sink_;
  Mutex mutex_;
  UniqueFd fd_;
  Reactor* reactor_ = nullptr;
  uint32_t wanted_ = 0;
};

}  // namespace exactspawn
