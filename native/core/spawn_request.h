// What is to be started, as plain values that own what they hold. Filled by the binding, consumed by one start.
#pragma once

#include <stdint.h>

#include <string>
#include <vector>

#include "fd.h"
#include "group_mode.h"

namespace exactspawn {

enum class FdSourceKind : int32_t {
  kNull,        // /dev/null
  kDescriptor,  // `fd`, which the request owns
  kBytes,       // a sealed memfd that holds `bytes`, read from its start
  kCapture,     // the write end of a new pipe that a drain empties
  kSameAs,      // what another target of this child gets
};

struct FdSource {
  int target = -1;
  FdSourceKind kind = FdSourceKind::kNull;
  UniqueFd fd;
  std::string bytes;
  int same_as = -1;
  // kCapture: what the drain keeps.
  uint64_t head_bytes = 0;
  uint64_t tail_bytes = 0;
};

struct LimitRequest {
  int resource = 0;
  uint64_t soft = 0;
  uint64_t hard = 0;
};

// Strings that the kernel reads, one after another, each with its NUL.
struct StringBlock {
  std::string bytes;
  uint32_t count = 0;
};

struct SpawnRequest {
  std::vector<std::string> candidates;  // absolute paths, tried in order
  StringBlock args;                     // argv, argv[0] included
  StringBlock env;                      // NAME=value
  bool has_cwd = false;
  std::string cwd;
  int umask = 0077;  // -1 = inherit
  GroupMode group = GroupMode::kNew;
  std::vector<FdSource> fds;

  bool has_nice = false;
  int nice = 0;
  std::vector<unsigned long> affinity;  // cpu mask words; empty = inherit
  std::vector<LimitRequest> limits;
  bool inherit_nofile = false;
  bool has_groups = false;
  std::vector<uint32_t> groups;
  bool has_gid = false;
  uint32_t gid = 0;
  bool has_uid = false;
  uint32_t uid = 0;
  bool no_new_privs = false;
  bool parent_death_signal = true;
  bool guard = false;
  std::string cgroup_leaf;  // an existing, empty, single-use directory; empty = none
  int delay_before_exec_ms = 0;

  bool changes_ids() const { return has_groups || has_gid || has_uid; }
};

}  // namespace exactspawn
