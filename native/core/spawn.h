// From a request to a running program, or to the reason why there is none and no trace of the attempt.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <vector>

#include "fd.h"
#include "spawn_request.h"
#include "sys_error.h"

namespace exactspawn {

enum class Mechanism : int32_t { kClone3, kClone, kFork, kPosixSpawn };

// The host's end of a capture, still to be drained.
struct CapturePipe {
  int target = -1;
  UniqueFd read_end;
  uint64_t head_bytes = 0;
  uint64_t tail_bytes = 0;
};

struct Spawned {
  SysError error;         // failed() = nothing runs and nothing is left
  int killed_by = 0;      // stage kKilledBeforeExec: the signal
  pid_t pid = -1;
  UniqueFd pidfd;         // invalid where the kernel offers none
  pid_t guard_pid = 0;
  UniqueFd guard_pipe;    // write end; a byte lets the guard go, closing it ends the group
  UniqueFd cgroup;        // the leaf directory
  Mechanism mechanism = Mechanism::kClone3;
  int32_t candidate = 0;  // which program path ran
  int64_t host_peak_bytes = 0;
  std::vector<CapturePipe> captures;
};

// Starts `request`, consuming its descriptors. join_pgid is the group to enter for GroupMode::kJoin, whose leader the
// caller keeps unreaped during the call. `cancelled` is looked at right before each clone: ECANCELED, stage kClone.
// Thread: a spawner thread, which must never end: its end is the child's parent-death signal [docs/native.md T7].
// Blocks: until exec or failure. Owns: everything in the result.
Spawned spawn(SpawnRequest* request, int join_pgid, const std::atomic<bool>& cancelled);

}  // namespace exactspawn
