// Removes what a directory holds, by descriptor, and never through a link.
//
// Everything here BLOCKS: on work threads only. Nothing is kept from one call to the next.
//
// - A link is removed itself. Neither the way down nor the chmod of a directory that its maker closed (0000,
//   0555) goes through a name that could have become a link meanwhile [R-14, B110].
// - A directory on another mount is reported and left, bind mounts included (before Linux 5.8: other devices
//   only).
// - What cannot be removed is reported and the rest still goes.
// - At most four descriptors are open at any depth, and no stack grows with it.
// - A tree that grows faster than it is removed ends at the deadline.
//
// One thing cannot be promised: a directory that another process of the same user moves out of the tree while
// we are inside it is emptied where it now lies. The way back up then does not lead to where it came from,
// which is noticed: no entry of a directory that was never in the tree is touched.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fd.h"
#include "sys_error.h"

namespace exactspawn {

struct RemovalFailure {
  // Relative to the directory that the call was given; the first 4096 bytes.
  std::string path;
  Syscall syscall = Syscall::kNone;
  // EXDEV: another mount is there. ESTALE: the directory was moved while it was emptied; a second call finds
  // what is left.
  int errnum = 0;
};

struct RemovalReport {
  static constexpr size_t kMaxFailures = 16;

  uint64_t removed = 0;
  // All of them; the first kMaxFailures are told. A directory that stays only because of what it holds is not
  // one.
  uint64_t failed = 0;
  std::vector<RemovalFailure> failures;
  bool deadline_passed = false;

  bool complete() const { return failed == 0 && !deadline_passed; }
  void add(std::string path, Syscall syscall, int errnum) {
    failed++;
    if (failures.size() < kMaxFailures) failures.push_back({std::move(path), syscall, errnum});
  }
};

// Removes the entry `name` of `parent`, whatever it is, with all it holds. An absent entry is a success.
// `deadline` is an instant of now_ms(). Adds to `report`; complete() tells whether the entry is gone.
void remove_tree(int parent, const std::string& name, int64_t deadline, RemovalReport* report);

// Removes all entries of `directory` and gives it back its mode 0700; it stays the same directory, and
// `directory` stays open. Not for O_PATH descriptors. Adds to `report`.
void empty_directory(int directory, int64_t deadline, RemovalReport* report);

// Opens the directory `name` of `parent` for reading and gives the owner full access to it (0700, whatever it
// was) if he lacks any. Returns 0 or an errno; a link gives ENOTDIR or ELOOP, another mount EXDEV. An access
// that cannot be given back (the directory of someone else) is no failure as long as the directory can be
// read.
int open_for_owner(int parent, const char* name, UniqueFd* out);

}  // namespace exactspawn
