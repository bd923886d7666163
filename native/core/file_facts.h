// What a directory entry is, asked without following a link.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>

namespace exactspawn {

struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};

struct FileFacts {
  FileId id;
  mode_t mode = 0;
  uid_t uid = 0;
  uint64_t links = 0;
  // Seconds of the wall clock.
  int64_t modified_s = 0;
  // Something is mounted here. A bind mount of the same filesystem shows in nothing else.
  bool mount_root = false;

  bool directory() const { return S_ISDIR(mode); }
  bool regular() const { return S_ISREG(mode); }
  bool symlink() const { return S_ISLNK(mode); }
  mode_t permissions() const { return mode & 07777; }
};

// Facts of the entry `name` of `dir`; of a link, those of the link itself. Thread: any. Blocks: as a lookup
// does, for ever on a dead network filesystem. Returns 0 or an errno.
int facts_at(int dir, const char* name, FileFacts* out);

// The same for an open descriptor, also one opened with O_PATH.
int facts_of(int fd, FileFacts* out);

}  // namespace exactspawn
