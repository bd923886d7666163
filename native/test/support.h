// What the cases of the spawn core share: requests for the fixture program, the facts it prints, started children and
// what is told of them, and hosts, which are processes of their own that a case may kill.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capabilities.h"
#include "event.h"
#include "lifecycle.h"
#include "spawn.h"
#include "start.h"
#include "sync.h"

namespace exactspawn::test {

// The case cannot run on this machine. Where CI is set that is a failure.
void cannot_run(const char* why);

// Looks again every millisecond until `fact` holds; false when that takes absurdly long.
bool until(const std::function<bool()>& fact);

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

// The children of a process that have not exited.
std::vector<pid_t> children_of(pid_t parent);
// No process of that number, or only what is left of one until its parent looks.
bool gone(pid_t pid);
bool group_gone(pid_t pgid);

// --- children with a life

// Hears everything that is told to one environment. Counted: a native object that forgets to let go shows.
class Listener final : public Counted<Listener>, public EventSink {
 public:
  void emit(const Event& event) override;
  void adopt(uint32_t id, Lifecycle* child) override;
  void retain_sink() override;
  void release_sink() override;

  // The first one of that type, and the last one.
  bool heard(EventType type, Event* out = nullptr);
  bool last(EventType type, Event* out);
  int count(EventType type);
  Ref<Lifecycle> child();
  void forget_child();
  int holders() const { return holders_.load(); }
  // Called on the spawner thread while it tells the start.
  std::function<void(Lifecycle&)> when_started;

 private:
  friend class Counted<Listener>;
  ~Listener() = default;

  Mutex mutex_;
  std::vector<Event> events_;
  Ref<Lifecycle> child_;
  std::atomic<int> holders_{0};
};

// One child from its request to its settled end. When it goes, the child is ended and nothing may hold it any more.
class Child {
 public:
  explicit Child(SpawnRequest request, LifecycleOptions options = {}, std::vector<std::string> secrets = {},
                 Ref<Lifecycle> join = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Whether the program runs. Waits for the answer.
  bool started();
  pid_t pid() const { return pid_; }
  Lifecycle& life() { return *life_; }
  const Ref<Lifecycle>& life_ref() const { return life_; }
  Listener& listener() { return *listener_; }
  Start& start() { return *start_; }
  Event failure();

  // Waits until it is told; fails the case when it is not.
  Event told(EventType type);
  Event exited() { return told(EventType::kExited); }
  // As wait() does: it settles.
  Event settled();
  std::string log(int target);

 private:
  Ref<Listener> listener_;
  Ref<Start> start_;
  Ref<Lifecycle> life_;
  pid_t pid_ = -1;
};

Reactor* reactor();

// Fields of kSettled, in the order of lifecycle_end.cpp.
enum SettledField { kCode, kSignal, kCore, kKnown, kCause, kEscalated, kGroupLeft, kUsageKnown };

// --- hosts

// A program of this binary that is run as a process of its own: HOST("name") { ...args... }
struct HostProgram {
  const char* name;
  int (*body)(const std::vector<std::string>& args);
  HostProgram* next;
  HostProgram(const char* name, int (*body)(const std::vector<std::string>& args));
};

struct HostSetting {
  // Run between fork and exec: what a launcher does to a process.
  std::function<void()> prepare;
  // A program and its arguments that run the host: fixture_denysys.
  std::vector<std::string> under;
};

// Its standard output is a pipe to us.
class Host {
 public:
  explicit Host(const char* name, const std::vector<std::string>& args = {}, const HostSetting& setting = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  pid_t pid() const { return pid_; }
  int output() const { return output_.get(); }
  void kill_now();
  // Its exit code, or -1 for a signal.
  int wait();
  // All that it printed until its end. A host says nothing when its checks hold.
  std::string report();

 private:
  pid_t pid_ = -1;
  UniqueFd output_;
};

// For HostSetting::prepare. The user without rights, and nothing but its own files.
constexpr uid_t kNobodyId = 65534;
void drop_privileges();

// Holds the reactor thread as long as it lives: what is told it meanwhile comes in one batch afterwards.
class ReactorHeld {
 public:
  ReactorHeld();
  ~ReactorHeld();
  ReactorHeld(const ReactorHeld&) = delete;
  ReactorHeld& operator=(const ReactorHeld&) = delete;

 private:
  Ref<struct HeldState> state_;
};

// Orphans come to us as long as it lives, so that the case can see and bury them.
class Subreaper {
 public:
  Subreaper();
  ~Subreaper();
};

}  // namespace exactspawn::test

#define HOST_PASTE_(a, b) a##b
#define HOST_JOIN_(a, b) HOST_PASTE_(a, b)
#define HOST(name)                                                                                            \
  static int HOST_JOIN_(host_body_, __LINE__)(const std::vector<std::string>& args);                          \
  static ::exactspawn::test::HostProgram HOST_JOIN_(host_, __LINE__)(name, HOST_JOIN_(host_body_, __LINE__)); \
  static int HOST_JOIN_(host_body_, __LINE__)([[maybe_unused]] const std::vector<std::string>& args)
