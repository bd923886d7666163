#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "clock.h"
#include "harness.h"
#include "process_table.h"
#include "work_pool.h"

namespace exactspawn::test {
namespace {

// Far beyond what any fact takes, also under a sanitizer on a busy machine.
constexpr int64_t kAbsurdMs = 30000;

}  // namespace

std::string own_path() {
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, size > 0 ? static_cast<size_t>(size) : 0);
}

bool until(const std::function<bool()>& fact) {
  int64_t deadline = deadline_in(kAbsurdMs);
  while (!fact()) {
    if (now_ms() > deadline) return false;
    usleep(1000);
  }
  return true;
}

void cannot_run(const char* why) {
  std::printf("  not run: %s\n", why);
  CHECK(getenv("CI") == nullptr);
}

std::string program_beside(const char* name) {
  std::string path = own_path();
  return path.substr(0, path.rfind('/') + 1) + name;
}

ScratchDirectory::ScratchDirectory() {
  char path[] = "/tmp/exactspawn-test-XXXXXX";
  CHECK(mkdtemp(path) != nullptr);
  path_ = path;
  chmod(path, 0755);
}

ScratchDirectory::~ScratchDirectory() {
  pid_t pid = fork();
  if (pid == 0) {
    execlp("rm", "rm", "-rf", path_.c_str(), nullptr);
    _exit(127);
  }
  waitpid(pid, nullptr, 0);
}

std::string ScratchDirectory::file(const char* name, const std::string& text, mode_t mode) const {
  std::string path = *this / name;
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  fchmod(fd, mode);
  close(fd);
  return path;
}

StringBlock string_block(const std::vector<std::string>& strings) {
  StringBlock block;
  for (const std::string& string : strings) {
    block.bytes += string;
    block.bytes.push_back('\0');
    block.count++;
  }
  return block;
}

SpawnRequest request_for(const std::string& program, const std::vector<std::string>& args) {
  SpawnRequest request;
  request.candidates = {program};
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), args.begin(), args.end());
  request.args = string_block(argv);
  for (int target = 0; target < 3; target++) give_null(&request, target);
  return request;
}

SpawnRequest fixture_request(const std::vector<std::string>& verbs) {
  return request_for(program_beside("fixture_child"), verbs);
}

static FdSource* source_for(SpawnRequest* request, int target) {
  for (FdSource& source : request->fds) {
    if (source.target == target) return &source;
  }
  request->fds.emplace_back();
  request->fds.back().target = target;
  return &request->fds.back();
}

void give(SpawnRequest* request, int target, UniqueFd fd) {
  FdSource* source = source_for(request, target);
  source->kind = FdSourceKind::kDescriptor;
  source->fd = std::move(fd);
}

void give_null(SpawnRequest* request, int target) { source_for(request, target)->kind = FdSourceKind::kNull; }

void capture(SpawnRequest* request, int target, uint64_t head_bytes, uint64_t tail_bytes) {
  FdSource* source = source_for(request, target);
  source->kind = FdSourceKind::kCapture;
  source->head_bytes = head_bytes;
  source->tail_bytes = tail_bytes;
}

UniqueFd give_pipe(SpawnRequest* request, int target) {
  Pipe pipe;
  CHECK(!make_pipe(&pipe));
  give(request, target, std::move(pipe.write_end));
  return std::move(pipe.read_end);
}

std::vector<StartPath> start_paths() {
  std::vector<StartPath> paths;
  for (bool walk : {false, true}) {
    TestHooks hooks;
    hooks.no_close_range = walk;
    paths.push_back({walk ? "clone3, walk" : "clone3", hooks, Mechanism::kClone3});
    hooks.no_clone3 = true;
    paths.push_back({walk ? "clone, walk" : "clone", hooks, Mechanism::kClone});
    hooks.force_fork = true;
    paths.push_back({walk ? "fork, walk" : "fork", hooks, Mechanism::kFork});
  }
  return paths;
}

Spawned start_now(SpawnRequest request, int join_pgid) {
  static const std::atomic<bool> never{false};
  return spawn(&request, join_pgid, never);
}

int reap(const Spawned& spawned) {
  CHECK(!spawned.error);
  if (spawned.error) return -1;
  int word = -1;
  CHECK_EQ(waitpid(spawned.pid, &word, 0), spawned.pid);
  if (spawned.guard_pid > 0) {
    send(spawned.guard_pid, SIGKILL);
    waitpid(spawned.guard_pid, nullptr, 0);
  }
  return word;
}

