// The child's descriptors, asked of the child itself.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "harness.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

int rounds_per_path() {
  const char* wanted = getenv("EXACTSPAWN_FUZZ");
  return wanted != nullptr ? atoi(wanted) : 40;
}

UniqueFd memory_file() { return UniqueFd(memfd_create("source", MFD_CLOEXEC)); }

class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed) {}
  int below(int limit) {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<int>((state_ >> 8) % static_cast<uint32_t>(limit));
  }

 private:
  uint32_t state_;
};

// A request with descriptors of known identity, and what its child must have.
struct Map {
  SpawnRequest request = request_for(program_beside("fixture_child"));
  std::map<int, std::string> wanted;
  UniqueFd output;

  Map() { request.fds.clear(); }
  bool has(int target) const { return wanted.count(target) > 0; }
  void add(int target, UniqueFd fd) {
    wanted[target] = inode_of(fd.get());
    give(&request, target, std::move(fd));
  }
  void add_same(int target, int other) {
    wanted[target] = wanted[other];
    request.fds.emplace_back();
    request.fds.back().target = target;
    request.fds.back().kind = FdSourceKind::kSameAs;
    request.fds.back().same_as = other;
  }
  // The audit itself needs one number to answer on.
  void answer_on(int target) {
    Pipe pipe;
    CHECK(!make_pipe(&pipe));
    add(target, std::move(pipe.write_end));
    output = std::move(pipe.read_end);
    request.args = string_block({"child", "audit", std::to_string(target)});
  }
};

// Numbers of the sources first, so that targets meet them: as swaps, cycles, or at the same place.
Map random_map(Random* random, const std::vector<UniqueFd>& files) {
  Map map;
  std::vector<int> numbers;
  std::vector<UniqueFd> sources;
  int count = random->below(12);
  for (int i = 0; i < count; i++) {
    int lowest = random->below(4) == 0 ? 200 + random->below(3000) : 3 + random->below(60);
    const UniqueFd& file = files[static_cast<size_t>(random->below(static_cast<int>(files.size())))];
    int copy = fcntl(file.get(), random->below(2) == 0 ? F_DUPFD : F_DUPFD_CLOEXEC, lowest);
    sources.emplace_back(copy);
    numbers.push_back(copy);
  }
  std::vector<int> targets = numbers;
  for (int extra = 0; extra < 8; extra++) targets.push_back(random->below(extra < 3 ? 3 : 90));
  for (size_t i = targets.size() - 1; i > 0; i--) {
    std::swap(targets[i], targets[static_cast<size_t>(random->below(static_cast<int>(i) + 1))]);
  }
  int first_target = -1;
  size_t next = 0;
  for (UniqueFd& source : sources) {
    while (next < targets.size() && map.has(targets[next])) next++;
    if (next == targets.size()) break;
    map.add(targets[next], std::move(source));
    if (first_target < 0) first_target = targets[next];
  }
  for (int fan = random->below(3); fan > 0 && first_target >= 0; fan--) {
    int target = random->below(100);
    if (!map.has(target)) map.add_same(target, first_target);
  }
  int answer = random->below(90);
  while (map.has(answer)) answer++;
  map.answer_on(answer);
  return map;
}

// Starts it and compares. Says what differs.
bool child_has_exactly(Map map, Mechanism mechanism) {
  Spawned spawned = start_now(std::move(map.request));
  if (spawned.error) {
    std::printf("  stage %d errno %d index %d\n", static_cast<int>(spawned.error.stage), spawned.error.errnum,
                spawned.error.index);
    return false;
  }
  std::map<int, AuditedFd> found = audit_fds(read_to_end(map.output.get()));
  bool same = reap(spawned) == 0 && spawned.mechanism == mechanism && found.size() == map.wanted.size();
  for (const auto& [number, fd] : found) {
    bool right = map.has(number) && map.wanted[number] == fd.inode && fd.fd_flags == 0;
    if (!right) std::printf("  %d has inode %s, flags %d\n", number, fd.inode.c_str(), fd.fd_flags);
    same &= right;
  }
  return same;
}

}  // namespace

TEST("a child has exactly the random map it was given, on every way to start and to close [N-1, P-1, B016]") {
  std::vector<UniqueFd> files;
  for (int i = 0; i < 12; i++) files.push_back(memory_file());
  Random random(20240607);
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    int wrong = 0;
    for (int round = 0; round < rounds_per_path(); round++) {
      if (!child_has_exactly(random_map(&random, files), path.mechanism)) wrong++;
    }
    if (wrong > 0) std::printf("  %s: %d wrong\n", path.name, wrong);
    CHECK_EQ(wrong, 0);
  }
}

TEST("strays that other threads open during starts reach no child [N-1, B004, B007]") {
  static std::atomic<bool> over;
  over = false;
  pthread_t opener;
  pthread_create(&opener, nullptr, [](void*) -> void* {
    while (!over.load()) {
      int fds[8];
      for (int& fd : fds) fd = open("/dev/null", O_RDONLY);
      for (int fd : fds) close(fd);
    }
    return nullptr;
  }, nullptr);
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    std::atomic<int> wrong{0};
    on_spawners(4, [&](int) {
      for (int round = 0; round < 8; round++) {
        Map map;
        map.add(4, memory_file());
        map.answer_on(9);
        if (!child_has_exactly(std::move(map), path.mechanism)) wrong.fetch_add(1);
      }
    });
    CHECK_EQ(wrong.load(), 0);
  }
  over = true;
  pthread_join(opener, nullptr);
}

