// What /proc says of other processes. Linux only; elsewhere sysctl stands behind it.
#pragma once

#include <sys/types.h>

namespace exactspawn {

// How many live processes (neither zombie nor dead) are in group pgid, without the leader itself and `except`.
// -1 where /proc does not tell: not mounted. Blocks: for one pass over /proc, about 10 µs a process.
int count_group_members(pid_t pgid, pid_t except);

// State letter of proc_pid_stat(5), or 0 when there is no such process.
char process_state(pid_t pid);

// Whether a process, a zombie too, still runs the image that it was cloned with: PF_FORKNOEXEC among the flags of
// proc_pid_stat(5). False when that is not known.
bool never_executed(pid_t pid);

}  // namespace exactspawn
