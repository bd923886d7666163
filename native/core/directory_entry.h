// What getdents64(2) fills a buffer with. Without libc: the code between clone and exec reads directories too.
#pragma once

#include <stdint.h>

namespace exactspawn {

struct DirectoryEntry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

// Calls visit(name) for each entry of the `size` bytes whose name begins with a digit.
template <typename Visit>
void each_numbered_entry(const char* buffer, long size, Visit visit) {
  for (long at = 0; at < size;) {
    const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
    at += entry->length;
    if (entry->name[0] >= '0' && entry->name[0] <= '9') visit(static_cast<const char*>(entry->name));
  }
}

}  // namespace exactspawn