void on_spawners(int count, const std::function<void(int)>& body) {
  struct Call final : Job {
    const std::function<void(int)>* body;
    int number;
    std::atomic<int>* left;
    void run() override {
      (*body)(number);
      std::atomic<int>* counter = left;
      delete this;
      counter->fetch_sub(1);
    }
  };
  std::atomic<int> left{count};
  for (int i = 0; i < count; i++) {
    auto* call = new Call;
    call->body = &body;
    call->number = i;
    call->left = &left;
    CHECK(!spawner_pool().submit(call));
  }
  CHECK(until([&] { return left.load() == 0; }));
}

std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    ssize_t size = read(fd, buffer, sizeof buffer);
    if (size > 0) text.append(buffer, static_cast<size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) return text;
  }
}

std::string read_line(int fd) {
  std::string line;
  char byte;
  while (read(fd, &byte, 1) == 1 && byte != '\n') line.push_back(byte);
  return line;
}

std::string read_file(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() ? read_to_end(file.get()) : std::string();
}

// Quotes inside strings are escaped, so `"name":` occurs only as a name.
std::string audit_value(const std::string& audit, const char* name) {
  std::string label = "\"" + std::string(name) + "\":";
  size_t at = audit.find(label);
  if (at == std::string::npos) return "";
  size_t begin = at + label.size();
  int depth = 0;
  bool quoted = false;
  for (size_t end = begin; end < audit.size(); end++) {
    char here = audit[end];
    if (here == '\\') {
      end++;
    } else if (here == '"') {
      quoted = !quoted;
    } else if (!quoted && (here == '[' || here == '{')) {
      depth++;
    } else if (!quoted && (here == ']' || here == '}' || here == ',')) {
      if (depth == 0) return audit.substr(begin, end - begin);
      if (here != ',' && --depth == 0) return audit.substr(begin, end + 1 - begin);
    }
  }
  return "";
}

std::map<int, AuditedFd> audit_fds(const std::string& audit) {
  std::map<int, AuditedFd> fds;
  std::string list = audit_value(audit, "fds");
  for (size_t at = 0; (at = list.find("{\"fd\":", at)) != std::string::npos; at++) {
    std::string entry = list.substr(at, list.find('}', at) + 1 - at);
    fds[atoi(audit_value(entry, "fd").c_str())] = {atoi(audit_value(entry, "fdflags").c_str()),
                                                   atoi(audit_value(entry, "statusflags").c_str()),
                                                   audit_value(entry, "dev"), audit_value(entry, "ino")};
  }
  return fds;
}

std::string inode_of(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return "";
  return "\"" + std::to_string(status.st_ino) + "\"";
}

std::vector<int> own_fds() { return fds_of(getpid()); }

std::vector<int> fds_of(pid_t pid) {
  std::vector<int> fds;
  DIR* directory = opendir(("/proc/" + std::to_string(pid) + "/fd").c_str());
  while (dirent* entry = directory != nullptr ? readdir(directory) : nullptr) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && (pid != getpid() || fd != dirfd(directory))) fds.push_back(fd);
  }
  if (directory != nullptr) closedir(directory);
  std::sort(fds.begin(), fds.end());
  return fds;
}

bool send(pid_t pid, int signal) {
  CHECK(pid > 1);
  return pid > 1 && kill(pid, signal) == 0;
}

bool send_group(pid_t pgid, int signal) {
  CHECK(pgid > 1);
  return pgid > 1 && kill(-pgid, signal) == 0;
}

std::vector<pid_t> children_of(pid_t wanted_parent) {
  std::vector<pid_t> children;
  DIR* directory = opendir("/proc");
  while (dirent* entry = readdir(directory)) {
    int pid = atoi(entry->d_name);
    if (pid <= 0) continue;
    std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    size_t name_end = stat.rfind(')');
    char state;
    int parent;
    if (name_end == std::string::npos || sscanf(stat.c_str() + name_end + 1, " %c %d", &state, &parent) != 2) continue;
    if (parent == wanted_parent && state != 'Z') children.push_back(pid);
  }
  closedir(directory);
  return children;
}

bool gone(pid_t pid) {
  char state = process_state(pid);
  return state == 0 || state == 'Z' || state == 'X';
}

bool group_gone(pid_t pgid) { return gone(pgid) && count_group_members(pgid, 0) == 0; }

}  // namespace exactspawn::test
