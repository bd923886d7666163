// Runs every registered case, or those whose title contains one of the arguments. `--host NAME ...` runs a program of
// this binary instead: a host that a case may kill.
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "capabilities.h"
#include "clock.h"
#include "harness.h"
#include "reactor.h"

namespace exactspawn::test {

int run_host(int argc, char** argv);

namespace {

Case* first = nullptr;
Case** last = &first;
int failures_in_case = 0;

// What a case must leave as it was. The threads of the core (xs-*) belong to the process and stay.
struct Belongings {
  std::vector<std::string> fds;
  int threads = 0;
  bool children = false;
  bool nothing_more_than(const Belongings& other) const {
    return fds == other.fds && threads <= other.threads && children <= other.children;
  }
};

template <typename Visit>
void each_entry(const char* path, Visit visit) {
  DIR* directory = opendir(path);
  while (dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory)) visit(entry->d_name);
  }
  closedir(directory);
}

bool is_core_thread(const char* id) {
  char name[16] = {};
  std::FILE* file = std::fopen((std::string("/proc/self/task/") + id + "/comm").c_str(), "re");
  if (file == nullptr) return true;  // has ended meanwhile
  bool ours = std::fgets(name, sizeof name, file) != nullptr && std::strncmp(name, "xs-", 3) == 0;
  std::fclose(file);
  return ours;
}

Belongings belongings() {
  Belongings now;
  each_entry("/proc/self/fd", [&](const char* number) {
    char target[256];
    ssize_t size = readlink((std::string("/proc/self/fd/") + number).c_str(), target, sizeof target);
    now.fds.push_back(number + std::string(" ") + std::string(target, size > 0 ? static_cast<size_t>(size) : 0));
  });
  std::sort(now.fds.begin(), now.fds.end());
  each_entry("/proc/self/task", [&](const char* id) { now.threads += !is_core_thread(id); });
  siginfo_t info;
  now.children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return now;
}

// The reactor gives things back a moment after the end is told.
void check_nothing_left(const Belongings& before) {
  int64_t deadline = deadline_in(5000);
  Belongings after = belongings();
  while (!after.nothing_more_than(before) && now_ms() < deadline) {
    usleep(1000);
    after = belongings();
  }
  for (const std::string& fd : after.fds) {
    if (!std::binary_search(before.fds.begin(), before.fds.end(), fd)) fail("left open", 0, fd);
  }
  for (const std::string& fd : before.fds) {
    if (!std::binary_search(after.fds.begin(), after.fds.end(), fd)) fail("closed", 0, fd);
  }
  CHECK(after.threads <= before.threads);
  CHECK(after.children <= before.children);
}

bool is_wanted(const char* title, const std::vector<const char*>& filters) {
  return filters.empty() ||
         std::any_of(filters.begin(), filters.end(), [&](const char* part) { return std::strstr(title, part); });
}

}  // namespace

Case::Case(const char* title, void (*body)()) : title(title), body(body), next(nullptr) {
  *last = this;
  last = &next;
}

void fail(const char* file, int line, const std::string& what) {
  failures_in_case++;
  if (failures_in_case <= 10) std::printf("  %s:%d: %s\n", file, line, what.c_str());
}

static int run_all(const std::vector<const char*>& filters) {
  // The reactor's own descriptors stay for the life of the process: they are made before anything is counted.
  Reactor* reactor;
  if (Reactor::start(&reactor)) return 1;
  capabilities();
  int passed = 0, failed = 0;
  for (Case* test = first; test != nullptr; test = test->next) {
    if (!is_wanted(test->title, filters)) continue;
    failures_in_case = 0;
    Belongings before = belongings();
    test->body();
    check_nothing_left(before);
    bool ok = failures_in_case == 0;
    std::printf("%s %s\n", ok ? "ok    " : "FAILED", test->title);
    std::fflush(stdout);
    (ok ? passed : failed)++;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace exactspawn::test

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--host") == 0) return exactspawn::test::run_host(argc, argv);
  return exactspawn::test::run_all({argv + 1, argv + argc});
}
