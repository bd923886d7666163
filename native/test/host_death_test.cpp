// What a host that dies without a word leaves behind: nothing.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

// Prints a line that the killer reads. One write: it may die in the middle of two.
void say(const std::string& line) {
  std::string text = line + "\n";
  if (write(1, text.data(), text.size()) < 0) _exit(125);
}

TestHooks hooks_of(const std::string& path) {
  for (const StartPath& known : start_paths()) {
    if (path == known.name) return known.hooks;
  }
  return {};
}

void kill_after(Host* host, int ms) {
  usleep(static_cast<useconds_t>(ms) * 1000);  // the moment itself is what varies, nothing is awaited
  host->kill_now();
}

}  // namespace

// args: path, delay before exec, user to become or 0. Starts one child and never ends.
HOST("starts-one-child") {
  set_test_hooks(hooks_of(args[0]));
  SpawnRequest request = fixture_request({"pause"});
  request.delay_before_exec_ms = atoi(args[1].c_str());
  request.has_uid = args[2] != "0";
  request.uid = static_cast<uint32_t>(atoi(args[2].c_str()));
  Child child(std::move(request));
  say("submitted");
  if (!child.started()) return 1;
  say(std::to_string(child.pid()));
  for (;;) pause();
}

TEST("a leader dies with its host, on each way to start, also as another user [N-11, P-7]") {
  Subreaper subreaper;
  for (const StartPath& path : start_paths()) {
    for (const char* user : {"0", "65534"}) {
      if (*user != '0' && geteuid() != 0) {
        cannot_run("only the superuser gives a child another user");
        continue;
      }
      Host host("starts-one-child", {path.name, "0", user});
      read_line(host.output());
      pid_t leader = atoi(read_line(host.output()).c_str());
      CHECK(leader > 0 && !gone(leader));
      host.kill_now();
      CHECK(until([&] { return gone(leader); }));
    }
  }
}

TEST("a host that dies in the middle of a start leaves no program running [N-11, P-7]") {
  Subreaper subreaper;
  for (const StartPath& path : start_paths()) {
    Host host("starts-one-child", {path.name, "300", "0"});
    read_line(host.output());
    pid_t child = 0;
    CHECK(until([&] {
      for (pid_t each : children_of(host.pid())) child = each;
      return child != 0;
    }));
    host.kill_now();
    CHECK(until([&] { return gone(child); }));
  }
}

// args: path, memfd or shell. A guarded leader with three members in its group and one child of a member.
HOST("starts-a-guarded-group") {
  TestHooks hooks = hooks_of(args[0]);
  hooks.no_memfd_exec = args[1] == "shell";
  set_test_hooks(hooks);
  SpawnRequest request = fixture_request({"fork-pause", "3", "--", "fork-tree", "2", "100000", "--", "text", "up\n",
                                          "--", "pause"});
  UniqueFd output = give_pipe(&request, 1);
  request.guard = true;
  Child child(std::move(request));
  if (!child.started()) return 1;
  say(std::to_string(child.pid()));
  while (read_line(output.get()) != "up") {
  }
  say("up");
  for (;;) pause();
}

TEST("a guarded group dies with its host, at any moment of its life [N-11, M-45]") {
  Subreaper subreaper;
  for (const char* guard : {"memfd", "shell"}) {
    for (const StartPath& path : start_paths()) {
      for (int ms : {0, 1, 2, 5, 10, 20}) {
        Host host("starts-a-guarded-group", {path.name, guard});
        pid_t leader = atoi(read_line(host.output()).c_str());
        CHECK(leader > 0);
        kill_after(&host, ms);
        CHECK(until([&] { return group_gone(leader); }));
      }
    }
  }
}

TEST("a guarded group of which every member is up dies with its host [N-11, M-45]") {
  Subreaper subreaper;
  for (const char* guard : {"memfd", "shell"}) {
    for (const StartPath& path : start_paths()) {
      Host host("starts-a-guarded-group", {path.name, guard});
      pid_t leader = atoi(read_line(host.output()).c_str());
      CHECK_EQ(read_line(host.output()), "up");
      CHECK_EQ(count_group_members(leader, 0), 6);  // five members and the guard
      host.kill_now();
      CHECK(until([&] { return group_gone(leader); }));
    }
  }
}

// args: memfd or shell. Starts without end, so that it dies in the middle of one.
HOST("starts-guarded-children") {
  TestHooks hooks;
  hooks.no_memfd_exec = args[0] == "shell";
  set_test_hooks(hooks);
  say("begins");
  for (;;) {
    SpawnRequest request = fixture_request({"fork-pause", "1", "--", "pause"});
    request.guard = true;
    request.parent_death_signal = false;  // the guard alone has to do it
    Spawned spawned = start_now(std::move(request));
    if (spawned.error) return 1;
    say(std::to_string(spawned.pid));
    spawned.guard_pipe.release();  // closed by the death of this process only
  }
}

TEST("a host that dies while it starts guarded children leaves no member of any group [N-11]") {
  Subreaper subreaper;
  for (const char* guard : {"memfd", "shell"}) {
    for (int ms : {0, 1, 2, 5, 10, 20}) {
      Host host("starts-guarded-children", {guard});
      CHECK_EQ(read_line(host.output()), "begins");
      kill_after(&host, ms);
      // Also the one whose number it could not tell any more: all of them are orphans of ours.
      CHECK(until([] { return children_of(getpid()).empty(); }));
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
  }
}

TEST("a guard is no leftover, and goes when the group is settled [N-11, N-14, B053]") {
  for (bool shell : {false, true}) {
    for (StartPath path : start_paths()) {
      path.hooks.no_memfd_exec = shell;
      HooksInForce hooks(path.hooks);
      SpawnRequest request = fixture_request({"exit", "3"});
      request.guard = true;
      Child child(std::move(request));
      CHECK(child.started());
      Event settled = child.settled();
      CHECK_EQ(settled.fields[kCode], 3);
      CHECK_EQ(settled.fields[kGroupLeft], 0);
      CHECK(group_gone(child.pid()));
    }
  }
}

TEST("a guard holds its pipe and nothing else of the host [N-11, B004]") {
  UniqueFd stray(open("/dev/null", O_RDONLY));  // not close-on-exec
  for (bool shell : {false, true}) {
    for (StartPath path : start_paths()) {
      path.hooks.no_memfd_exec = shell;
      HooksInForce hooks(path.hooks);
      SpawnRequest request = fixture_request({"pause"});
      request.guard = true;
      Spawned spawned = start_now(std::move(request));
      CHECK(!spawned.error);
      // The shell opens its libraries first.
      CHECK(until([&] { return fds_of(spawned.guard_pid) == std::vector<int>{0}; }));
      send(spawned.pid, SIGKILL);
      reap(spawned);
    }
  }
}

TEST("leftovers that are kept outlive the guard and the host's interest [N-11, N-14]") {
  Subreaper subreaper;
  SpawnRequest request = fixture_request({"fork-pause", "2", "--", "exit"});
  UniqueFd output = give_pipe(&request, 1);
  request.guard = true;
  LifecycleOptions options;
  options.keep_leftovers = true;
  Child child(std::move(request), options);
  CHECK(child.started());
  Event settled = child.settled();
  CHECK_EQ(settled.fields[kGroupLeft], 2);
  CHECK_EQ(count_group_members(child.pid(), 0), 2);
  send_group(child.pid(), SIGKILL);
}
