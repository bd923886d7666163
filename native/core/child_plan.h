// All that the code between clone and exec may read and write: plain memory, laid out by the host beforehand.
// Linux only. Nothing here has a constructor, and nothing points at memory that another thread may change.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fd_plan.h"
#include "group_mode.h"
#include "sys_error.h"

namespace exactspawn {

// The most that any kernel is built for, CONFIG_NR_CPUS. lib/process/spawn-spec.ts has the same.
constexpr int kMaxProcessors = 8192;

struct ChildLimit {
  int resource;
  uint64_t soft;
  uint64_t hard;
};

// How far the child came. kAtExec is written right before the first execve: with it and no error, exec succeeded;
// without it and no error, the child was killed while it was still ours.
enum Progress : int32_t { kNotBorn = 0, kBorn = 1, kAtExec = 2 };

// Written by the child, read by the host after the child has left the shared memory (or, on the fork path, through
// a shared mapping). stage is written last.
struct Outcome {
  volatile int32_t progress;
  volatile int32_t errnum;
  volatile int32_t index;
  volatile int32_t syscall;
  volatile int32_t guard_pid;
  volatile int32_t guard_errnum;
  volatile int32_t stage;
};

// The guard: a member of the child's group that kills it when the host is gone [M-45]. program_fd is an
// executable in a memfd, or -1 for shell.
struct GuardPlan {
  int wanted;
  int pipe_fd;
  int program_fd;
  const char* shell;
  char* const* argv;
  char* const* envp;
};

struct ChildPlan {
  Outcome* outcome;

  const FdStep* steps;
  uint32_t step_count;
  const FdGap* gaps;
  uint32_t gap_count;
  int no_close_range;     // the kernel or a sandbox refuses it: walk /proc/self/fd
  uint64_t raise_nofile;  // soft limit needed while the steps run, or 0

  GroupMode group;
  int join_pgid;
  int cgroup_procs_fd;  // fallback join, or -1
  GuardPlan guard;

  int set_nice;
  int nice;
  const unsigned long* affinity;
  size_t affinity_bytes;  // 0 = leave; at most kMaxProcessors bits
  int umask;              // -1 = inherit

  const ChildLimit* limits;
  uint32_t limit_count;
  const uint32_t* groups;
  int32_t group_count;  // -1 = leave
  int set_gid;
  uint32_t gid;
  int set_uid;
  uint32_t uid;
  const char* cwd;  // null = inherit
  int parent_death_signal;
  int host_pid;
  int no_new_privs;

  const char* const* candidates;
  uint32_t candidate_count;
  char* const* argv;
  char* const* envp;

  int test_delay_ms;  // test hook: stay this long before exec
};

// The child's whole life in our code: never returns. `plan` is a ChildPlan.
[[noreturn]] void child_main(void* plan);

// The child of a capability probe: stores 1 in the int that it is given, and exits.
[[noreturn]] void probe_main(void* flag);

}  // namespace exactspawn
