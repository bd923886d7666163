// What /proc says of other processes. Linux only; elsewhere sysctl stands behind it.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <vector>

namespace exactspawn {

// A number and when it began: the two together name one process for as long as the machine runs.
struct GroupMember {
  pid_t pid;
  uint64_t started;
};

// How many live processes (neither zombie nor dead) are in group pgid, without the leader itself and `except`.
// -1 where /proc does not tell: not mounted. Blocks: for one pass over /proc, about 10 µs a process.
int count_group_members(pid_t pgid, pid_t except);

// The live processes of group pgid, without the leader itself. False where /proc does not tell. Blocks: as
// count_group_members.
bool list_group_members(pid_t pgid, std::vector<GroupMember>* out);

// State letter of proc_pid_stat(5), or 0 when there is no such process.
char process_state(pid_t pid);

// Whether a process, a zombie too, still runs the image that it was cloned with: PF_FORKNOEXEC among the flags of
// proc_pid_stat(5). False when that is not known.
bool never_executed(pid_t pid);

}  // namespace exactspawn
