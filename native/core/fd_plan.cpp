#include "fd_plan.h"

#include <algorithm>

namespace exactspawn {
namespace {

// The parallel move: every pair must read its source before another pair overwrites that number.
class Compiler {
 public:
  Compiler(const std::vector<FdMapping>& map, const std::vector<int>& helpers) : map_(map) {
    for (const FdMapping& pair : map) {
      taken_.push_back(pair.target);
      taken_.push_back(pair.source);
      targets_.push_back(pair.target);
    }
    taken_.insert(taken_.end(), helpers.begin(), helpers.end());
    std::sort(taken_.begin(), taken_.end());
    std::sort(targets_.begin(), targets_.end());
    move_helpers_away(helpers);
    move_pairs();
    list_gaps();
  }

  FdPlan take() { return std::move(plan_); }

 private:
  bool is_target(int number) const { return std::binary_search(targets_.begin(), targets_.end(), number); }

  void emit(FdStepKind kind, int from, int to) {
    plan_.steps.push_back({kind, from, to});
    plan_.highest = std::max(plan_.highest, to);
  }

  // The smallest number from 3 that nobody uses. dup3 to a chosen number needs no free slot, so it cannot fail
  // with EMFILE; whatever the child's copy of the table holds there was going to be closed anyway.
  int next_temporary() {
    while (std::binary_search(taken_.begin(), taken_.end(), temporary_)) temporary_++;
    return temporary_++;
  }

  void move_helpers_away(const std::vector<int>& helpers) {
    for (int helper : helpers) {
      int place = helper;
      if (is_target(helper)) {
        place = next_temporary();
        emit(FdStepKind::kDupCloexec, helper, place);
      }
      plan_.helpers.push_back(place);
    }
  }

  void move_pairs() {
    std::vector<FdMapping> pending;
    for (const FdMapping& pair : map_) {
      if (pair.source == pair.target) {
        emit(FdStepKind::kInherit, pair.source, pair.target);
      } else {
        pending.push_back(pair);
      }
    }
    while (!pending.empty()) {
      std::vector<int> still_read;
      for (const FdMapping& pair : pending) still_read.push_back(pair.source);
      std::sort(still_read.begin(), still_read.end());

      // A target that a pending pair still reads must wait. Its own source does not count: it is never equal here.
      std::vector<FdMapping> waiting;
      for (const FdMapping& pair : pending) {
        if (std::binary_search(still_read.begin(), still_read.end(), pair.target)) {
          waiting.push_back(pair);
        } else {
          emit(FdStepKind::kDup, pair.source, pair.target);
        }
      }
      if (waiting.size() == pending.size()) break_cycle(&waiting);
      pending = std::move(waiting);
    }
  }

  // Only cycles are left: park the occupant of one target, and let its readers read the parked copy.
  void break_cycle(std::vector<FdMapping>* pending) {
    int parked = pending->front().target;
    int place = next_temporary();
    emit(FdStepKind::kDupCloexec, parked, place);
    for (FdMapping& pair : *pending) {
      if (pair.source == parked) pair.source = place;
    }
  }

  void list_gaps() {
    std::vector<int> kept = targets_;
    kept.insert(kept.end(), plan_.helpers.begin(), plan_.helpers.end());
    std::sort(kept.begin(), kept.end());
    uint32_t next = 0;
    for (int number : kept) {
      uint32_t keep = static_cast<uint32_t>(number);
      if (keep > next) plan_.gaps.push_back({next, keep - 1});
      next = std::max(next, keep + 1);
    }
    plan_.gaps.push_back({next, UINT32_MAX});
  }

  const std::vector<FdMapping>& map_;
  std::vector<int> taken_;
  std::vector<int> targets_;
  int temporary_ = 3;
  FdPlan plan_;
};

}  // namespace

FdPlan compile_fd_plan(const std::vector<FdMapping>& map, const std::vector<int>& helpers) {
  return Compiler(map, helpers).take();
}

}  // namespace exactspawn
