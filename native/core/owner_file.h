// Who a private directory belongs to, written beside it, so that a later host can tell a left directory from
// one in use: not by age, and not by the process number alone [B111].
//
//   <name>.owner   mode 0600, three lines:   4711\n   81726354\n   0f0c…-…\n
//                                            pid      start ticks  boot id
//
// Its owner also holds a flock(2) on it for as long as it lives. The lock tells what the lines cannot: that
// an owner in another PID namespace, whose number means nothing here, is alive; and that the maker of a file
// which is still empty is at it.
//
// Linux only so far: the lines come from /proc. Everything here BLOCKS: on work threads only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "fd.h"
#include "sys_error.h"

namespace exactspawn {

struct Owner {
  pid_t pid = 0;
  // Field 22 of /proc/<pid>/stat: what tells this process from a later one with its number.
  uint64_t start_ticks = 0;
  std::string boot_id;
};

// The calling process. Fails: EMFILE; ENOENT where /proc is not mounted.
SysError current_owner(Owner* out);

// Creates the entry `file` of `root` in the name of the calling process and locks it: it counts as ours until
// `lock` is closed, and after that by its lines. Fails: EEXIST, and then another name is to be tried;
// whatever open and write say. A failure leaves no file.
SysError create_owner_file(int root, const std::string& file, UniqueFd* lock);

enum class OwnerState : int32_t {
  kAlive,
  kDead,
  // Empty, unlocked and a minute old: its maker died before there was a directory.
  kUnfinished,
  // Not a file that we could have written, or gone or unreadable: it says nothing.
  kUnreliable,
};

// Judges the entry `file` of `root`; `boot_id` is that of current_owner(). Opens neither a link nor a FIFO's
// other end, reads at most 128 bytes. With kDead and kUnfinished `lock` holds the file, so that no second
// sweep begins.
OwnerState judge_owner_file(int root, const std::string& file, const std::string& boot_id, UniqueFd* lock);

}  // namespace exactspawn
