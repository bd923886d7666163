// Whatever the host was launched with, its child is the same; and whatever the host starts, the host is the same.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "host_case.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

// Where the audited host answers: 0, 1 and 2 may be closed.
constexpr int kAnswer = 20;

// What is compared: all facts that do not name this one child. Descriptors without their inodes, and nothing that is
// read from /proc.
std::string comparable(const std::string& audit) {
  std::string facts;
  for (const auto& [number, fd] : audit_fds(audit)) {
    facts += std::to_string(number) + ":" + std::to_string(fd.fd_flags) + ":" + std::to_string(fd.status_flags) + " ";
  }
  size_t from = audit.find(",\"sigmask\"");
  return facts + audit.substr(from, audit.find(",\"cgroup\"") - from) + "\n";
}

}  // namespace

HOST("audited-child") {
  for (const StartPath& path : start_paths()) {
    set_test_hooks(path.hooks);
    SpawnRequest request = request_for(args[0], {"audit", "1", "4096"});
    request.has_cwd = true;
    request.cwd = "/tmp";
    UniqueFd output = give_pipe(&request, 1);
    Spawned spawned = start_now(std::move(request));
    std::string line = spawned.error ? "stage " + std::to_string(static_cast<int>(spawned.error.stage))
                                     : comparable(read_to_end(output.get()));
    if (spawned.pid > 0) waitpid(spawned.pid, nullptr, 0);
    if (write(kAnswer, line.data(), line.size()) < 0) return 1;
  }
  return 0;
}

namespace {

std::string audited_by(const std::function<void()>& launcher) {
  HostSetting setting;
  setting.prepare = [&] {
    dup2(1, kAnswer);
    launcher();
  };
  return Host("audited-child", {program_beside("fixture_child")}, setting).report();
}

}  // namespace

TEST("a child is the same whatever its host was launched with [N-5, B004, B009, B055, P-1]") {
  std::string plain = audited_by([] {});
  CHECK(plain.find("0:0:") == 0);
  const char* clean = "\"sigmask\":\"0000000000000000\",\"ignored\":[],\"handled\":[],\"umask\":63,";
  CHECK(plain.find(clean) != std::string::npos);

  CHECK_EQ(audited_by([] {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    signal(40, SIG_IGN);
  }), plain);
  CHECK_EQ(audited_by([] {
    unsigned long odd = 0x5555555555555555;  // 33 is among them, which libc keeps for itself
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &odd, nullptr, sizeof odd);
  }), plain);
  CHECK_EQ(audited_by([] { umask(0); }), plain);
  CHECK_EQ(audited_by([] {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &limit);
  }), plain);
  CHECK_EQ(audited_by([] {
    for (int stray : {5, 77, 251, 900}) dup2(1, stray);
  }), plain);
  CHECK_EQ(audited_by([] {
    for (int number : {0, 1, 2}) close(number);
  }), plain);
  CHECK_EQ(audited_by([] {
    close(0);
    close(2);
  }), plain);
}

TEST("a child is the same where /proc is not mounted [N-5, B012]") {
  if (geteuid() != 0) return cannot_run("only the superuser can take /proc away");
  CHECK_EQ(audited_by([] {
    dup2(1, 900);
    // The binary of the host is named by its path, and this one's name comes from /proc.
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/proc", "tmpfs", 0, nullptr) != 0) {
      _exit(126);
    }
  }), audited_by([] {}));
}

