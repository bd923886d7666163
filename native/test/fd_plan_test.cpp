// The plan against a simulated descriptor table: what the child would see after the steps and the gaps.
#include "fd_plan.h"

#include <algorithm>
#include <vector>

#include "harness.h"

namespace exactspawn {
namespace {

constexpr int kTableSize = 64;
constexpr int kClosed = -1;

struct Slot {
  int object = kClosed;
  bool cloexec = false;
};

// A table in which every source n holds object n, as after close_range(CLOEXEC).
std::vector<Slot> run_plan(const FdPlan& plan) {
  std::vector<Slot> table(kTableSize);
  for (int i = 0; i < kTableSize; i++) table[i] = {i, true};
  for (const FdStep& step : plan.steps) {
    if (step.kind == FdStepKind::kInherit) {
      table[step.to].cloexec = false;
    } else {
      table[step.to] = {table[step.from].object, step.kind == FdStepKind::kDupCloexec};
    }
  }
  for (const FdGap& gap : plan.gaps) {
    for (uint32_t i = gap.first; i <= gap.last && i < kTableSize; i++) table[i] = {};
  }
  return table;
}

// Whether the table is exactly the map, plus the helpers, which are still open and still close-on-exec.
bool matches(const std::vector<Slot>& table, const std::vector<FdMapping>& map, const std::vector<int>& helpers,
             const FdPlan& plan) {
  for (int number = 0; number < kTableSize; number++) {
    auto pair = std::find_if(map.begin(), map.end(), [&](const FdMapping& p) { return p.target == number; });
    auto helper = std::find(plan.helpers.begin(), plan.helpers.end(), number);
    Slot wanted;
    if (pair != map.end()) wanted = {pair->source, false};
    if (helper != plan.helpers.end()) {
      if (pair != map.end()) return false;
      wanted = {helpers[static_cast<size_t>(helper - plan.helpers.begin())], true};
    }
    if (table[number].object != wanted.object) return false;
    if (wanted.object != kClosed && table[number].cloexec != wanted.cloexec) return false;
  }
  return true;
}

bool holds(const std::vector<FdMapping>& map, const std::vector<int>& helpers = {}) {
  FdPlan plan = compile_fd_plan(map, helpers);
  return matches(run_plan(plan), map, helpers, plan);
}

uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

}  // namespace

TEST("an empty map closes every number [P-1]") {
  FdPlan plan = compile_fd_plan({}, {});
  CHECK_EQ(plan.steps.size(), 0u);
  CHECK_EQ(plan.gaps.size(), 1u);
  CHECK_EQ(plan.gaps[0].first, 0u);
  CHECK_EQ(plan.gaps[0].last, UINT32_MAX);
}

TEST("one source serves two targets [B002]") { CHECK(holds({{1, 20}, {2, 20}, {7, 20}})); }

TEST("a descriptor at its own number loses close-on-exec by an explicit step [B003]") {
  FdPlan plan = compile_fd_plan({{19, 19}}, {});
  CHECK_EQ(plan.steps.size(), 1u);
  CHECK(plan.steps[0].kind == FdStepKind::kInherit);
  CHECK(holds({{0, 0}, {1, 1}, {2, 2}, {3, 3}, {19, 19}}));
}

TEST("swaps and cycles of every length keep each source until it is read [N-1]") {
  for (int length = 2; length <= 10; length++) {
    std::vector<FdMapping> cycle;
    for (int i = 0; i < length; i++) cycle.push_back({i, (i + 1) % length});
    CHECK(holds(cycle));
  }
  CHECK(holds({{0, 1}, {1, 0}, {5, 6}, {6, 5}, {7, 0}, {8, 5}}));
}

TEST("a helper moves away from a number that the program wants [N-2]") {
  std::vector<FdMapping> all;
  for (int i = 0; i < 40; i++) all.push_back({i, 39 - i});
  CHECK(holds(all, {7}));
  CHECK(holds({{50, 3}}, {50}));
  CHECK(holds({{50, 3}}, {51}));
}

TEST("two hundred thousand random maps leave exactly the map [N-1]") {
  uint32_t state = 12345;
  int wrong = 0;
  for (int round = 0; round < 200000; round++) {
    int size = static_cast<int>(next_random(&state) % 14);
    int range = 2 + static_cast<int>(next_random(&state) % 30);
    std::vector<int> targets;
    for (int i = 0; i < range; i++) targets.push_back(i);
    for (int i = range - 1; i > 0; i--) {
      std::swap(targets[i], targets[next_random(&state) % static_cast<uint32_t>(i + 1)]);
    }
    std::vector<FdMapping> map;
    for (int i = 0; i < size && i < range; i++) {
      map.push_back({targets[i], static_cast<int>(next_random(&state) % static_cast<uint32_t>(range))});
    }
    std::vector<int> helpers;
    // A helper is a descriptor of ours, so it is nobody's source.
    int helper = static_cast<int>(next_random(&state) % 40);
    bool is_source =
        std::any_of(map.begin(), map.end(), [&](const FdMapping& pair) { return pair.source == helper; });
    if (!is_source && round % 2 == 0) helpers.push_back(helper);
    if (!holds(map, helpers)) wrong++;
  }
  CHECK_EQ(wrong, 0);
}

}  // namespace exactspawn
