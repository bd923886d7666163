// The group that a leader leaves behind, and the ladder that ends it.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "child_case.h"
#include "clock.h"
#include "harness.h"
#include "host_case.h"
#include "process_table.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

// How the kernel names a group: by the pidfd also after reaping, only while the zombie is held, and without pidfds.
std::vector<TestHooks> group_paths() {
  TestHooks zombie, number;
  zombie.no_group_pidfd = true;
  number.no_pidfd = true;
  return {{}, zombie, number};
}

// A child whose output is read here: members announce themselves there.
struct Family {
  UniqueFd output;
  Child child;

  explicit Family(const std::vector<std::string>& verbs, LifecycleOptions options = {},
                  GroupMode group = GroupMode::kNew)
      : Family(request(verbs, group), options) {}

  pid_t next_member() {
    std::string line = read_line(output.get());
    return atoi(line.substr(line.find(' ') + 1).c_str());
  }
  bool next_line_is(const char* text) { return read_line(output.get()) == text; }

 private:
  struct Made {
    SpawnRequest request;
    UniqueFd output;
  };
  static Made request(const std::vector<std::string>& verbs, GroupMode group) {
    Made made = {fixture_request(verbs), {}};
    made.request.group = group;
    made.output = give_pipe(&made.request, 1);
    return made;
  }
  Family(Made made, LifecycleOptions options)
      : output(std::move(made.output)), child(std::move(made.request), std::move(options)) {
    CHECK(child.started());
  }
};

LadderPlan term(int64_t grace_ms) { return {SIGTERM, grace_ms, 5000}; }

double cause(EndedBy who) { return static_cast<double>(who); }

}  // namespace

TEST("members that outlive the leader are counted and killed before the end is told [N-14, M-44, B053]") {
  Subreaper subreaper;
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    for (int members : {0, 1, 3}) {
      Family family({"fork-pause", std::to_string(members), "--", "exit", "2"});
      family.child.exited();
      CHECK_EQ(count_group_members(family.child.pid(), 0), members);
      Event settled = family.child.settled();
      CHECK_EQ(settled.fields[kCode], 2);
      CHECK_EQ(settled.fields[kGroupLeft], members);
      CHECK_EQ(settled.fields[kCause], cause(EndedBy::kSelf));
      CHECK(group_gone(family.child.pid()));
    }
  }
}

TEST("members are listed by number and start, without leader, zombies and other groups [N-14, B053]") {
  Subreaper subreaper;
  Family family({"fork-pause", "2", "--", "pause"}), stranger({"fork-pause", "1", "--", "pause"});
  pid_t first = family.next_member(), second = family.next_member();
  stranger.next_member();
  pid_t pgid = family.child.pid();
  std::vector<GroupMember> members, again;
  CHECK(list_group_members(pgid, &members));
  CHECK_EQ(members.size(), size_t{2});
  auto listed = [&](pid_t pid, const std::vector<GroupMember>& list) {
    return std::count_if(list.begin(), list.end(), [&](const GroupMember& m) { return m.pid == pid && m.started > 0; });
  };
  CHECK(listed(first, members) == 1 && listed(second, members) == 1);
  kill(second, SIGKILL);
  CHECK(until([&] {
    char state = process_state(second);
    return state == 'Z' || state == 0;
  }));
  CHECK(list_group_members(pgid, &again));
  CHECK(again.size() == 1 && again[0].pid == first && listed(again[0].pid, members) == 1);
  for (Family* each : {&family, &stranger}) {
    send_group(each->child.pid(), SIGKILL);
    each->child.settled();
  }
}

TEST("members are counted and left alive where leftovers are kept [N-14]") {
  Subreaper subreaper;
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    LifecycleOptions options;
    options.keep_leftovers = true;
    Family family({"fork-pause", "2", "--", "exit"}, options);
    Event settled = family.child.settled();
    CHECK_EQ(settled.fields[kGroupLeft], 2);
    CHECK_EQ(count_group_members(family.child.pid(), 0), 2);
    send_group(family.child.pid(), SIGKILL);
  }
}

TEST("a group is signalled through its zombie or its pidfd, and never by a number that is free [N-14, P-6, B060]") {
  Subreaper subreaper;
  for (bool by_pidfd : {true, false}) {
    if (by_pidfd && !capabilities().pidfd_group_signal) continue;
    SpawnRequest request = fixture_request({"fork-pause", "1", "--", "exit"});
    UniqueFd output = give_pipe(&request, 1);
    Spawned spawned = start_now(std::move(request));
    pid_t leader = spawned.pid;
    pid_t member = atoi(read_line(output.get()).c_str() + sizeof "member");
    CHECK(until([&] { return process_state(leader) == 'Z'; }));
    Ref<Process> process(new Process(leader, std::move(spawned.pidfd), true, 0, by_pidfd, false));
    CHECK(process->peek());
    CHECK_EQ(process->signal_group(SIGCONT), 0);
    CHECK_EQ(process->count_members(), 1);
    process->reap();
    process->reap();
    CHECK_EQ(process->signal_leader(SIGKILL), ESRCH);
    CHECK_EQ(process->signal_group(SIGKILL), by_pidfd ? 0 : ESRCH);
    if (by_pidfd) {
      CHECK(until([&] { return gone(member); }));
      waitpid(member, nullptr, 0);
      CHECK_EQ(process->signal_group(SIGKILL), ESRCH);
      CHECK(process->surely_alone());
    } else {
      CHECK(!gone(member));
      CHECK_EQ(process->count_members(), 0);
      send(member, SIGKILL);
    }
  }
}

