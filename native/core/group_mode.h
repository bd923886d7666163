#pragma once

#include <stdint.h>

namespace exactspawn {

// Which process group a child is born into: its own, its own in a session of its own, the host's, or another child's.
enum class GroupMode : int32_t { kNew, kSession, kInherit, kJoin };

inline bool leads_group(GroupMode mode) { return mode == GroupMode::kNew || mode == GroupMode::kSession; }

}  // namespace exactspawn
