// How a child's end is seen, and by whom else.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "child_case.h"
#include "harness.h"
#include "host_case.h"
#include "process_table.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

struct WaitPath {
  const char* name;
  TestHooks hooks;
};

// By pidfd as this kernel has it, as an older one, and by a waiter thread.
std::vector<WaitPath> wait_paths() {
  TestHooks older, none;
  older.no_group_pidfd = older.no_exit_info = true;
  none.no_pidfd = true;
  return {{"pidfd", {}}, {"older pidfd", older}, {"no pidfd", none}};
}

bool keeps_exit_info() { return capabilities().pidfd_exit_info; }

Event settled_of(const std::vector<std::string>& verbs) {
  Child child(fixture_request(verbs));
  CHECK(child.started());
  return child.settled();
}

}  // namespace

TEST("an exit code and a signal are told as they were, and usage with them [N-13, P-8]") {
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    for (int code : {0, 1, 127, 255}) {
      Event settled = settled_of({"exit", std::to_string(code)});
      CHECK_EQ(settled.fields[kCode], code);
      CHECK_EQ(settled.fields[kSignal], 0);
      CHECK_EQ(settled.fields[kKnown], 1);
      CHECK_EQ(settled.fields[kCause], static_cast<double>(EndedBy::kSelf));
    }
    for (int signal : {SIGKILL, SIGTERM, 40}) {
      Event settled = settled_of({"raise", std::to_string(signal)});
      CHECK_EQ(settled.fields[kSignal], signal);
      CHECK_EQ(settled.fields[kCause], static_cast<double>(EndedBy::kSelf));
    }
    Event busy = settled_of({"busy", "60"});
    CHECK_EQ(busy.fields[kUsageKnown], 1);
    CHECK(busy.fields[8] + busy.fields[9] >= 50000);  // microseconds in user and system mode
  }
}

TEST("the core dump flag is the one that the kernel gives [N-13]") {
  ScratchDirectory scratch;
  auto request = [&] {
    SpawnRequest made = fixture_request({"abort-core"});
    made.has_cwd = true;
    made.cwd = scratch.path();
    made.limits = {{RLIMIT_CORE, 0, RLIM_INFINITY}};
    return made;
  };
  Spawned control = start_now(request());
  CHECK(!control.error);
  int word = reap(control);
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    Child child(request());
    CHECK(child.started());
    Event settled = child.settled();
    CHECK_EQ(settled.fields[kSignal], SIGABRT);
    CHECK_EQ(settled.fields[kCore], static_cast<double>(WCOREDUMP(word) != 0));
  }
}

TEST("the exit is told while the number is still held, and reaped only when the end is wanted [N-13, P-6]") {
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    Child child(fixture_request({"exit", "5"}));
    CHECK(child.started());
    Event exited = child.exited();
    CHECK_EQ(exited.fields[0], 5);
    CHECK_EQ(process_state(child.pid()), 'Z');
    CHECK(!child.listener().heard(EventType::kSettled));
    CHECK_EQ(child.life().signal_leader(SIGTERM), ESRCH);
    child.settled();
    CHECK_EQ(process_state(child.pid()), 0);
    CHECK_EQ(child.listener().count(EventType::kExited), 1);
    CHECK_EQ(child.listener().count(EventType::kSettled), 1);
  }
}

TEST("a child that has exited before anybody watches is told all the same [N-13, B067]") {
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    Ref<Listener> listener(new Listener);
    {
      Spawned spawned = start_now(fixture_request({"exit", "9"}));
      pid_t pid = spawned.pid;
      CHECK(until([&] { return process_state(pid) == 'Z'; }));
      Ref<Process> process(new Process(pid, std::move(spawned.pidfd), true, 0, capabilities().pidfd_group_signal,
                                       capabilities().pidfd_exit_info));
      Ref<Lifecycle> life(new Lifecycle(1, listener.get(), process, {}, {}, {}, 0));
      CHECK(!life->begin(reactor(), {}, {}, Event{EventType::kStarted, 1, {}}));
      life->set_waiting(true);
      CHECK(until([&] { return listener->heard(EventType::kSettled); }));
    }
    Event settled = {};
    listener->heard(EventType::kSettled, &settled);
    CHECK_EQ(settled.fields[kCode], 9);
    CHECK(until([&] {
      listener->forget_child();
      return listener->holders() == 0;
    }));
  }
}

TEST("a child that is stopped and continued has not exited [N-13]") {
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    Child child(fixture_request({"trap", "TERM", "", "4", "--", "pause"}));
    CHECK(child.started());
    for (int round = 0; round < 3; round++) {
      send(child.pid(), SIGSTOP);
      CHECK(until([&] { return process_state(child.pid()) == 'T'; }));
      send(child.pid(), SIGCONT);
      CHECK(until([&] { return process_state(child.pid()) != 'T'; }));
    }
    child.life().set_waiting(true);
    pass_reactor();
    CHECK(!child.listener().heard(EventType::kExited));
    // Before the handler is there TERM would just end it.
    std::string status = "/proc/" + std::to_string(child.pid()) + "/status";
    CHECK(until([&] { return read_file(status).find("SigCgt:\t0000000000004000") != std::string::npos; }));
    CHECK_EQ(child.life().signal_leader(SIGTERM), 0);
    CHECK_EQ(child.settled().fields[kCode], 4);
    child.life().set_waiting(false);
  }
}

HOST("first-thread-exits") {
  pthread_t second;
  pthread_create(&second, nullptr, [](void*) -> void* {
    until([] { return read_file("/proc/self/stat").find(") Z") != std::string::npos; });
    _exit(6);
  }, nullptr);
  syscall(SYS_exit, 0);
  return 0;
}