TEST("a stolen leader's group is ended where the pidfd names it, and else left alone [N-14, P-6, B060, B065]") {
  Subreaper subreaper;
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    bool named = capabilities().pidfd_group_signal;
    for (bool seen_before : {false, true}) {
      Family family({"fork-pause", "1", "--", "exit"});
      pid_t member = family.next_member();
      if (seen_before) family.child.exited();
      CHECK_EQ(waitpid(family.child.pid(), nullptr, 0), family.child.pid());
      family.child.settled();
      CHECK_EQ(gone(member), named);
      send(member, SIGKILL);
    }
  }
}

TEST("a group that does not exist of its own is never signalled, only its leader is [N-14, B072]") {
  // Its group is this process' own: a signal to it would end the test.
  Subreaper subreaper;
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    Family family({"fork-pause", "1", "--", "pause"}, {}, GroupMode::kInherit);
    pid_t member = family.next_member();
    CHECK_EQ(getpgid(family.child.pid()), getpgrp());
    CHECK_EQ(family.child.life().signal_group(SIGKILL), ESRCH);
    CHECK_EQ(family.child.life().kill(EndedBy::kKill), 0);
    Event settled = family.child.settled();
    CHECK_EQ(settled.fields[kSignal], SIGKILL);
    CHECK_EQ(settled.fields[kGroupLeft], 0);
    CHECK(!gone(member));
    send(member, SIGKILL);
  }
}

TEST("a kill ends leader and members at once, and after the exit still the members [N-14, M-41]") {
  Subreaper subreaper;
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    Family running({"fork-ignore", "TERM", "100000", "--", "pause"});
    running.next_member();
    CHECK_EQ(running.child.life().kill(EndedBy::kKill), 0);
    Event killed = running.child.told(EventType::kSettled);
    CHECK_EQ(killed.fields[kSignal], SIGKILL);
    CHECK_EQ(killed.fields[kCause], cause(EndedBy::kKill));
    CHECK(group_gone(running.child.pid()));

    Family exited({"fork-ignore", "TERM", "100000", "--", "exit", "1"});
    exited.next_member();
    exited.child.exited();
    CHECK_EQ(exited.child.life().kill(EndedBy::kKill), ESRCH);
    Event settled = exited.child.told(EventType::kSettled);
    CHECK_EQ(settled.fields[kCode], 1);
    CHECK_EQ(settled.fields[kCause], cause(EndedBy::kSelf));
    CHECK(group_gone(exited.child.pid()));
  }
}

TEST("members keep their grace after the leader has gone, also while a wait is pending [N-14, M-80]") {
  Subreaper subreaper;
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    Family family(
        {"fork-ignore", "TERM", "100000", "--", "trap", "TERM", "", "0", "--", "text", "up\n", "--", "pause"});
    pid_t member = family.next_member();
    CHECK(family.next_line_is("up"));
    family.child.life().set_waiting(true);
    int64_t asked = now_ms();
    family.child.life().end(EndedBy::kTerminate, term(1000));
    family.child.exited();
    CHECK(!gone(member));
    Event settled = family.child.settled();
    CHECK(now_ms() - asked >= 1000);
    CHECK_EQ(settled.fields[kCode], 0);
    CHECK_EQ(settled.fields[kEscalated], 1);
    CHECK_EQ(settled.fields[kCause], cause(EndedBy::kTerminate));
    CHECK(group_gone(family.child.pid()));
  }
}

TEST("a ladder ends as soon as all are gone, without a kill [N-14, M-79]") {
  Subreaper subreaper;
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    Family family({"fork-pause", "2", "--", "trap", "TERM", "", "7", "--", "text", "up\n", "--", "pause"});
    for (int i = 0; i < 2; i++) family.next_member();
    CHECK(family.next_line_is("up"));
    family.child.life().end(EndedBy::kTerminate, term(100000));
    Event settled = family.child.settled();
    CHECK_EQ(settled.fields[kCode], 7);
    CHECK_EQ(settled.fields[kEscalated], 0);
    CHECK_EQ(settled.fields[kGroupLeft], 0);
  }
}

