// Which of several candidates runs, and which error is told when none does.
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

struct Answer {
  int errnum;
  int index;  // of the candidate that ran, or that the error is about
};

Answer try_candidates(const std::vector<std::string>& candidates) {
  SpawnRequest request = fixture_request({"exit", "0"});
  request.candidates = candidates;
  Spawned spawned = start_now(std::move(request));
  if (spawned.error) {
    CHECK(spawned.error.stage == Stage::kExec);
    return {spawned.error.errnum, spawned.error.index};
  }
  CHECK_EQ(reap(spawned), 0);
  return {0, spawned.candidate};
}

void check_answer(const std::vector<std::string>& candidates, int errnum, int index) {
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    Answer answer = try_candidates(candidates);
    CHECK_EQ(answer.errnum, errnum);
    CHECK_EQ(answer.index, index);
  }
}

}  // namespace

TEST("a search path without the program is ENOENT about its first candidate [N-7]") {
  check_answer({}, ENOENT, 0);
  check_answer({"/no/program", "/none/program"}, ENOENT, 0);
}

TEST("a directory that is none, or is named like the program, is passed over [N-7]") {
  ScratchDirectory scratch;
  std::string good = program_beside("fixture_child");
  scratch.file("file", "", 0644);
  CHECK_EQ(mkdir((scratch / "program").c_str(), 0755), 0);
  check_answer({"/no/program", (scratch / "file") + "/program", scratch / "program", good}, 0, 3);
}

TEST("a candidate that may not be executed is passed over, and told when no other is found [N-7]") {
  ScratchDirectory scratch;
  std::string good = program_beside("fixture_child");
  std::string denied = scratch.file("denied", "", 0644);
  check_answer({denied, good}, 0, 1);
  check_answer({"/no/program", denied, "/none/program"}, EACCES, 1);
  check_answer({"/no/program", denied, scratch.file("denied-too", "", 0644)}, EACCES, 1);
}

TEST("any other failure ends the search, also when a later candidate would run [N-7, B024]") {
  ScratchDirectory scratch;
  std::string good = program_beside("fixture_child");
  check_answer({"/no/program", scratch.file("script", "exit 0\n", 0755), good}, ENOEXEC, 1);
  CHECK_EQ(symlink("loop", (scratch / "loop").c_str()), 0);
  check_answer({scratch / "loop", good}, ELOOP, 0);
  check_answer({"/" + std::string(5000, 'x'), good}, ENAMETOOLONG, 0);
}

TEST("a search path of 2000 directories finds the program in the last one [N-7]") {
  std::vector<std::string> candidates(1999, "/no/such/directory/program");
  candidates.push_back(program_beside("fixture_child"));
  check_answer(candidates, 0, 1999);
}