TEST("a leader whose first thread exits first has not exited [N-13]") {
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    Child child(request_for(program_beside("native_test"), {"--host", "first-thread-exits"}));
    CHECK(child.started());
    Event settled = child.settled();
    CHECK_EQ(settled.fields[kCode], 6);
  }
}

// Another library of the process that waits for any child [B065]. It takes the status before the reactor looks.
TEST("a stolen status is recovered where the kernel keeps it, and else told as unknown [N-13, B065]") {
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    bool recovered = path.hooks.no_pidfd || path.hooks.no_exit_info ? false : keeps_exit_info();
    SpawnRequest request = fixture_request({"read-to-eof", "0", "--", "exit", "33"});
    Pipe pipe;
    CHECK(!make_pipe(&pipe));
    give(&request, 0, std::move(pipe.read_end));
    Child child(std::move(request));
    CHECK(child.started());
    {
      ReactorHeld held;
      pipe.write_end.reset();
      int word = 0;
      CHECK_EQ(waitpid(child.pid(), &word, 0), child.pid());
      CHECK_EQ(WEXITSTATUS(word), 33);
    }
    Event settled = child.settled();
    CHECK_EQ(settled.fields[kKnown], recovered);
    CHECK_EQ(settled.fields[kCode], recovered ? 33 : 0);
    CHECK_EQ(settled.fields[kCause], static_cast<double>(recovered ? EndedBy::kSelf : EndedBy::kUnknown));
    CHECK_EQ(settled.fields[kUsageKnown], 0);
    CHECK_EQ(child.life().signal_group(SIGKILL), ESRCH);
  }
}

TEST("beside a thread that reaps every child, starts and waits still end [N-13, B065, P-10]") {
  static std::atomic<bool> over;
  over = false;
  pthread_t thief;
  pthread_create(&thief, nullptr, [](void*) -> void* {
    while (!over.load()) {
      if (waitpid(-1, nullptr, WNOHANG) <= 0) usleep(100);
    }
    return nullptr;
  }, nullptr);
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    for (int round = 0; round < 20; round++) {
      Event settled = settled_of({"exit", "33"});
      if (settled.fields[kKnown] == 1) CHECK_EQ(settled.fields[kCode], 33);
      Child failed(request_for("/no/such/program"));
      CHECK_EQ(failed.failure().fields[2], ENOENT);
    }
  }
  over = true;
  pthread_join(thief, nullptr);
}

TEST("with SIGCHLD ignored by the host every wait ends, and the status is kept or unknown [N-13, B065, P-10]") {
  struct sigaction ignore = {}, before;
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    bool recovered = path.hooks.no_pidfd || path.hooks.no_exit_info ? false : keeps_exit_info();
    Event settled = settled_of({"exit", "33"});
    CHECK_EQ(settled.fields[kKnown], recovered);
    if (recovered) CHECK_EQ(settled.fields[kCode], 33);
    Child killed(fixture_request({"pause"}));
    CHECK(killed.started());
    CHECK_EQ(killed.life().kill(EndedBy::kKill), 0);
    killed.settled();
    Child failed(request_for("/no/such/program"));
    CHECK_EQ(failed.failure().fields[2], ENOENT);
  }
  sigaction(SIGCHLD, &before, nullptr);
}

TEST("a dropped child is killed and reaped without anybody waiting [N-13, B068, P-7]") {
  for (const WaitPath& path : wait_paths()) {
    HooksInForce hooks(path.hooks);
    Child child(fixture_request({"fork-pause", "2", "--", "pause"}));
    CHECK(child.started());
    child.life().drop();
    Event settled = child.told(EventType::kSettled);
    CHECK_EQ(settled.fields[kSignal], SIGKILL);
    CHECK_EQ(settled.fields[kCause], static_cast<double>(EndedBy::kDrop));
    CHECK(group_gone(child.pid()));
  }
}

TEST("a detached child that is dropped goes on, and is reaped when it has exited by itself [N-13, P-7]") {
  SpawnRequest request = fixture_request({"read-to-eof", "0"});
  Pipe pipe;
  CHECK(!make_pipe(&pipe));
  give(&request, 0, std::move(pipe.read_end));
  request.parent_death_signal = false;
  LifecycleOptions options;
  options.owned = false;
  Child child(std::move(request), options);
  CHECK(child.started());
  child.life().drop();
  pass_reactor();
  CHECK(!child.listener().heard(EventType::kExited));
  pipe.write_end.reset();
  Event settled = child.told(EventType::kSettled);
  CHECK_EQ(settled.fields[kSignal], 0);
  CHECK_EQ(settled.fields[kCause], static_cast<double>(EndedBy::kSelf));
}

TEST("thirty timeouts beside thirty exits leave no wait behind [N-13, P-5]") {
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 60; i++) {
    LifecycleOptions options;
    options.timeout_ms = i % 2 == 0 ? 20 + i : 100000;
    options.timeout_ladder = {SIGTERM, 100, 1000};
    children.push_back(std::make_unique<Child>(fixture_request(i % 2 == 0 ? std::vector<std::string>{"pause"}
                                                                          : std::vector<std::string>{"exit", "3"}),
                                               options));
  }
  for (size_t i = 0; i < children.size(); i++) {
    CHECK(children[i]->started());
    Event settled = children[i]->settled();
    CHECK_EQ(settled.fields[kCause], static_cast<double>(i % 2 == 0 ? EndedBy::kTimeout : EndedBy::kSelf));
    CHECK_EQ(settled.fields[kCode], i % 2 == 0 ? 0 : 3);
  }
}
