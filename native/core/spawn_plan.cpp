#include "spawn_plan.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "guard_program.h"

namespace exactspawn {
namespace {

// What a child gets when nobody asks for more: Node raises its own soft limit to the hard one, and programs that
// loop over all possible descriptors, or use select(2), suffer from inheriting that.
constexpr uint64_t kDefaultSoftNofile = 1024;

char* no_strings[] = {nullptr};

std::vector<char*> pointers_to(const StringBlock& block) {
  std::vector<char*> pointers;
  pointers.reserve(block.count + 1);
  const char* at = block.bytes.data();
  for (uint32_t i = 0; i < block.count; i++) {
    pointers.push_back(const_cast<char*>(at));
    at += strlen(at) + 1;
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<ChildLimit> limits_of(const SpawnRequest& request) {
  std::vector<ChildLimit> limits;
  bool names_nofile = false;
  for (const LimitRequest& limit : request.limits) {
    limits.push_back({limit.resource, limit.soft, limit.hard});
    names_nofile |= limit.resource == RLIMIT_NOFILE;
  }
  if (!names_nofile) {
    struct rlimit own;
    getrlimit(RLIMIT_NOFILE, &own);
    // Set also when it is inherited: the steps may have needed a higher one.
    uint64_t soft = request.inherit_nofile ? own.rlim_cur : std::min<uint64_t>(kDefaultSoftNofile, own.rlim_max);
    limits.push_back({RLIMIT_NOFILE, soft, own.rlim_max});
  }
  return limits;
}

}  // namespace

SpawnPlan::SpawnPlan(const SpawnRequest& request, const StartDescriptors& descriptors,
                     const Capabilities& capabilities, int join_pgid, bool copies_memory)
    : limits_(limits_of(request)), argv_(pointers_to(request.args)), envp_(pointers_to(request.env)) {
  // A child that gets a copy of our memory needs a page that stays shared. Every other start does without: to unmap one
  // interrupts each processor that runs a thread of the host.
  outcome_ = &own_outcome_;
  if (copies_memory) {
    void* page = mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    outcome_ = page == MAP_FAILED ? nullptr : static_cast<Outcome*>(page);
  }

  std::vector<int> helpers;
  if (descriptors.completion >= 0) helpers.push_back(descriptors.completion);
  fd_plan_ = compile_fd_plan(descriptors.map, helpers);
  for (const std::string& path : request.candidates) candidates_.push_back(path.c_str());

  memset(&child_, 0, sizeof child_);
  child_.outcome = outcome_;
  child_.steps = fd_plan_.steps.data();
  child_.step_count = static_cast<uint32_t>(fd_plan_.steps.size());
  child_.gaps = fd_plan_.gaps.data();
  child_.gap_count = static_cast<uint32_t>(fd_plan_.gaps.size());
  child_.no_close_range = !capabilities.close_range;
  child_.raise_nofile = fd_plan_.highest < 0 ? 0 : static_cast<uint64_t>(fd_plan_.highest) + 1;
  child_.group = request.group;
  child_.join_pgid = join_pgid;
  child_.cgroup_procs_fd = descriptors.cgroup_procs;
  child_.guard.wanted = request.guard;
  child_.guard.pipe_fd = descriptors.guard_pipe;
  child_.guard.program_fd = descriptors.guard_program;
  child_.guard.shell = kGuardShell;
  child_.guard.argv = guard_shell_arguments();
  child_.guard.envp = no_strings;
  child_.set_nice = request.has_nice;
  child_.nice = request.nice;
  child_.affinity = request.affinity.data();
  child_.affinity_bytes = request.affinity.size() * sizeof(unsigned long);
  child_.umask = request.umask;
  child_.limits = limits_.data();
  child_.limit_count = static_cast<uint32_t>(limits_.size());
  child_.groups = request.groups.data();
  child_.group_count = request.has_groups ? static_cast<int32_t>(request.groups.size()) : -1;
  child_.set_gid = request.has_gid;
  child_.gid = request.gid;
  child_.set_uid = request.has_uid;
  child_.uid = request.uid;
  child_.cwd = request.has_cwd ? request.cwd.c_str() : nullptr;
  child_.parent_death_signal = request.parent_death_signal ? SIGKILL : 0;
  child_.host_pid = getpid();
  child_.no_new_privs = request.no_new_privs;
  child_.candidates = candidates_.data();
  child_.candidate_count = static_cast<uint32_t>(candidates_.size());
  child_.argv = argv_.data();
  child_.envp = envp_.data();
  child_.test_delay_ms = request.delay_before_exec_ms;
}

SpawnPlan::~SpawnPlan() {
  if (outcome_ != nullptr && outcome_ != &own_outcome_) munmap(outcome_, sizeof(Outcome));
}

}  // namespace exactspawn
