// Runs every registered case, or those whose title contains the first argument.
#include <cstring>

#include "harness.h"

namespace exactspawn::test {
namespace {

Case* first = nullptr;
Case** last = &first;
int failures_in_case = 0;

}  // namespace

Case::Case(const char* title, void (*body)()) : title(title), body(body), next(nullptr) {
  *last = this;
  last = &next;
}

void fail(const char* file, int line, const std::string& what) {
  failures_in_case++;
  if (failures_in_case <= 10) std::printf("  %s:%d: %s\n", file, line, what.c_str());
}

static int run_all(const char* filter) {
  int passed = 0, failed = 0;
  for (Case* test = first; test != nullptr; test = test->next) {
    if (filter != nullptr && std::strstr(test->title, filter) == nullptr) continue;
    failures_in_case = 0;
    test->body();
    bool ok = failures_in_case == 0;
    std::printf("%s %s\n", ok ? "ok    " : "FAILED", test->title);
    std::fflush(stdout);
    (ok ? passed : failed)++;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace exactspawn::test

int main(int argc, char** argv) { return exactspawn::test::run_all(argc > 1 ? argv[1] : nullptr); }
