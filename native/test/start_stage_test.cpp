// Every stage of a start fails once, names itself, and leaves nothing behind.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

bool no_child_at_all() { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

// The failure of a start on one path; afterwards there is no child, no zombie, no guard and no descriptor of it.
void check_fails(const std::function<SpawnRequest()>& make, Stage stage, Syscall syscall, int errnum, int index = -1) {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    std::vector<int> before = own_fds();
    Spawned spawned = start_now(make());
    bool as_said = spawned.error.stage == stage && spawned.error.syscall == syscall &&
                   spawned.error.errnum == errnum && spawned.error.index == index;
    if (!as_said) {
      std::printf("  %s: stage %d syscall %d errno %d index %d\n", path.name, static_cast<int>(spawned.error.stage),
                  static_cast<int>(spawned.error.syscall), spawned.error.errnum, spawned.error.index);
    }
    CHECK(as_said);
    CHECK_EQ(spawned.pid, -1);
    CHECK(no_child_at_all());
    CHECK(own_fds() == before);
  }
}

SpawnRequest guarded() {
  SpawnRequest request = fixture_request({"pause"});
  request.guard = true;
  return request;
}

std::function<SpawnRequest()> in_directory(const std::string& cwd) {
  return [cwd] {
    SpawnRequest request = guarded();
    request.has_cwd = true;
    request.cwd = cwd;
    return request;
  };
}

std::function<SpawnRequest()> program(const std::string& path) {
  return [path] {
    SpawnRequest request = request_for(path, {"x"});
    request.guard = true;
    return request;
  };
}

std::function<SpawnRequest()> with(const std::function<void(SpawnRequest*)>& change) {
  return [change] {
    SpawnRequest request = guarded();
    change(&request);
    return request;
  };
}

// The one process that is born between two looks.
pid_t newborn() {
  pid_t pid = 0;
  CHECK(until([&] {
    std::vector<pid_t> children = children_of(getpid());
    if (children.size() == 1 && getpgid(children[0]) == children[0]) pid = children[0];
    return pid != 0;
  }));
  return pid;
}

void check_exec_fails(const std::string& path, int errnum) {
  check_fails(program(path), Stage::kExec, Syscall::kExecve, errnum, 0);
}

}  // namespace

TEST("a bad working directory is a failure of chdir, not of the program [N-6, B019]") {
  ScratchDirectory scratch;
  check_fails(in_directory(scratch / "absent"), Stage::kChdir, Syscall::kChdir, ENOENT);
  check_fails(in_directory(scratch.file("file", "", 0644)), Stage::kChdir, Syscall::kChdir, ENOTDIR);
}

TEST("each reason not to execute a file is told as the kernel's own [N-6, B020, B030]") {
  ScratchDirectory scratch;
  check_exec_fails(scratch / "absent", ENOENT);
  check_exec_fails(scratch.file("plain", "x", 0644), EACCES);
  check_exec_fails(scratch.path(), EACCES);
  check_exec_fails(scratch.file("no-magic", "echo hello\n", 0755), ENOEXEC);
  check_exec_fails(scratch.file("no-interpreter", "#!/no/such/interpreter\n", 0755), ENOENT);
  check_exec_fails((scratch / "plain") + "/below", ENOTDIR);
  check_exec_fails(scratch.path() + "/" + std::string(300, 'n'), ENAMETOOLONG);
  CHECK_EQ(symlink("loop", (scratch / "loop").c_str()), 0);
  check_exec_fails(scratch / "loop", ELOOP);
}

TEST("one argument of 131072 bytes with its NUL is E2BIG, one byte less runs [N-6, B022]") {
  auto with_argument = [](size_t length) {
    return [length] { return fixture_request({"exit", "0", std::string(length, 'a')}); };
  };
  check_fails(with_argument(131072), Stage::kExec, Syscall::kExecve, E2BIG, 0);
  Spawned spawned = start_now(with_argument(131071)());
  CHECK(!spawned.error);
  CHECK_EQ(reap(spawned), 0);
}

TEST("a program that stays open for writing is ETXTBSY, one that is closed soon runs [N-6, B020]") {
  ScratchDirectory scratch;
  std::string copy = scratch.file("busy", read_file(program_beside("fixture_child")), 0755);
  UniqueFd writer(open(copy.c_str(), O_WRONLY | O_CLOEXEC));
  check_exec_fails(copy, ETXTBSY);
  writer.reset();
  Spawned spawned = start_now(request_for(copy));
  CHECK(!spawned.error);
  CHECK_EQ(reap(spawned), 0);
}

TEST("a program that is open for writing until the second attempt runs [N-6, B020]") {
  ScratchDirectory scratch;
  std::string copy = scratch.file("busy", read_file(program_beside("fixture_child")), 0755);
  UniqueFd writer(open(copy.c_str(), O_WRONLY | O_CLOEXEC));
  SpawnRequest request = request_for(copy, {"exit", "6"});
  request.delay_before_exec_ms = 100;
  Child child(std::move(request));
  pid_t first = newborn();
  CHECK(until([&] { return newborn() != first; }));
  writer.reset();
  CHECK(child.started());
  CHECK_EQ(child.settled().fields[kCode], 6);
}

