// The entries of a directory, one pass.
#pragma once

#include <dirent.h>

#include "sys_error.h"

namespace exactspawn {

// Reads a directory from its beginning, on a descriptor of its own. Thread: one. Blocks: as the filesystem
// does.
class DirListing {
 public:
  explicit DirListing(int directory);
  DirListing(const DirListing&) = delete;
  DirListing& operator=(const DirListing&) = delete;
  ~DirListing();

  // The next entry but "." and "..", borrowed until the next call. Null at the end; error() tells whether
  // that was the true one. Fails: EMFILE, EACCES, EIO.
  const dirent* next();
  const SysError& error() const { return error_; }

 private:
  DIR* stream_ = nullptr;
  SysError error_;
};

}  // namespace exactspawn
