// Children with a life: started, told of, settled. And what it takes to look at that from outside.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "event.h"
#include "lifecycle.h"
#include "start.h"
#include "support.h"
#include "sync.h"

namespace exactspawn::test {

// Hears everything that is told to one environment. Counted: a native object that forgets to let go shows.
class Listener final : public Counted<Listener>, public EventSink {
 public:
  void emit(const Event& event) override;
  void adopt(uint32_t id, Lifecycle* child) override;
  void retain_sink() override;
  void release_sink() override;

  // The first one of that type, and the last one.
  bool heard(EventType type, Event* out = nullptr);
  bool last(EventType type, Event* out);
  int count(EventType type);
  Ref<Lifecycle> child();
  void forget_child();
  int holders() const { return holders_.load(); }
  // Called on the spawner thread while it tells the start.
  std::function<void(Lifecycle&)> when_started;

 private:
  friend class Counted<Listener>;
  ~Listener() = default;

  Mutex mutex_;
  std::vector<Event> events_;
  Ref<Lifecycle> child_;
  std::atomic<int> holders_{0};
};

// One child from its request to its settled end. When it goes, the child is ended and nothing may hold it any more.
class Child {
 public:
  explicit Child(SpawnRequest request, LifecycleOptions options = {}, std::vector<std::string> secrets = {},
                 Ref<Lifecycle> join = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Whether the program runs. Waits for the answer.
  bool started();
  pid_t pid() const { return pid_; }
  Lifecycle& life();
  const Ref<Lifecycle>& life_ref() const { return life_; }
  Listener& listener() { return *listener_; }
  Start& start() { return *start_; }
  Event failure();

  // Waits until it is told; fails the case when it is not.
  Event told(EventType type);
  Event exited() { return told(EventType::kExited); }
  // As wait() does: it settles.
  Event settled();

 private:
  Ref<Listener> listener_;
  Ref<Start> start_;
  Ref<Lifecycle> life_;
  pid_t pid_ = -1;
};

Reactor* reactor();
// Comes back when the reactor has handled every event and every task of before.
void pass_reactor();

// Fields of kSettled, in the order of lifecycle_end.cpp.
enum SettledField { kCode, kSignal, kCore, kKnown, kCause, kEscalated, kGroupLeft, kUsageKnown };

// Holds the reactor thread as long as it lives: what is told it meanwhile comes in one batch afterwards.
class ReactorHeld {
 public:
  ReactorHeld();
  ~ReactorHeld();
  ReactorHeld(const ReactorHeld&) = delete;
  ReactorHeld& operator=(const ReactorHeld&) = delete;

 private:
  Ref<struct HeldState> state_;
};

}  // namespace exactspawn::test
