// Waits for a host's pipe on the environment's own event loop.
#pragma once

#include "event_loop.h"
#include "pipe_watch.h"

namespace exactspawn {

// Thread: JS. The loop stays asked for what was told last: with a worker that answers each request the next wait costs no
// system call. It is level-triggered, so what nobody waits for any more is taken back when the loop reports it again.
class LoopWatch final : public PipeWatch {
 public:
  LoopWatch(uint32_t id, EventLoop* loop, int fd) : id_(id), fd_(fd), loop_(loop) {}

  SysError arm(uint32_t interest) override;
  void disarm(uint32_t interest) override { wanted_ &= ~interest; }
  void stop() override;

 private:
  ~LoopWatch() = default;
  static void on_ready(UvHandle* handle, int status, int events);
  SysError watch(uint32_t interest);

  const uint32_t id_;
  const int fd_;
  EventLoop* const loop_;
  UvHandle* handle_ = nullptr;  // from the first wait on
  uint32_t wanted_ = 0;
  uint32_t watched_ = 0;
};

}  // namespace exactspawn