TEST("a limit that is no limit fails with its place in the list [N-6]") {
  check_fails(with([](SpawnRequest* request) {
    request->limits = {{RLIMIT_CORE, 0, 0}, {RLIMIT_FSIZE, 2, 1}};
  }), Stage::kRlimit, Syscall::kPrlimit, EINVAL, 1);
  check_fails(with([](SpawnRequest* request) { request->limits = {{99, 1, 1}}; }), Stage::kRlimit, Syscall::kPrlimit,
              EINVAL, 0);
}

TEST("an affinity without any processor of this machine is EINVAL [N-6]") {
  check_fails(with([](SpawnRequest* request) {
    request->affinity = std::vector<unsigned long>(16, 0);
    request->affinity.back() = 1UL << 63;
  }), Stage::kAffinity, Syscall::kSchedSetaffinity, EINVAL);
}

TEST("a cgroup that does not exist is a failure of the cgroup stage [N-6]") {
  check_fails(with([](SpawnRequest* request) { request->cgroup_leaf = "/no/such/leaf"; }), Stage::kCgroup,
              Syscall::kOpen, ENOENT);
}

TEST("a group in another session cannot be joined, one whose leader has exited neither [N-6, B072]") {
  SpawnRequest request = fixture_request({"pause"});
  request.group = GroupMode::kSession;
  Spawned leader = start_now(std::move(request));
  CHECK(!leader.error);
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    SpawnRequest joining = fixture_request({"pause"});
    joining.group = GroupMode::kJoin;
    Spawned spawned = start_now(std::move(joining), leader.pid);
    CHECK(spawned.error.stage == Stage::kSetpgid);
    CHECK_EQ(spawned.error.errnum, EPERM);
  }
  send(leader.pid, SIGKILL);
  reap(leader);

  Child exited(fixture_request({"exit"}));
  CHECK(exited.started());
  exited.exited();
  SpawnRequest late = fixture_request({"pause"});
  late.group = GroupMode::kJoin;
  Child joining(std::move(late), {}, {}, exited.life_ref());
  Event failure = joining.failure();
  CHECK_EQ(failure.fields[0], static_cast<double>(Stage::kSetpgid));
  CHECK_EQ(failure.fields[2], ESRCH);
}

HOST("stages-without-rights") {
  ScratchDirectory scratch;
  CHECK_EQ(mkdir((scratch / "closed").c_str(), 0), 0);
  check_fails(in_directory(scratch / "closed"), Stage::kChdir, Syscall::kChdir, EACCES);
  check_exec_fails((scratch / "closed") + "/program", EACCES);
  check_exec_fails(scratch.file("unreadable", "x", 0), EACCES);
  check_fails(with([](SpawnRequest* request) { request->has_nice = true, request->nice = -5; }), Stage::kPriority,
              Syscall::kSetpriority, EACCES);
  check_fails(with([](SpawnRequest* request) { request->limits = {{RLIMIT_NOFILE, 1 << 30, 1 << 30}}; }),
              Stage::kRlimit, Syscall::kPrlimit, EPERM, 0);
  check_fails(with([](SpawnRequest* request) { request->has_groups = true, request->groups = {0}; }), Stage::kGroups,
              Syscall::kSetgroups, EPERM);
  check_fails(with([](SpawnRequest* request) { request->has_gid = true; }), Stage::kGid, Syscall::kSetresgid, EPERM);
  check_fails(with([](SpawnRequest* request) { request->has_uid = true; }), Stage::kUid, Syscall::kSetresuid, EPERM);

  struct rlimit no_process = {0, 0};
  setrlimit(RLIMIT_NPROC, &no_process);
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    Spawned spawned = start_now(fixture_request({}));
    CHECK(spawned.error.stage == Stage::kClone);
    CHECK_EQ(spawned.error.errnum, EAGAIN);
  }
  return 0;
}

TEST("what needs a right that the host lacks fails at its own stage [N-6]") {
  CHECK_EQ(Host("stages-without-rights", {}, {drop_privileges, {}}).report(), "");
}

