// The single-use leaf: born inside, ended at once, removed.
#include "cgroup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_case.h"
#include "harness.h"
#include "host_case.h"
#include "process_table.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

// A new leaf at the root of the cgroup2 mount, removed by whoever owns it or with this.
class Leaf {
 public:
  Leaf() {
    std::string mounts = read_file("/proc/self/mountinfo");
    size_t line = mounts.find(" - cgroup2 ");
    if (line == std::string::npos) return;
    char point[4096] = {};
    sscanf(mounts.c_str() + mounts.rfind('\n', line) + 1, "%*d %*d %*s %*s %4095s", point);
    path_ = std::string(point) + "/exactspawn-test-XXXXXX";
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~Leaf() {
    if (made_) CHECK(until([this] { return rmdir(path_.c_str()) == 0 || errno == ENOENT; }));
  }
  bool made() const { return made_; }
  const std::string& path() const { return path_; }
  std::string members() const { return read_file(path_ + "/cgroup.procs"); }

 private:
  std::string path_;
  bool made_ = false;
};

constexpr char kNoCgroup[] = "there is no cgroup2 where this user may make a leaf";

SpawnRequest inside(const Leaf& leaf, const std::vector<std::string>& verbs) {
  SpawnRequest request = fixture_request(verbs);
  request.cgroup_leaf = leaf.path();
  return request;
}

}  // namespace

TEST("a child is in its leaf before its program runs, on each way to start [N-15]") {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    Leaf leaf;
    if (!leaf.made()) return cannot_run(kNoCgroup);
    SpawnRequest request = inside(leaf, {"audit"});
    UniqueFd output = give_pipe(&request, 1);
    Child child(std::move(request));
    CHECK(child.started());
    std::string name = leaf.path().substr(leaf.path().rfind('/'));
    CHECK(audit_value(read_to_end(output.get()), "cgroup").find("0::" + name + "\\u000a") != std::string::npos);
    child.settled();
    CHECK(until([&] { return access(leaf.path().c_str(), F_OK) != 0; }));
  }
}

TEST("what has left the group and the session dies with the leaf, and the leaf goes [N-15, M-74]") {
  Subreaper subreaper;
  for (const StartPath& path : start_paths()) {
    for (bool guard : {false, true}) {
      HooksInForce hooks(path.hooks);
      Leaf leaf;
      if (!leaf.made()) return cannot_run(kNoCgroup);
      SpawnRequest request =
          inside(leaf, {"setsid-and-hold", "2", "1000000", "--", "fork-pause", "1", "--", "exit", "4"});
      UniqueFd output = give_pipe(&request, 1);
      request.guard = guard;
      Child child(std::move(request));
      CHECK(child.started());
      pid_t escapee = atoi(read_line(output.get()).c_str() + sizeof "held");
      child.exited();
      CHECK(!gone(escapee));
      Event settled = child.settled();
      CHECK_EQ(settled.fields[kCode], 4);
      CHECK_EQ(settled.fields[kGroupLeft], 1);
      CHECK(gone(escapee));
      CHECK(until([&] { return access(leaf.path().c_str(), F_OK) != 0; }));
    }
  }
}

TEST("a kill and the end of a grace reach what has left the group [N-15, M-80]") {
  Subreaper subreaper;
  for (bool ladder : {false, true}) {
    Leaf leaf;
    if (!leaf.made()) return cannot_run(kNoCgroup);
    SpawnRequest request = inside(leaf, {"setsid-and-hold", "2", "1000000", "--", "ignore", "TERM", "--", "text",
                                         "up\n", "--", "pause"});
    UniqueFd output = give_pipe(&request, 1);
    Child child(std::move(request));
    CHECK(child.started());
    pid_t escapee = atoi(read_line(output.get()).c_str() + sizeof "held");
    read_line(output.get());
    if (ladder) {
      child.life().end(EndedBy::kTerminate, {SIGTERM, 50, 1000});
    } else {
      CHECK_EQ(child.life().kill(EndedBy::kKill), 0);
    }
    CHECK_EQ(child.told(EventType::kSettled).fields[kSignal], SIGKILL);
    CHECK(gone(escapee));
  }
}