TEST("a stopped child gets its first signal and acts on it, stopped before or after [N-14, B058]") {
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    Family before({"trap", "TERM", "", "3", "--", "text", "up\n", "--", "pause"});
    CHECK(before.next_line_is("up"));
    send(before.child.pid(), SIGSTOP);
    CHECK(until([&] { return process_state(before.child.pid()) == 'T'; }));
    before.child.life().end(EndedBy::kTerminate, term(100000));
    CHECK_EQ(before.child.settled().fields[kCode], 3);

    Family after({"trap", "TERM", "got\n", "--", "text", "up\n", "--", "trap", "USR1", "", "5", "--", "pause"});
    CHECK(after.next_line_is("up"));
    after.child.life().end(EndedBy::kTerminate, term(100000));
    CHECK(after.next_line_is("got"));
    send(after.child.pid(), SIGSTOP);
    CHECK(until([&] { return process_state(after.child.pid()) != 'T'; }));
    send(after.child.pid(), SIGUSR1);
    Event settled = after.child.settled();
    CHECK(settled.fields[kCode] == 5 || settled.fields[kSignal] == SIGUSR1);
  }
}

TEST("a stopped member gets the first signal and acts on it after the leader has gone [N-14, B058]") {
  Subreaper subreaper;
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    Family family({"fork-pause", "1", "--", "exit"});
    pid_t member = family.next_member();
    family.child.exited();
    send(member, SIGSTOP);
    CHECK(until([&] { return process_state(member) == 'T'; }));
    family.child.life().end(EndedBy::kTerminate, term(100000));
    CHECK_EQ(family.child.settled().fields[kEscalated], 0);
  }
}

TEST("a stopped group is killed without being continued [N-14, M-41]") {
  Family family({"text", "up\n", "--", "pause"});
  CHECK(family.next_line_is("up"));
  send_group(family.child.pid(), SIGSTOP);
  CHECK(until([&] { return process_state(family.child.pid()) == 'T'; }));
  CHECK_EQ(family.child.life().kill(EndedBy::kKill), 0);
  CHECK_EQ(family.child.settled().fields[kSignal], SIGKILL);
}

TEST("of two requests to end that come together the first names the cause and the shorter grace counts [N-14, M-82]") {
  for (bool shorter_first : {true, false}) {
    Family family({"ignore", "TERM", "--", "text", "up\n", "--", "pause"});
    CHECK(family.next_line_is("up"));
    {
      ReactorHeld held;
      family.child.life().end(EndedBy::kTimeout, term(shorter_first ? 30 : 1000000));
      family.child.life().end(EndedBy::kTerminate, term(shorter_first ? 1000000 : 30));
    }
    Event settled = family.child.settled();
    CHECK_EQ(settled.fields[kSignal], SIGKILL);
    CHECK_EQ(settled.fields[kEscalated], 1);
    CHECK_EQ(settled.fields[kCause], cause(EndedBy::kTimeout));
  }
}

TEST("a child that ended by itself keeps its own cause, whoever comes later [N-14]") {
  Family family({"exit", "8"});
  family.child.exited();
  family.child.life().end(EndedBy::kTerminate, term(1000));
  Event settled = family.child.told(EventType::kSettled);
  CHECK_EQ(settled.fields[kCode], 8);
  CHECK_EQ(settled.fields[kCause], cause(EndedBy::kSelf));
  CHECK_EQ(settled.fields[kEscalated], 0);
}

TEST("a child can join a group whose leader exits meanwhile, because its number is held [N-14, P-6]") {
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    Family leader({"trap", "TERM", "", "0", "--", "text", "up\n", "--", "pause"});
    CHECK(leader.next_line_is("up"));
    SpawnRequest request = fixture_request({"pause"});
    request.group = GroupMode::kJoin;
    request.delay_before_exec_ms = 1000;
    Child joining(std::move(request), {}, {}, leader.child.life_ref());
    CHECK(until([&] { return children_of(getpid()).size() == 2; }));
    leader.child.life().set_waiting(true);
    send(leader.child.pid(), SIGTERM);
    leader.child.exited();
    pass_reactor();
    CHECK_EQ(process_state(leader.child.pid()), 'Z');
    CHECK(joining.started());
    leader.child.life().set_waiting(false);
    // The newcomer is a member like any other: the owner of the group settles it.
    CHECK_EQ(leader.child.settled().fields[kGroupLeft], 1);
    CHECK_EQ(joining.settled().fields[kSignal], SIGKILL);
  }
}

TEST("an end that is asked for while the start is being told is not lost [N-14, P-5]") {
  for (const TestHooks& hooks_wanted : group_paths()) {
    HooksInForce hooks(hooks_wanted);
    Ref<Listener> listener(new Listener);
    listener->when_started = [](Lifecycle& life) {
      life.end(EndedBy::kTerminate, term(100));
      pass_reactor();
    };
    Ref<Start> start(new Start(1, listener.get(), fixture_request({"pause"}), {}, {}, {}));
    CHECK(!start->submit());
    CHECK(until([&] { return listener->heard(EventType::kSettled); }));
    start = {};
    CHECK(until([&] {
      listener->forget_child();
      return listener->holders() == 0;
    }));
  }
}
