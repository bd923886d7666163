// What the cases about directories share. Each runs in a child of its own: umask, user and limits belong to a
// process.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../core/clock.h"
#include "../core/dir_listing.h"
#include "../core/file_facts.h"
#include "../core/private_dir.h"
#include "../core/tree_removal.h"
#include "harness.h"

namespace exactspawn::test {

constexpr uid_t kNobody = 65534;

// CHECK for the child of a case: its failures reach the runner as its exit status.
inline int wrong = 0;
inline void expect(bool holds, const char* text, const char* file, int line) {
  if (holds) return;
  if (++wrong <= 10) std::printf("  %s:%d: %s\n", file, line, text);
}
#define HOLDS(condition) ::exactspawn::test::expect((condition), #condition, __FILE__, __LINE__)

inline void become_nobody() {
  HOLDS(setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0);
  HOLDS(setresuid(kNobody, kNobody, kNobody) == 0);
}

inline void give_away(const std::string& path) { HOLDS(chown(path.c_str(), kNobody, kNobody) == 0); }

using Body = void (*)(const std::string& base);

// Runs `body` in a child, with an empty directory of mode 0700 that is gone afterwards. Returns whether all
// of its HOLDS held.
inline bool in_child(bool drop_privileges, Body body) {
  char base[] = "/tmp/exactspawn-test-XXXXXX";
  if (mkdtemp(base) == nullptr) return false;
  std::fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    umask(022);
    if (drop_privileges) {
      give_away(base);
      become_nobody();
    }
    if (wrong == 0) body(base);
    std::fflush(stdout);
    _exit(wrong == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  pid_t cleaner = fork();
  if (cleaner == 0) {
    execlp("sh", "sh", "-c", "chmod -R u+rwX \"$0\"; rm -rf \"$0\"", base, nullptr);
    _exit(127);
  }
  waitpid(cleaner, nullptr, 0);
  if (WIFSIGNALED(status)) std::printf("  killed by signal %d\n", WTERMSIG(status));
  return status == 0;
}

// Modes do not bind the superuser, so his runs of these cases are those of uid 65534.
inline bool unprivileged(Body body) { return in_child(geteuid() == 0, body); }

// What another user owns only the superuser can set up. For anybody else the case is not run, which passes
// outside CI only.
inline bool as_superuser(Body body) {
  if (geteuid() == 0) return in_child(false, body);
  std::printf("  not run: needs the superuser\n");
  return getenv("CI") == nullptr;
}

inline int open_directory(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

inline bool exists(const std::string& path) {
  FileFacts facts;
  return facts_at(AT_FDCWD, path.c_str(), &facts) == 0;
}

inline mode_t mode_of(const std::string& path) {
  FileFacts facts;
  return facts_at(AT_FDCWD, path.c_str(), &facts) == 0 ? facts.permissions() : static_cast<mode_t>(-1);
}

inline void make_file(const std::string& path, const std::string& text = "x", mode_t mode = 0644) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  HOLDS(fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  HOLDS(fchmod(fd, mode) == 0);
  close(fd);
}

inline void make_dir(const std::string& path, mode_t mode = 0700) {
  HOLDS(mkdir(path.c_str(), mode) == 0 && chmod(path.c_str(), mode) == 0);
}

inline std::vector<std::string> entries(const std::string& path) {
  std::vector<std::string> names;
  int fd = open_directory(path);
  DirListing listing(fd);
  while (const dirent* entry = listing.next()) names.push_back(entry->d_name);
  close(fd);
  std::sort(names.begin(), names.end());
  return names;
}

inline size_t count(const std::string& path) { return entries(path).size(); }

inline RemovalReport removed(const std::string& base, const std::string& name,
                             int64_t deadline = deadline_in(20000)) {
  RemovalReport report;
  int parent = open_directory(base);
  remove_tree(parent, name, deadline, &report);
  close(parent);
  return report;
}

inline bool created(const std::string& root, PrivateDirectory* out) {
  return !create_private_directory(root, "work", out);
}

// A process beside the test that repeats `step` until it is stopped, or the test ends.
inline pid_t repeat(Body step, const std::string& path) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) step(path);
}

inline void stop(pid_t pid) {
  HOLDS(pid > 0);
  if (pid <= 0) return;  // kill(-1) would reach every process of the user
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// Runs `traced` in a process that is held before and after each of its system calls, and `step` each time
// that it is held. Returns whether its HOLDS held.
inline bool at_every_step(Body traced, Body step, const std::string& path) {
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    traced(path);
    std::fflush(stdout);
    _exit(wrong == 0 ? 0 : 1);
  }
  int status = -1;
  int steps = 0;
  while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
    if (steps++ > 0) step(path);
    ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
  }
  HOLDS(steps > 10);
  return status == 0;
}

}  // namespace exactspawn::test
