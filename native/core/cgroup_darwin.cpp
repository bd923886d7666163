// There are no cgroups: a start that asks for one is refused, so that the rest is never reached.
#include "cgroup.h"

#include <errno.h>

namespace exactspawn {

SysError open_cgroup_leaf(const std::string&, UniqueFd*) { return {Stage::kCgroup, Syscall::kNone, ENOTSUP, -1}; }

SysError open_cgroup_procs(int, UniqueFd*) { return {Stage::kCgroup, Syscall::kNone, ENOTSUP, -1}; }

int kill_cgroup(int) { return ENOTSUP; }

bool cgroup_populated(int) { return false; }

int64_t cgroup_peak_bytes(int) { return -1; }

int remove_cgroup_leaf(const std::string&) { return ENOTSUP; }

}  // namespace exactspawn
