// One child as the kernel knows it: watched by its pidfd, seen to exit before it is reaped, reaped once, signalled only
// while that number is provably its own.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "exit_status.h"
#include "fd.h"
#include "ref.h"
#include "sync.h"

namespace exactspawn {

struct ReapedUsage {
  bool known = false;
  int64_t user_us = 0;
  int64_t system_us = 0;
  int64_t max_rss_bytes = 0;
  int64_t minor_faults = 0, major_faults = 0;
  int64_t blocks_in = 0, blocks_out = 0;
  int64_t voluntary_switches = 0, involuntary_switches = 0;
};

// Thread: any; every call takes the record's lock, because a pidfd closed under a running call would let that call hit
// whatever reuses the number (golang/go#67641). Blocks: no, but count_members.
class Process : public Counted<Process> {
 public:
  // pidfd may be invalid. guard_pid is 0 for none. group_pidfd: the kernel signals groups through pidfds.
  Process(pid_t pid, UniqueFd pidfd, bool leads_group, pid_t guard_pid, bool group_pidfd, bool exit_info);

  pid_t pid() const { return pid_; }
  // For whoever began to watch it, before it can have retired.
  int pidfd() const { return pidfd_.get(); }
  // A copy for a wait outside the lock; invalid where there is none, or none any more.
  UniqueFd copy_pidfd() const;
  bool leads_group() const { return leads_group_; }
  bool has_guard() const { return guard_pid_ > 0; }
  // The kernel still names and probes the group after the leader was reaped.
  bool group_outlives_leader() const { return group_pidfd_; }

  // True once the child has exited: waitid(2) with WNOWAIT, so the zombie keeps its number. Sets the status once.
  bool peek();
  bool exited() const;
  bool reaped() const;
  ExitStatus status() const;
  ReapedUsage usage() const;

  // Takes the exited child's status and usage and frees its number. Idempotent.
  void reap();

  // 0, or the errno; ESRCH once it is gone.
  int signal_leader(int signal);
  int signal_group(int signal);
  // True when the kernel answers at once that the exited leader left nobody; false means "perhaps".
  bool surely_alone();
  // Members that are neither the leader nor the guard nor dead already; -1 where /proc does not tell. Blocks: for one
  // pass over /proc.
  int count_members();
  // Whether the leader may be stopped by a signal: it could not act on a polite one. Also while it waits in the kernel, as
  // for a child of its vfork(2), which has been stopped in its place.
  bool leader_stopped();

  // All is known and nobody will be signalled any more: gives the pidfd back. From here on every signal is ESRCH.
  void retire();

  // Sends the guard away with the group already dead or deliberately left; true once it is reaped.
  bool dismiss_guard();

 private:
  friend class Counted<Process>;
  ~Process() = default;
  bool peek_locked();
  bool number_is_ours_locked() const;

  const pid_t pid_;
  UniqueFd pidfd_;
  const bool leads_group_;
  pid_t guard_pid_;
  const bool group_pidfd_;
  const bool exit_info_;
  mutable Mutex mutex_;
  bool exited_ = false;
  bool reaped_ = false;
  bool guard_killed_ = false;
  bool retired_ = false;
  ExitStatus status_;
  ReapedUsage usage_;
};

}  // namespace exactspawn
