// One single-use cgroup v2 leaf for one child: everything that descends from it dies by one write. Linux only.
#pragma once

#include <string>

#include "fd.h"

namespace exactspawn {

// Opens an existing leaf directory / its cgroup.procs for joining. Fails: kCgroup with ENOENT, EACCES, ...
SysError open_cgroup_leaf(const std::string& path, UniqueFd* out);
SysError open_cgroup_procs(int leaf_fd, UniqueFd* out);

// Kills every member at once by cgroup.kill (Linux 5.14), or those that are listed one by one: then it is called again
// until the leaf is empty. A leaf that was killed is never used again: CLONE_INTO_CGROUP children would die at birth
// [docs/native.md T13]. Blocks: no, but the one-by-one way reads a file. Returns an errno or 0.
int kill_cgroup(int leaf_fd);

// Whether a live process is in the leaf or below: cgroup.events. Zombies do not count. Errors read as empty.
bool cgroup_populated(int leaf_fd);

// memory.peak in bytes, or -1 where the memory controller is not on.
int64_t cgroup_peak_bytes(int leaf_fd);

// rmdir(2); EBUSY while populated. Blocks: as a file system call; on a work thread.
int remove_cgroup_leaf(const std::string& path);

}  // namespace exactspawn
