#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace exactspawn {
namespace {

// cgroup files are short; a list of members is read in pieces and the rest comes with the next round.
constexpr size_t kBufferBytes = 4096;

ssize_t read_file(int leaf_fd, const char* name, char* buffer) {
  UniqueFd file(openat(leaf_fd, name, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return -1;
  ssize_t size = read(file.get(), buffer, kBufferBytes - 1);
  if (size >= 0) buffer[size] = 0;
  return size;
}

int write_file(int leaf_fd, const char* name, const char* text) {
  UniqueFd file(openat(leaf_fd, name, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  return write(file.get(), text, strlen(text)) >= 0 ? 0 : errno;
}

// Frozen members neither fork nor exit, so a number on the list still names the member when the signal is sent.
int kill_members(int leaf_fd) {
  write_file(leaf_fd, "cgroup.freeze", "1");
  char buffer[kBufferBytes];
  if (read_file(leaf_fd, "cgroup.procs", buffer) < 0) return errno;
  for (char* at = buffer; *at != 0;) {
    char* end;
    long pid = strtol(at, &end, 10);
    if (end == at) break;
    // A number cut by the buffer's end is not a pid; the next round lists it whole.
    if (*end == 0) break;
    if (pid > 0) kill(static_cast<pid_t>(pid), SIGKILL);
    at = end + 1;
  }
  write_file(leaf_fd, "cgroup.freeze", "0");
  return 0;
}

}  // namespace

SysError open_cgroup_leaf(const std::string& path, UniqueFd* out) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return {Stage::kCgroup, Syscall::kOpen, errno, -1};
  out->reset(fd);
  return lift_above_stdio(out, Stage::kCgroup);
}

SysError open_cgroup_procs(int leaf_fd, UniqueFd* out) {
  int fd = openat(leaf_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return {Stage::kCgroup, Syscall::kOpenat, errno, -1};
  out->reset(fd);
  return lift_above_stdio(out, Stage::kCgroup);
}

int kill_cgroup(int leaf_fd) {
  int failed = write_file(leaf_fd, "cgroup.kill", "1");
  return failed == ENOENT ? kill_members(leaf_fd) : failed;
}

bool cgroup_populated(int leaf_fd) {
  char buffer[kBufferBytes];
  if (read_file(leaf_fd, "cgroup.events", buffer) < 0) return false;
  return strstr(buffer, "populated 1") != nullptr;
}

int64_t cgroup_peak_bytes(int leaf_fd) {
  char buffer[kBufferBytes];
  if (read_file(leaf_fd, "memory.peak", buffer) <= 0) return -1;
  return strtoll(buffer, nullptr, 10);
}

int remove_cgroup_leaf(const std::string& path) { return rmdir(path.c_str()) == 0 ? 0 : errno; }

}  // namespace exactspawn
