#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace exactspawn {
namespace {

// Empty where the file cannot be read.
std::string read_file(int leaf_fd, const char* name) {
  UniqueFd file(openat(leaf_fd, name, O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  ssize_t size;
  while (file.valid() && (size = read(file.get(), buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

int write_file(int leaf_fd, const char* name, const char* text) {
  UniqueFd file(openat(leaf_fd, name, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  return write(file.get(), text, strlen(text)) >= 0 ? 0 : errno;
}

// Frozen members neither fork nor exit, so a number on the list still names the member when the signal is sent.
void kill_members(int leaf_fd) {
  write_file(leaf_fd, "cgroup.freeze", "1");
  std::string members = read_file(leaf_fd, "cgroup.procs");
  char* rest;
  for (const char* at = members.c_str(); *at != 0; at = *rest == 0 ? rest : rest + 1) {
    long pid = strtol(at, &rest, 10);
    if (pid > 0) kill(static_cast<pid_t>(pid), SIGKILL);
  }
  write_file(leaf_fd, "cgroup.freeze", "0");
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
  if (failed != ENOENT) return failed;
  kill_members(leaf_fd);
  return 0;
}

bool cgroup_populated(int leaf_fd) {
  return read_file(leaf_fd, "cgroup.events").find("populated 1") != std::string::npos;
}

int64_t cgroup_peak_bytes(int leaf_fd) {
  std::string peak = read_file(leaf_fd, "memory.peak");
  return peak.empty() ? -1 : strtoll(peak.c_str(), nullptr, 10);
}

// The child may have made groups of its own beneath: cgroup directories go from the inside out, and only by rmdir.
int remove_cgroup_leaf(const std::string& path) {
  if (rmdir(path.c_str()) == 0) return 0;
  if (errno != EBUSY) return errno;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return errno;
  while (const dirent* entry = readdir(directory)) {
    std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") remove_cgroup_leaf(path + "/" + name);
  }
  closedir(directory);
  return rmdir(path.c_str()) == 0 ? 0 : errno;
}

}  // namespace exactspawn