TEST("leftovers that are kept stay in the leaf, which then cannot go [N-15]") {
  Subreaper subreaper;
  Leaf leaf;
  if (!leaf.made()) return cannot_run(kNoCgroup);
  SpawnRequest request = inside(leaf, {"setsid-and-hold", "2", "1000000", "--", "exit"});
  UniqueFd output = give_pipe(&request, 1);
  LifecycleOptions options;
  options.keep_leftovers = true;
  Child child(std::move(request), options);
  CHECK(child.started());
  pid_t escapee = atoi(read_line(output.get()).c_str() + sizeof "held");
  child.settled();
  CHECK(!gone(escapee));
  CHECK_EQ(leaf.members(), std::to_string(escapee) + "\n");
  send(escapee, SIGKILL);
}

// CLONE_INTO_CGROUP kills at birth in a leaf that was killed once [docs/native.md T13]; joining by file does not.
TEST("a start into a leaf that was killed before goes by way of its file [N-15]") {
  Leaf leaf;
  if (!leaf.made()) return cannot_run(kNoCgroup);
  UniqueFd opened;
  CHECK(!open_cgroup_leaf(leaf.path(), &opened));
  CHECK(!cgroup_populated(opened.get()));
  CHECK_EQ(kill_cgroup(opened.get()), 0);
  Spawned spawned = start_now(inside(leaf, {"pause"}));
  CHECK(!spawned.error);
  CHECK_EQ(leaf.members(), std::to_string(spawned.pid) + "\n");
  CHECK(cgroup_populated(opened.get()));
  CHECK_EQ(remove_cgroup_leaf(leaf.path()), EBUSY);
  CHECK_EQ(kill_cgroup(opened.get()), 0);
  CHECK(until([&] { return !cgroup_populated(opened.get()); }));
  // A zombie is no member: the leaf can go before it is reaped.
  CHECK_EQ(process_state(spawned.pid), 'Z');
  CHECK_EQ(remove_cgroup_leaf(leaf.path()), 0);
  reap(spawned);
}

// What kernels before 5.14 offer, in a directory that stands for a leaf: a list of members and no cgroup.kill. A number
// below 1 is a member of another namespace of processes.
TEST("without a file to kill a leaf with, every listed member is killed, beyond the first 4096 bytes too [N-15]") {
  ScratchDirectory leaf;
  Spawned first = start_now(fixture_request({"pause"}));
  Spawned last = start_now(fixture_request({"pause"}));
  std::string list = std::to_string(first.pid) + "\n";
  for (int i = 0; i < 3000; i++) list += "0\n";
  leaf.file("cgroup.procs", list + std::to_string(last.pid) + "\n", 0644);
  UniqueFd opened;
  CHECK(!open_cgroup_leaf(leaf.path(), &opened));
  CHECK_EQ(kill_cgroup(opened.get()), 0);
  CHECK(until([&] { return gone(first.pid) && gone(last.pid); }));
  for (const Spawned* spawned : {&first, &last}) {
    send(spawned->pid, SIGKILL);
    reap(*spawned);
  }
}

TEST("a failed start leaves nobody in the leaf [N-15, P-2]") {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    Leaf leaf;
    if (!leaf.made()) return cannot_run(kNoCgroup);
    SpawnRequest request = inside(leaf, {});
    request.candidates = {"/no/such/program"};
    request.guard = true;
    Spawned spawned = start_now(std::move(request));
    CHECK(spawned.error.stage == Stage::kExec);
    CHECK_EQ(spawned.error.errnum, ENOENT);
    CHECK_EQ(leaf.members(), "");
  }
}

HOST("enters-a-foreign-leaf") {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    SpawnRequest request = fixture_request({});
    request.cgroup_leaf = args[0];
    Spawned spawned = start_now(std::move(request));
    CHECK(spawned.error.stage == Stage::kCgroup);
    CHECK_EQ(spawned.error.errnum, EACCES);
  }
  return 0;
}

TEST("a leaf that the host may not write to is EACCES of the cgroup stage [N-15, N-6]") {
  Leaf leaf;
  if (!leaf.made()) return cannot_run(kNoCgroup);
  CHECK_EQ(Host("enters-a-foreign-leaf", {leaf.path()}, {drop_privileges, {}}).report(), "");
}
