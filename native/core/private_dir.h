// Directories that nobody but their owner can enter, guess, or find left behind.
//
// Everything here BLOCKS: on work threads only. The umask of the process is neither read nor set [B097].
//
//   root/                          exists, made by the caller; checked, never made or changed
//     <prefix>-<26 characters>/        0700, the private directory
//     <prefix>-<26 characters>.owner   0600, see owner_file.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fd.h"
#include "sys_error.h"
#include "tree_removal.h"

namespace exactspawn {

// Why nothing may be made beneath a root. One closed list; TypeScript words it in this order [M-57].
enum class RootProblem : int32_t {
  kNone = 0,
  kMissing,
  kNotDirectory,
  // The root itself is a link. Links above it are the caller's own.
  kSymlink,
  // It belongs neither to the effective user nor to root.
  kForeignOwner,
  // Group or others may write and it is not sticky: they could put a link where a directory of ours was.
  kWritableByOthers,
  // Not to be opened for reading, for any other reason; the SysError beside it tells.
  kUnreadable,
};

struct DirectoryError {
  RootProblem root = RootProblem::kNone;
  SysError system;

  DirectoryError() = default;
  DirectoryError(SysError error) : system(error) {}
  DirectoryError(RootProblem problem, SysError error) : root(problem), system(error) {}

  explicit operator bool() const { return root != RootProblem::kNone || system.failed(); }
};

struct PrivateDirectory {
  std::string name;
  // root + "/" + name: absolute if the root was.
  std::string path;
  // Open for reading; serves empty_directory.
  UniqueFd fd;
  // While this is open no sweep takes the directory, in whatever PID namespace it runs. Closing it leaves the
  // directory to the lines of its owner file.
  UniqueFd owner_lock;

  std::string root() const { return path.substr(0, path.size() - name.size()); }
};

// Fills `out` with random bytes. Returns 0 or an errno.
using RandomBytes = int (*)(uint8_t* out, size_t count);
int kernel_random(uint8_t* out, size_t count);

// Makes a directory with an unguessable name (128 random bits) beneath `root`, of mode exactly 0700 under any
// umask and never of a wider one, and its owner file before it. `prefix` holds no slash (EINVAL). A failure
// leaves nothing. Fails: the root's problem; EMFILE; EACCES; ENOSPC; EPERM where a filesystem keeps no modes;
// EEXIST after eight names that were all taken.
DirectoryError create_private_directory(const std::string& root, const std::string& prefix,
                                        PrivateDirectory* out, RandomBytes random = kernel_random);

// Removes the private directory `name` of `root` with all it holds, then its owner file. If something stays,
// so does the owner file, and the report tells what. Absent is a success. Fails: the root's problem; EINVAL
// for a name that is not one of ours.
DirectoryError remove_private_directory(const std::string& root, const std::string& name, int64_t deadline,
                                        RemovalReport* report);

// Removes all entries of a private directory, open as `directory`, and gives it back its mode 0700; it stays. If its
// path leads elsewhere by now, that is reported as ESTALE of ".": what is made by the path next would not be in it.
void empty_private_directory(int directory, const std::string& path, int64_t deadline, RemovalReport* report);

struct SweepReport {
  // Directories, or owner files whose directory never was.
  uint64_t removed = 0;
  // Their owner lives.
  uint64_t kept = 0;
  // Owner files that say nothing reliable, and directories that are not ours: untouched.
  uint64_t ignored = 0;
  // Directories of dead owners that could not be removed whole; `removal` tells why, paths beginning with
  // their name.
  uint64_t left = 0;
  RemovalReport removal;
};

// Removes beneath `root` the private directories whose owners are dead. A directory without an owner file is
// left alone. Fails: the root's problem; ENOENT without /proc; then nothing is removed.
DirectoryError sweep_private_root(const std::string& root, int64_t deadline, SweepReport* report);

}  // namespace exactspawn
