#include "host_case.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

namespace exactspawn::test {
namespace {

HostProgram* first_host = nullptr;

}  // namespace

HostProgram::HostProgram(const char* name, int (*body)(const std::vector<std::string>& args))
    : name(name), body(body), next(first_host) {
  first_host = this;
}

int run_host(int argc, char** argv) {
  std::vector<std::string> args(argv + 3, argv + argc);
  int code = 120;
  for (HostProgram* program = first_host; program != nullptr; program = program->next) {
    if (strcmp(program->name, argv[2]) == 0) code = program->body(args);
  }
  std::fflush(stdout);
  _exit(code);  // the core's threads go on until then
}

Host::Host(const char* name, const std::vector<std::string>& args, const HostSetting& setting) {
  Pipe pipe;
  CHECK(!make_pipe(&pipe));
  std::vector<std::string> words = setting.under;
  words.insert(words.end(), {own_path(), "--host", name});
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(pipe.write_end.get(), 1);
    if (setting.prepare) setting.prepare();
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // after a change of user, which clears it
    execv(argv[0], argv.data());
    _exit(127);
  }
  output_ = std::move(pipe.read_end);
}

Host::~Host() {
  if (pid_ > 0) kill_now();
}

void Host::kill_now() {
  send(pid_, SIGKILL);
  wait();
}

int Host::wait() {
  int word = 0;
  waitpid(pid_, &word, 0);
  pid_ = -1;
  return WIFEXITED(word) ? WEXITSTATUS(word) : -1;
}

std::string Host::report() {
  std::string text = read_to_end(output());
  int code = wait();
  return code == 0 ? text : text + "exit " + std::to_string(code);
}

void drop_privileges() {
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) != 0 || setresgid(kNobodyId, kNobodyId, kNobodyId) != 0 ||
      setresuid(kNobodyId, kNobodyId, kNobodyId) != 0) {
    _exit(126);
  }
}

Subreaper::Subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

Subreaper::~Subreaper() {
  CHECK(until([] { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }));
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace exactspawn::test
