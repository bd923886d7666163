// From "number in the child -> descriptor in the host" to a straight line of steps that the child can run blindly.
// Pure: no system call here, so that a model test can run a million maps against it.
#pragma once

#include <cstdint>
#include <vector>

namespace exactspawn {

// `source` is the number it has in the host, `target` the number it shall have in the child.
struct FdMapping {
  int target;
  int source;
};

enum class FdStepKind : int32_t {
  kInherit,     // from == to: clear close-on-exec, since dup3(n, n) is an error and dup2(n, n) a no-op [B003]
  kDup,         // from -> to, inheritable
  kDupCloexec,  // from -> to, closed by exec: a temporary that breaks a cycle, or a helper's new place
};

struct FdStep {
  FdStepKind kind;
  int from;
  int to;
};

// Numbers first..last, both inclusive, that the child closes before exec.
struct FdGap {
  uint32_t first;
  uint32_t last;
};

struct FdPlan {
  std::vector<FdStep> steps;
  std::vector<FdGap> gaps;
  std::vector<int> helpers;  // where each helper is once the steps have run, in the order given
  int highest = -1;          // highest number that a step writes; the child's soft limit must exceed it
};

// Compiles `map` (targets unique, all numbers >= 0). `helpers` are descriptors that the child needs until exec and
// that no program sees: they are moved out of the way of every target and stay close-on-exec.
// Thread: any. Blocks: no. Fails: never for such input.
FdPlan compile_fd_plan(const std::vector<FdMapping>& map, const std::vector<int>& helpers);

}  // namespace exactspawn
