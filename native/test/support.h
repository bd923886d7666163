// What the cases of the spawn core share: requests for the fixture program, the ways to start it, and facts.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capabilities.h"
#include "spawn.h"
#include "test_hooks.h"

namespace exactspawn::test {

// The case cannot run on this machine. Where CI is set that is a failure.
void cannot_run(const char* why);

// Looks again every millisecond until `fact` holds; false when that takes absurdly long.
bool until(const std::function<bool()>& fact);

std::string own_path();
// A program that was built beside this one: "fixture_child".
std::string program_beside(const char* name);

// An empty directory of mode 0755, removed with its files when it goes.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  const std::string& path() const { return path_; }
  std::string operator/(const char* name) const { return path_ + "/" + name; }
  // A new file with that text.
  std::string file(const char* name, const std::string& text, mode_t mode) const;

 private:
  std::string path_;
};

// --- requests

StringBlock string_block(const std::vector<std::string>& strings);
// `program` with an empty environment and /dev/null on 0, 1 and 2.
SpawnRequest request_for(const std::string& program, const std::vector<std::string>& args = {});
SpawnRequest fixture_request(const std::vector<std::string>& verbs);
// The child gets the descriptor itself: its number in the host is the source's number.
void give(SpawnRequest* request, int target, UniqueFd fd);
void give_null(SpawnRequest* request, int target);
void capture(SpawnRequest* request, int target, uint64_t head_bytes, uint64_t tail_bytes);
// The read end of a new pipe whose write end becomes `target`.
UniqueFd give_pipe(SpawnRequest* request, int target);

// --- the ways to start

struct StartPath {
  const char* name;
  TestHooks hooks;
  Mechanism mechanism;
};
// clone3, clone and fork, each with close_range and with the walk over /proc/self/fd.
std::vector<StartPath> start_paths();

// Hooks for as long as it lives.
class HooksInForce {
 public:
  explicit HooksInForce(const TestHooks& hooks) { set_test_hooks(hooks); }
  ~HooksInForce() { set_test_hooks({}); }
  HooksInForce(const HooksInForce&) = delete;
  HooksInForce& operator=(const HooksInForce&) = delete;
};

// spawn() on this thread, which does not end before the case.
Spawned start_now(SpawnRequest request, int join_pgid = 0);
// Waits for the started child, ends its guard and reaps both. The wait status word.
int reap(const Spawned& spawned);
// Calls body(0) to body(count - 1) at once, each on a spawner thread.
void on_spawners(int count, const std::function<void(int)>& body);

// --- facts

std::string read_to_end(int fd);
// The first line, without its LF.
std::string read_line(int fd);
std::string read_file(const std::string& path);
// The raw JSON value of a name in the fixture's audit: `[1,2]`, `"text"`, `7`. Empty when it is not there.
std::string audit_value(const std::string& audit, const char* name);

struct AuditedFd {
  int fd_flags;
  int status_flags;
  std::string device;
  std::string inode;
};
std::map<int, AuditedFd> audit_fds(const std::string& audit);
std::string inode_of(int fd);
std::vector<int> own_fds();
std::vector<int> fds_of(pid_t pid);

// A signal to one process, or to one group, that the case has made. Never to the -1 of a start that has failed, nor to
// the 0 of a line that did not come: kill(2) takes those for every process and for our own group.
bool send(pid_t pid, int signal);
bool send_group(pid_t pgid, int signal);

// The children of a process that have not exited.
std::vector<pid_t> children_of(pid_t parent);
// No process of that number, or only what is left of one until its parent looks.
bool gone(pid_t pid);
bool group_gone(pid_t pgid);

}  // namespace exactspawn::test
