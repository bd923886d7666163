// Waits for a host's pipe on the reactor, and tells by event.
#pragma once

#include "event.h"
#include "pipe_watch.h"
#include "reactor.h"

namespace exactspawn {

// Thread: any. A readiness is one kPipeReady event that carries `id`. Fails: as Reactor::start and Reactor::add.
class ReactorWatch final : public PipeWatch, private Counted<ReactorWatch>, private Handler {
 public:
  ReactorWatch(uint32_t id, EventSink* sink, int fd);

  SysError arm(uint32_t interest) override;
  void disarm(uint32_t interest) override;
  void stop() override;

 private:
  friend class Counted<ReactorWatch>;
  ~ReactorWatch() = default;
  void on_ready(uint32_t interest) override;

  const uint32_t id_;
  const SinkRef sink_;
  Mutex mutex_;
  int fd_;  // -1: stopped
  Reactor* reactor_ = nullptr;
  uint32_t wanted_ = 0;
};

}  // namespace exactspawn