TEST("with every number from 0 to 219 a target the failed exec is still reported [N-2]") {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    SpawnRequest request = request_for("/no/such/program");
    for (int target = 0; target < 220; target++) give_null(&request, target);
    Spawned spawned = start_now(std::move(request));
    CHECK(spawned.error.stage == Stage::kExec);
    CHECK_EQ(spawned.error.errnum, ENOENT);
  }
}

TEST("with every number from 0 to 219 a target the program has all of them [N-2]") {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    Map map;
    for (int target = 0; target < 220; target++) map.add(target, memory_file());
    map.answer_on(220);
    CHECK(child_has_exactly(std::move(map), path.mechanism));
  }
}

namespace {

// Lowers this process' soft limit of descriptors for as long as it lives.
class SoftLimit {
 public:
  explicit SoftLimit(rlim_t soft) {
    getrlimit(RLIMIT_NOFILE, &before_);
    struct rlimit lowered = {soft, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~SoftLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  rlim_t hard() const { return before_.rlim_max; }

 private:
  struct rlimit before_;
};

std::string nofile_of(SpawnRequest request) {
  UniqueFd output = give_pipe(&request, 1);
  Spawned spawned = start_now(std::move(request));
  CHECK(!spawned.error);
  std::string audit = read_to_end(output.get());
  reap(spawned);
  return audit_value(audit_value(audit, "rlimits"), "nofile");
}

}  // namespace

TEST("a target above the soft limit is reached, and hard - 1 takes part in a cycle [N-3, B016]") {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    SoftLimit limit(256);
    int top = static_cast<int>(limit.hard()) - 1;
    Map above;
    above.add(500, memory_file());
    above.answer_on(1);
    CHECK(child_has_exactly(std::move(above), path.mechanism));

    // A number above the soft limit can be a source too: it was opened while the limit was higher.
    UniqueFd low(fcntl(memory_file().get(), F_DUPFD_CLOEXEC, 3));
    UniqueFd high;
    {
      SoftLimit raised(limit.hard());
      high.reset(dup3(memory_file().get(), top, O_CLOEXEC));
    }
    CHECK_EQ(high.get(), top);
    int low_number = low.get();
    Map cycle;
    cycle.add(low_number, std::move(high));
    cycle.add(top, std::move(low));
    cycle.answer_on(1);
    CHECK(child_has_exactly(std::move(cycle), path.mechanism));
  }
}

TEST("a target at the hard limit fails and leaves no child [N-3, P-2]") {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    SoftLimit limit(256);
    SpawnRequest request = fixture_request({});
    give_null(&request, 1 << 30);  // beyond fs.nr_open, which no privilege lifts
    Spawned spawned = start_now(std::move(request));
    CHECK(spawned.error.stage == Stage::kRlimit);
    CHECK_EQ(spawned.error.errnum, EPERM);
  }
}

TEST("the soft limit that a program sees is the declared one, not the raised one [N-3, P-1]") {
  SoftLimit limit(256);
  std::string hard = "," + std::to_string(limit.hard()) + "]";
  SpawnRequest plain = fixture_request({"audit"});
  give_null(&plain, 5000);
  CHECK_EQ(nofile_of(std::move(plain)), "[1024" + hard);

  SpawnRequest inherits = fixture_request({"audit"});
  inherits.inherit_nofile = true;
  give_null(&inherits, 5000);
  CHECK_EQ(nofile_of(std::move(inherits)), "[256" + hard);

  SpawnRequest named = fixture_request({"audit"});
  named.limits.push_back({RLIMIT_NOFILE, 64, 64});
  give_null(&named, 5000);
  CHECK_EQ(nofile_of(std::move(named)), "[64,64]");
}

TEST("a host without a free descriptor gets EMFILE at the copy, at the pipe and at the clone [N-3, B010]") {
  int highest = own_fds().back();
  // Every number below the limit is taken but `left` of them.
  auto with_free = [&](int left, SpawnRequest request) {
    std::vector<UniqueFd> taken;
    SoftLimit limit(static_cast<rlim_t>(highest) + 20);
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.emplace_back(fd);
    for (; left > 0; left--) taken.pop_back();
    Spawned spawned = start_now(std::move(request));
    if (!spawned.error) reap(spawned);
    return spawned.error;
  };
  auto request = [] {
    SpawnRequest made = fixture_request({});
    made.fds.clear();
    return made;
  };
  CHECK(!with_free(1, request()));  // the pidfd
  SysError at_clone = with_free(0, request());
  CHECK(at_clone.stage == Stage::kClone);
  CHECK_EQ(at_clone.errnum, EMFILE);

  SpawnRequest logs = request();
  capture(&logs, 1, 10, 0);
  SysError at_pipe = with_free(1, std::move(logs));
  CHECK(at_pipe.stage == Stage::kPipe);
  CHECK_EQ(at_pipe.errnum, EMFILE);
  CHECK_EQ(at_pipe.index, 1);

  UniqueFd source = memory_file();
  SoftLimit limit(3);
  UniqueFd copy;
  SysError at_copy = duplicate(source.get(), Stage::kDupFd, &copy);
  CHECK(at_copy.stage == Stage::kDupFd);
  CHECK(at_copy.errnum == EMFILE || at_copy.errnum == EINVAL);  // EINVAL: 3 itself is beyond the limit
}
