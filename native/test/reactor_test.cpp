// The reactor thread and its heap of deadlines.
#include "reactor.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "child_case.h"
#include "harness.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

struct Alarm final : Timer {
  std::vector<Alarm*>* fired = nullptr;
  int64_t due = kNever;
  TimerHeap* sets_again_in = nullptr;
  void on_time() override {
    if (fired != nullptr) fired->push_back(this);
    if (sets_again_in != nullptr) sets_again_in->set(this, 200);
  }
};

struct Moment final : Later {
  int times = 0;
  LaterList* adds_again_to = nullptr;
  LaterList* removes_from = nullptr;
  Moment* removes = nullptr;
  void on_later() override {
    times++;
    if (adds_again_to != nullptr) adds_again_to->add(this, 0);
    if (removes_from != nullptr) removes_from->remove(removes);
  }
};

struct Counting final : Task {
  std::atomic<int>* count;
  explicit Counting(std::atomic<int>* count) : count(count) {}
  void run() override {
    count->fetch_add(1);
    delete this;
  }
};

struct Watch final : Handler {
  std::atomic<uint32_t> seen{0};
  std::atomic<int> times{0};
  void on_ready(uint32_t interest) override {
    seen.fetch_or(interest);
    times.fetch_add(1);
  }
};

}  // namespace

TEST("a timer that is not set can be cancelled, and never is no deadline [N-16]") {
  TimerHeap heap;
  Alarm alarm;
  heap.cancel(&alarm);
  heap.set(&alarm, kNever);
  CHECK_EQ(heap.next_due(), kNever);
  heap.set(&alarm, 5);
  heap.set(&alarm, kNever);
  CHECK_EQ(heap.next_due(), kNever);
  heap.fire(INT64_MAX);
}

TEST("timers fire at their instant, in order, and may set themselves again [N-16]") {
  TimerHeap heap;
  std::vector<Alarm*> fired;
  Alarm early, late, again;
  for (Alarm* alarm : {&early, &late, &again}) alarm->fired = &fired;
  again.sets_again_in = &heap;
  heap.set(&late, 30);
  heap.set(&again, 20);
  heap.set(&early, 10);
  heap.fire(9);
  CHECK_EQ(fired.size(), 0u);
  heap.fire(20);
  CHECK_EQ(fired.size(), 2u);
  CHECK(fired[0] == &early && fired[1] == &again);
  CHECK_EQ(heap.next_due(), 30);
  heap.set(&late, 40);
  heap.fire(39);
  CHECK_EQ(fired.size(), 2u);
  heap.fire(199);
  CHECK_EQ(fired.size(), 3u);
  CHECK_EQ(heap.next_due(), 200);
}

TEST("a heap of timers agrees with a list under twenty thousand random changes [N-16]") {
  TimerHeap heap;
  std::vector<std::unique_ptr<Alarm>> alarms;
  std::vector<Alarm*> fired;
  for (int i = 0; i < 60; i++) {
    alarms.push_back(std::make_unique<Alarm>());
    alarms.back()->fired = &fired;
  }
  uint32_t state = 7;
  auto random = [&](uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
  };
  int64_t now = 0;
  int wrong = 0;
  for (int round = 0; round < 20000; round++) {
    Alarm* alarm = alarms[random(60)].get();
    uint32_t what = random(10);
    if (what < 6) {
      alarm->due = now + random(50);
      heap.set(alarm, alarm->due);
    } else if (what < 8) {
      alarm->due = kNever;
      heap.cancel(alarm);
    } else {
      now += random(20);
      fired.clear();
      heap.fire(now);
      size_t due = 0;
      for (auto& each : alarms) due += each->due <= now;
      wrong += fired.size() != due;
      for (size_t i = 0; i < fired.size(); i++) {
        wrong += fired[i]->due > now || (i > 0 && fired[i]->due < fired[i - 1]->due);
      }
      for (Alarm* each : fired) each->due = kNever;
    }
    int64_t earliest = kNever;
    for (auto& each : alarms) earliest = std::min(earliest, each->due);
    wrong += heap.next_due() != earliest;
  }
  CHECK_EQ(wrong, 0);
}

TEST("what looks later is called once, together, a moment after the first of it was listed [N-16]") {
  LaterList list;
  Moment first, second, again, taken_off, taken_off_by_another;
  again.adds_again_to = &list;
  second.removes = &taken_off_by_another;
  second.removes_from = &list;
  CHECK_EQ(list.due_us(), kNever);
  list.remove(&first);
  list.add(&first, 1000);
  list.add(&second, 1050);
  list.add(&first, 1060);
  for (Moment* moment : {&again, &taken_off, &taken_off_by_another}) list.add(moment, 1070);
  list.remove(&taken_off);
  CHECK_EQ(list.due_us(), 1000 + LaterList::kMomentUs);
  list.fire(1000 + LaterList::kMomentUs - 1);
  CHECK_EQ(first.times, 0);
  list.fire(1200);
  for (Moment* moment : {&first, &second, &again}) CHECK_EQ(moment->times, 1);
  for (Moment* moment : {&taken_off, &taken_off_by_another}) CHECK_EQ(moment->times, 0);
  CHECK(list.holds(&again) && !list.holds(&first) && !list.holds(&taken_off));
  CHECK_EQ(list.due_us(), 1200 + LaterList::kMomentUs);
  list.remove(&again);
  list.fire(2000);
  CHECK_EQ(again.times, 1);
  CHECK_EQ(list.due_us(), kNever);
}

TEST("a storm of tasks from four threads runs each of them once [N-16]") {
  static std::atomic<int> count{0};
  pthread_t threads[4];
  for (pthread_t& thread : threads) {
    pthread_create(&thread, nullptr, [](void*) -> void* {
      for (int i = 0; i < 5000; i++) reactor()->post(new Counting(&count));
      return nullptr;
    }, nullptr);
  }
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  CHECK(until([] { return count.load() == 20000; }));
}

TEST("readiness is told until the bytes are read, or once where once was asked for [N-16]") {
  Pipe pipe;
  CHECK(!make_pipe(&pipe));
  Watch once;
  CHECK(!reactor()->add(pipe.read_end.get(), kReadable, true, &once));
  CHECK_EQ(write(pipe.write_end.get(), "x", 1), 1);
  CHECK(until([&] { return once.times.load() == 1; }));
  pass_reactor();
  CHECK_EQ(once.times.load(), 1);
  CHECK_EQ(once.seen.load(), kReadable);
  CHECK(!reactor()->rearm(pipe.read_end.get(), kReadable, &once));
  CHECK(until([&] { return once.times.load() == 2; }));
  pipe.write_end.reset();
  CHECK(!reactor()->rearm(pipe.read_end.get(), kReadable, &once));
  CHECK(until([&] { return (once.seen.load() & kHangup) != 0; }));
  reactor()->remove(pipe.read_end.get());

  Pipe other;
  CHECK(!make_pipe(&other));
  Watch level;
  CHECK(!reactor()->add(other.read_end.get(), kReadable, false, &level));
  CHECK_EQ(write(other.write_end.get(), "x", 1), 1);
  CHECK(until([&] { return level.times.load() > 3; }));
  reactor()->remove(other.read_end.get());
  pass_reactor();
}

TEST("a descriptor that cannot be watched is an error with its errno [N-16]") {
  Watch watch;
  SysError error = reactor()->add(-1, kReadable, false, &watch);
  CHECK_EQ(error.errnum, EBADF);
  CHECK(error.syscall == Syscall::kEpollCtl);
}