namespace {

// Not an errno that any of these calls gives by itself.
constexpr int kOdd = EPROTONOSUPPORT;

struct DeniedCall {
  const char* name;
  long number;
  Stage stage;
  Syscall syscall;
  int index;
  void (*change)(SpawnRequest*);
};

// Stages that no argument of a caller can make fail: a new process is never a group's leader, every source is held
// open by the host until the child has its copy, and so on. A filter of system calls can.
const DeniedCall denied_calls[] = {
    {"setsid", SYS_setsid, Stage::kSetsid, Syscall::kSetsid, -1,
     [](SpawnRequest* request) { request->group = GroupMode::kSession; }},
    {"setpgid", SYS_setpgid, Stage::kSetpgid, Syscall::kSetpgid, -1, [](SpawnRequest*) {}},
    {"dup3", SYS_dup3, Stage::kDupFd, Syscall::kDup3, 0, [](SpawnRequest*) {}},
    {"prctl", SYS_prctl, Stage::kPdeathsig, Syscall::kPrctl, -1, [](SpawnRequest*) {}},
    {"prctl-privileges", SYS_prctl, Stage::kNoNewPrivs, Syscall::kPrctl, -1,
     [](SpawnRequest* request) { request->no_new_privs = true, request->parent_death_signal = false; }},
    {"setpriority", SYS_setpriority, Stage::kPriority, Syscall::kSetpriority, -1,
     [](SpawnRequest* request) { request->has_nice = true; }},
    {"rt_sigprocmask", SYS_rt_sigprocmask, Stage::kSigmask, Syscall::kRtSigprocmask, -1, [](SpawnRequest*) {}},
};

}  // namespace

HOST("one-denied-call") {
  for (const DeniedCall& call : denied_calls) {
    if (args[0] != call.name) continue;
    check_fails([&] {
      SpawnRequest request = fixture_request({"pause"});
      call.change(&request);
      return request;
    }, call.stage, call.syscall, kOdd, call.index);
  }
  return 0;
}

TEST("a stage that cannot fail by itself is reported when a filter of system calls makes it fail [N-6]") {
  for (const DeniedCall& call : denied_calls) {
    HostSetting setting;
    setting.under = {program_beside("fixture_denysys"), "E" + std::to_string(kOdd), std::to_string(call.number), "--"};
    CHECK_EQ(Host("one-denied-call", {call.name}, setting).report(), "");
  }
}

HOST("guard-denied") {
  for (bool shell : {false, true}) {
    for (StartPath path : start_paths()) {
      path.hooks.no_memfd_exec = shell;
      HooksInForce hooks(path.hooks);
      Spawned spawned = start_now(guarded());
      CHECK(spawned.error.stage == Stage::kClone);
      CHECK_EQ(spawned.error.errnum, kOdd);
      CHECK(no_child_at_all());
    }
  }
  return 0;
}

TEST("a guard that cannot be made fails the start and leaves neither guard nor child [N-6, P-2]") {
  HostSetting setting;
  setting.under = {program_beside("fixture_denysys"), "E" + std::to_string(kOdd), std::to_string(SYS_dup3), "--"};
  CHECK_EQ(Host("guard-denied", {}, setting).report(), "");
}

namespace {

SpawnRequest delayed(int ms) {
  SpawnRequest request = fixture_request({"exit", "7"});
  request.delay_before_exec_ms = ms;
  return request;
}

}  // namespace

TEST("a child killed before exec is told as that, with its signal, and never ran [N-9, P-2]") {
  ScratchDirectory scratch;
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    for (int signal : {SIGKILL, SIGTERM}) {
      // All signals are blocked until right before exec: the polite one is acted on when the delay is over.
      SpawnRequest request = delayed(signal == SIGKILL ? 60000 : 600);
      request.args = string_block({"child", "marker", scratch / "ran"});
      Child child(std::move(request));
      pid_t pid = newborn();
      CHECK(signal == SIGKILL ? send(pid, signal) : send_group(pid, signal));
      Event failure = child.failure();
      CHECK_EQ(failure.fields[0], static_cast<double>(Stage::kKilledBeforeExec));
      CHECK_EQ(failure.fields[4], signal);
      CHECK(access((scratch / "ran").c_str(), F_OK) != 0);
    }
  }
}

TEST("a child stopped and continued before exec starts all the same [N-9]") {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    Child child(delayed(600));
    pid_t pid = newborn();
    send(pid, SIGSTOP);
    CHECK(until([&] { return process_state(pid) == 'T'; }));
    CHECK(!child.listener().heard(EventType::kStarted));
    send(pid, SIGCONT);
    CHECK(child.started());
    CHECK_EQ(child.settled().fields[kCode], 7);
  }
}

TEST("a start that is cancelled before its turn makes nothing, one under way is killed [N-9, P-2]") {
  std::atomic<bool> cancelled{true};
  SpawnRequest request = fixture_request({});
  Spawned spawned = spawn(&request, 0, cancelled);
  CHECK(spawned.error.stage == Stage::kClone);
  CHECK_EQ(spawned.error.errnum, ECANCELED);

  ScratchDirectory scratch;
  {
    SpawnRequest late = delayed(600);
    Child child(std::move(late));
    pid_t pid = newborn();
    child.start().cancel();
    CHECK(until([&] { return process_state(pid) == 0; }));
    CHECK(!child.listener().heard(EventType::kStarted));
  }
}
