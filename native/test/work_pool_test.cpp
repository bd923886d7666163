// The pools of immortal threads. Each case has a pool of its own, whose threads stay.
#include "work_pool.h"

#include <vector>

#include "harness.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

constinit WorkPool single("xs-test-one", 1);
constinit WorkPool pair("xs-test-two", 2);
constinit WorkPool sixteen("xs-test-many", 16);

// Runs until it is let go.
struct Blocked final : Job {
  std::atomic<bool> running{false};
  std::atomic<bool> released{false};
  std::atomic<bool> done{false};
  void run() override {
    running = true;
    until([this] { return released.load(); });
    done = true;
  }
  bool finish() {
    released = true;
    return until([this] { return done.load(); });
  }
};

struct Noted final : Job {
  std::vector<int>* order = nullptr;
  int number = 0;
  std::atomic<bool>* done = nullptr;
  void run() override {
    order->push_back(number);
    if (done != nullptr) *done = true;
  }
};

// The last one says when all of them have run.
std::vector<Noted> noted(size_t count, std::vector<int>* order, std::atomic<bool>* done) {
  std::vector<Noted> jobs(count);
  for (size_t i = 0; i < count; i++) {
    jobs[i].order = order;
    jobs[i].number = static_cast<int>(i);
  }
  jobs.back().done = done;
  return jobs;
}

}  // namespace

TEST("a job that was never submitted, or has begun, is not taken back [P-5]") {
  Blocked job;
  CHECK(!single.withdraw(&job));
  CHECK(!single.submit(&job));
  CHECK(until([&] { return job.running.load(); }));
  CHECK(!single.withdraw(&job));
  CHECK(job.finish());
}

TEST("jobs run in the order in which they came [P-5]") {
  Blocked first;
  CHECK(!single.submit(&first));
  std::vector<int> order;
  std::atomic<bool> done{false};
  std::vector<Noted> jobs = noted(50, &order, &done);
  for (Noted& job : jobs) CHECK(!single.submit(&job));
  CHECK(first.finish());
  CHECK(until([&] { return done.load(); }));
  CHECK_EQ(order.size(), 50u);
  for (int i = 0; i < 50; i++) CHECK_EQ(order[static_cast<size_t>(i)], i);
}

TEST("a withdrawn job never runs, whether it was first, last or between [P-5]") {
  Blocked first;
  CHECK(!single.submit(&first));
  CHECK(until([&] { return first.running.load(); }));
  std::vector<int> order;
  std::atomic<bool> done{false};
  std::vector<Noted> jobs = noted(5, &order, &done);
  for (size_t i = 0; i < 4; i++) CHECK(!single.submit(&jobs[i]));
  CHECK(single.withdraw(&jobs[0]));
  CHECK(single.withdraw(&jobs[2]));
  CHECK(single.withdraw(&jobs[3]));
  CHECK(!single.withdraw(&jobs[3]));
  CHECK(!single.submit(&jobs[4]));
  CHECK(first.finish());
  CHECK(until([&] { return done.load(); }));
  CHECK_EQ(order.size(), 2u);
  CHECK_EQ(order[0], 1);
  CHECK_EQ(order[1], 4);
}

TEST("a blocked job does not hold up the one behind it [P-3]") {
  Blocked stuck, next;
  CHECK(!pair.submit(&stuck));
  CHECK(until([&] { return stuck.running.load(); }));
  CHECK(!pair.submit(&next));
  CHECK(until([&] { return next.running.load(); }));
  CHECK(next.finish());
  CHECK(stuck.finish());
}

TEST("sixteen jobs run at once and the seventeenth waits for one of them [P-3]") {
  std::vector<Blocked> jobs(17);
  for (Blocked& job : jobs) CHECK(!sixteen.submit(&job));
  auto running = [&] {
    int count = 0;
    for (Blocked& job : jobs) count += job.running.load();
    return count;
  };
  CHECK(until([&] { return running() == 16; }));
  CHECK(!jobs[16].running.load());
  CHECK(jobs[3].finish());
  CHECK(until([&] { return jobs[16].running.load(); }));
  for (Blocked& job : jobs) CHECK(job.finish());
}