namespace {

struct Everything {
  std::string facts;
  bool operator==(const Everything& other) const { return facts == other.facts; }
};

Everything everything() {
  Everything now;
  auto add = [&](const char* name, long long value) { now.facts += name + (" " + std::to_string(value)) + "\n"; };
  add("dumpable", prctl(PR_GET_DUMPABLE));
  add("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  add("thp", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
  add("pdeathsig", [] {
    int signal = 0;
    prctl(PR_GET_PDEATHSIG, &signal);
    return signal;
  }());
  char cwd[4096];
  now.facts += getcwd(cwd, sizeof cwd) != nullptr ? cwd : "none";
  mode_t mask = umask(0);
  umask(mask);
  add("\numask", mask);
  add("nice", getpriority(PRIO_PROCESS, 0));
  add("uid", geteuid());
  add("pgid", getpgrp());
  for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
    struct rlimit limit;
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    add("soft", static_cast<long long>(limit.rlim_cur));
    add("hard", static_cast<long long>(limit.rlim_max));
  }
  unsigned long blocked = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, sizeof blocked);
  add("mask", static_cast<long long>(blocked));
  for (int signal = 1; signal <= 64; signal++) {
    unsigned long action[16] = {};
    syscall(SYS_rt_sigaction, signal, nullptr, action, 8);
    add("handler", static_cast<long long>(action[0]));
  }
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  add("cpus", CPU_COUNT(&cpus));
  for (int fd : own_fds()) {
    add("fd", fd);
    add("flags", fcntl(fd, F_GETFD));
  }
  return now;
}

// Changes in the child everything that a start can change.
SpawnRequest demanding_request(const char* program) {
  SpawnRequest request = request_for(program, {"exit", "0"});
  request.has_cwd = true;
  request.cwd = "/";
  request.umask = 0;
  request.group = GroupMode::kSession;
  request.has_nice = true;
  request.nice = 5;
  request.affinity = {1};
  request.limits = {{RLIMIT_CORE, 0, 0}, {RLIMIT_NOFILE, 50, 50}, {RLIMIT_CPU, 1000, 1000}};
  request.no_new_privs = true;
  request.guard = true;
  capture(&request, 1, 10, 10);
  give_null(&request, 300);
  return request;
}

}  // namespace

TEST("200 starts of each kind, failures included, leave the host as it was [N-12, P-10, B010, B097]") {
  std::string good = program_beside("fixture_child");
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    Everything before = everything();
    for (int round = 0; round < 200; round++) {
      bool fails = round % 2 == 0;
      SpawnRequest request = demanding_request(fails ? "/no/such/program" : good.c_str());
      if (geteuid() == 0 && round % 20 == 1) {
        request.has_uid = request.has_gid = request.has_groups = true;
        request.uid = request.gid = kNobodyId;
      }
      errno = 0;
      Spawned spawned = start_now(std::move(request));
      CHECK_EQ(spawned.error.failed(), fails);
      if (spawned.pid > 0) CHECK_EQ(reap(spawned), 0);
    }
    Everything after = everything();
    CHECK_EQ(after.facts, before.facts);
  }
}

namespace {

std::atomic<int> handled{0};
std::atomic<int> handled_elsewhere{0};
pid_t host_pid;

void on_storm(int) {
  (syscall(SYS_getpid) == host_pid ? handled : handled_elsewhere).fetch_add(1);
}

}  // namespace

// A handler that ran in a child would write to the host's memory: the two share it until exec [docs/native.md T4].
HOST("signal-storm") {
  host_pid = getpid();
  for (int signal : {SIGUSR1, SIGPROF, SIGWINCH}) {
    struct sigaction action = {};
    action.sa_handler = on_storm;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
  itimerval often = {{0, 500}, {0, 500}};
  setitimer(ITIMER_PROF, &often, nullptr);
  static std::atomic<bool> over{false};
  pthread_t storm;
  pthread_create(&storm, nullptr, [](void*) -> void* {
    unsigned long every = ~0UL;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every, nullptr, sizeof every);
    while (!over.load()) {
      send(host_pid, SIGUSR1);
      for (pid_t child : children_of(host_pid)) send(child, SIGWINCH);
    }
    return nullptr;
  }, nullptr);
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    for (int round = 0; round < 40; round++) {
      SpawnRequest request = fixture_request({});
      request.delay_before_exec_ms = 5;
      Spawned spawned = start_now(std::move(request));
      CHECK(!spawned.error);
      reap(spawned);
    }
  }
  over = true;
  pthread_join(storm, nullptr);
  CHECK(handled.load() > 0);
  CHECK_EQ(handled_elsewhere.load(), 0);
  return 0;
}

TEST("a storm of signals at host and child never runs a handler of the host in the child [N-10]") {
  CHECK_EQ(Host("signal-storm").report(), "");
}
