// What the native threads tell an environment's JS thread. Numbers only: strings are made in TypeScript.
#pragma once

#include <stdint.h>

#include "ref.h"

namespace exactspawn {

class Lifecycle;

enum class EventType : int32_t {
  kStarted = 1,        // child: pid, mechanism, candidate, has a pidfd, group outlives leader
  kStartFailed = 2,    // child: stage, syscall, errno, index, killed_by
  kExited = 3,         // child: code, signal, core, known; the leader's number is still held
  kSettled = 4,        // child: the whole exit record, see Lifecycle::tell_settled; without kExited where both came at once
  kEndDeadline = 5,    // child: errno of the last signal; the ladder ran out and the child is still there
  kPipeReady = 6,      // pipe: interest bits
  kTaskDone = 7,       // task: see the binding
};

inline constexpr int kEventFields = 19;

struct Event {
  EventType type;
  uint32_t id;
  double fields[kEventFields];
};

// Thread: any; emit never blocks and never calls into JS itself.
class EventSink {
 public:
  virtual void emit(const Event& event) = 0;
  // A start succeeded; comes right before its kStarted event.
  virtual void adopt(uint32_t id, Lifecycle* child) = 0;
  virtual void retain_sink() = 0;
  virtual void release_sink() = 0;

 protected:
  ~EventSink() = default;
};

// Keeps a sink alive while a native object may still emit to it.
class SinkRef {
 public:
  explicit SinkRef(EventSink* sink) : sink_(sink) {
    if (sink_ != nullptr) sink_->retain_sink();
  }
  SinkRef(const SinkRef& other) : SinkRef(other.sink_) {}
  SinkRef& operator=(const SinkRef&) = delete;
  ~SinkRef() {
    if (sink_ != nullptr) sink_->release_sink();
  }
  EventSink* operator->() const { return sink_; }
  EventSink* get() const { return sink_; }

 private:
  EventSink* sink_;
};

}  // namespace exactspawn
