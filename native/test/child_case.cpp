#include "child_case.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "harness.h"

namespace exactspawn::test {

void Listener::emit(const Event& event) {
  {
    Lock lock(mutex_);
    events_.push_back(event);
  }
  if (event.type == EventType::kStarted && when_started) when_started(*child());
}

void Listener::adopt(uint32_t, Lifecycle* child) {
  Lock lock(mutex_);
  child_ = child;
}

void Listener::retain_sink() {
  holders_.fetch_add(1);
  retain();
}

void Listener::release_sink() {
  holders_.fetch_sub(1);
  release();
}

bool Listener::heard(EventType type, Event* out) {
  Lock lock(mutex_);
  for (const Event& event : events_) {
    if (event.type != type) continue;
    if (out != nullptr) *out = event;
    return true;
  }
  return false;
}

bool Listener::last(EventType type, Event* out) {
  Lock lock(mutex_);
  for (const Event& event : events_) {
    if (event.type == type) *out = event;
  }
  return std::any_of(events_.begin(), events_.end(), [&](const Event& event) { return event.type == type; });
}

int Listener::count(EventType type) {
  Lock lock(mutex_);
  return static_cast<int>(
      std::count_if(events_.begin(), events_.end(), [&](const Event& event) { return event.type == type; }));
}

Ref<Lifecycle> Listener::child() {
  Lock lock(mutex_);
  return child_;
}

void Listener::forget_child() {
  Ref<Lifecycle> last;
  Lock lock(mutex_);
  std::swap(last, child_);
}

Child::Child(SpawnRequest request, LifecycleOptions options, std::vector<std::string> secrets, Ref<Lifecycle> join)
    : listener_(new Listener) {
  start_ = new Start(1, listener_.get(), std::move(request), std::move(options), SecretSet::make(std::move(secrets)),
                     std::move(join));
  CHECK(!start_->submit());
}

bool Child::started() {
  CHECK(until([&] { return listener_->heard(EventType::kStarted) || listener_->heard(EventType::kStartFailed); }));
  Event event;
  if (!listener_->heard(EventType::kStarted, &event)) return false;
  pid_ = static_cast<pid_t>(event.fields[0]);
  life_ = listener_->child();
  return true;
}

// Without a child the case has nothing to go on with.
Lifecycle& Child::life() {
  if (!life_) {
    Event event = {};
    listener_->heard(EventType::kStartFailed, &event);
    std::printf("  no child: stage %g, syscall %g, errno %g\n", event.fields[0], event.fields[1], event.fields[2]);
    std::fflush(stdout);
    abort();
  }
  return *life_;
}

Event Child::failure() {
  Event event = {};
  CHECK(!started());
  CHECK(listener_->heard(EventType::kStartFailed, &event));
  return event;
}

Event Child::told(EventType type) {
  Event event = {};
  CHECK(until([&] { return listener_->heard(type, &event); }));
  return event;
}

Event Child::settled() {
  life().set_waiting(true);
  Event event = told(EventType::kSettled);
  life().set_waiting(false);
  return event;
}

Child::~Child() {
  start_->cancel();
  start_ = {};
  if (life_) life_->kill(EndedBy::kDrop);
  life_ = {};
  CHECK(until([&] {
    listener_->forget_child();  // which may come to it only now
    return listener_->holders() == 0;
  }));
}

Reactor* reactor() {
  Reactor* one = nullptr;
  CHECK(!Reactor::start(&one));
  return one;
}

// An event of our own comes after those that were ready before it, and a task after that.
void pass_reactor() {
  struct Passing final : Handler, Task {
    std::atomic<bool> seen{false};
    std::atomic<bool> over{false};
    void on_ready(uint32_t) override { seen = true; }
    void run() override { over = true; }
  };
  Passing passing;
  Pipe pipe;
  CHECK(!make_pipe(&pipe));
  CHECK_EQ(write(pipe.write_end.get(), "x", 1), 1);
  CHECK(!reactor()->add(pipe.read_end.get(), kReadable, true, &passing));
  CHECK(until([&] { return passing.seen.load(); }));
  reactor()->remove(pipe.read_end.get());
  reactor()->post(&passing);
  CHECK(until([&] { return passing.over.load(); }));
}

struct HeldState final : Counted<HeldState> {
  std::atomic<bool> holding{false};
  std::atomic<bool> over{false};
};

ReactorHeld::ReactorHeld() : state_(new HeldState) {
  struct Hold final : Task {
    Ref<HeldState> state;
    explicit Hold(Ref<HeldState> state) : state(std::move(state)) {}
    void run() override {
      state->holding = true;
      while (!state->over) usleep(100);
      delete this;
    }
  };
  reactor()->post(new Hold(state_));
  CHECK(until([this] { return state_->holding.load(); }));
}

ReactorHeld::~ReactorHeld() { state_->over = true; }

}  // namespace exactspawn::test
