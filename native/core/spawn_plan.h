// All memory that the child will need, laid out before it exists. Linux only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capabilities.h"
#include "child_plan.h"
#include "fd_plan.h"
#include "spawn_request.h"

namespace exactspawn {

// The descriptors of a start that are not in the request: what the map's entries became, and the helpers.
struct StartDescriptors {
  std::vector<FdMapping> map;
  int cgroup_procs = -1;
  int completion = -1;  // fork path: write end of the pipe that closes at exec
  int guard_pipe = -1;
  int guard_program = -1;
};

// Owns the ChildPlan and everything that it points to. The request must outlive it.
class SpawnPlan {
 public:
  SpawnPlan(const SpawnRequest& request, const StartDescriptors& descriptors, const Capabilities& capabilities,
            int join_pgid, bool copies_memory);
  ~SpawnPlan();
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // False when the shared page that a copied child writes its outcome to could not be mapped.
  bool valid() const { return outcome_ != nullptr; }
  ChildPlan* child() { return &child_; }
  const Outcome& outcome() const { return *outcome_; }

 private:
  FdPlan fd_plan_;
  std::vector<ChildLimit> limits_;
  std::vector<const char*> candidates_;
  std::vector<char*> argv_;
  std::vector<char*> envp_;
  Outcome own_outcome_ = {};
  Outcome* outcome_ = nullptr;
  ChildPlan child_;
};

}  // namespace exactspawn
