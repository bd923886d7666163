// What the child has closed by the time that the start is told: everything that is not its own.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "clone_call.h"
#include "harness.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

bool ended(int fd) {
  pollfd entry = {fd, POLLIN, 0};
  return poll(&entry, 1, 0) == 1 && (entry.revents & POLLHUP) != 0;
}

}  // namespace

TEST("the end of a foreign pipe shows at once after each of 300 starts [N-4]") {
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < 200; i++) crowd.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (const StartPath& path : start_paths()) {
    HooksInForce hooks(path.hooks);
    int late = 0;
    for (int round = 0; round < 50; round++) {
      Pipe pipe;
      make_pipe(&pipe);
      SpawnRequest request = fixture_request({"pause"});
      request.guard = round % 2 == 0;  // which has a copy of its own, for a moment
      Spawned spawned = start_now(std::move(request));
      pipe.write_end.reset();
      late += !ended(pipe.read_end.get());
      send(spawned.pid, SIGKILL);
      reap(spawned);
    }
    if (late > 0) std::printf("  %s\n", path.name);
    CHECK_EQ(late, 0);
  }
}

// The control: it shows that the test can see the window. The kernel wakes the caller of a vfork-like clone before it
// closes what is close-on-exec [docs/native.md T1].
TEST("close-on-exec alone leaves a window in which the end of a pipe is not seen [N-4]") {
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < 2000; i++) crowd.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::string program = program_beside("fixture_child");
  char* argv[] = {program.data(), const_cast<char*>("--ready-fd"), const_cast<char*>("none"),
                  const_cast<char*>("pause"), nullptr};
  int late = 0;
  for (int round = 0; round < 100; round++) {
    Pipe pipe;
    make_pipe(&pipe);
    ChildStack stack;
    stack.map();
    pid_t pid;
    {
      AllSignalsBlocked blocked;
      pid = clone_shared(stack, nullptr, [](void* argument) {
        auto** words = static_cast<char**>(argument);
        syscall(SYS_execve, words[0], words, environ);
        syscall(SYS_exit_group, 127);
      }, argv);
    }
    pipe.write_end.reset();
    late += !ended(pipe.read_end.get());
    send(pid, SIGKILL);
    Spawned spawned;
    spawned.pid = pid;
    reap(spawned);
  }
  CHECK(late > 0);
}

TEST("a listening port can be bound again and a lock taken while the child runs [N-4, B011]") {
  ScratchDirectory scratch;
  std::string path = scratch.file("lock", "", 0600);
  for (const StartPath& way : start_paths()) {
    HooksInForce hooks(way.hooks);
    UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CHECK_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    CHECK_EQ(listen(listener.get(), 1), 0);
    getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    UniqueFd locked(open(path.c_str(), O_RDWR));  // not even close-on-exec
    CHECK_EQ(flock(locked.get(), LOCK_EX | LOCK_NB), 0);

    Spawned spawned = start_now(fixture_request({"pause"}));
    listener.reset();
    locked.reset();
    UniqueFd again(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    CHECK_EQ(bind(again.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    UniqueFd lock(open(path.c_str(), O_RDWR | O_CLOEXEC));
    CHECK_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    send(spawned.pid, SIGKILL);
    reap(spawned);
  }
}
