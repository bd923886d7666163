#include "dir_listing.h"

#include <errno.h>
#include <fcntl.h>

#include <string_view>

#include "fd.h"

namespace exactspawn {

DirListing::DirListing(int directory) {
  // Not a dup of the caller's: that would share its position, and closedir closes what it was given.
  UniqueFd fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  stream_ = fd.valid() ? fdopendir(fd.get()) : nullptr;
  if (stream_ != nullptr)
    fd.release();
  else
    error_ = {Stage::kNone, Syscall::kOpenat, errno, -1};
}

DirListing::~DirListing() {
  if (stream_ != nullptr) closedir(stream_);
}

const dirent* DirListing::next() {
  while (stream_ != nullptr) {
    errno = 0;
    const dirent* entry = readdir(stream_);
    if (entry == nullptr) {
      if (errno != 0) error_ = {Stage::kNone, Syscall::kGetdents, errno, -1};
      return nullptr;
    }
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry;
  }
  return nullptr;
}

}  // namespace exactspawn
