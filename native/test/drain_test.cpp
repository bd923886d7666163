// Log pipes: emptied to their end, kept within bounds, counted to the byte, and given up at one deadline.
#include "drain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>

#include "child_case.h"
#include "clock.h"
#include "harness.h"
#include "host_case.h"
#include "process_table.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

std::string pattern(size_t from, size_t to) {
  std::string bytes;
  for (size_t i = from; i < to; i++) bytes.push_back(static_cast<char>(i % 251));
  return bytes;
}

LogCopy log_of(Child& child, int target) {
  LogCopy copy;
  CHECK(child.life().copy_log(target, &copy));
  return copy;
}

std::string text_of(const LogCopy& copy) { return std::string(copy.bytes.begin(), copy.bytes.end()); }

SpawnRequest capturing(const std::vector<std::string>& verbs, uint64_t head, uint64_t tail) {
  SpawnRequest request = fixture_request(verbs);
  capture(&request, 1, head, tail);
  return request;
}

// Kills what has left the group: nothing of ours reaches it.
void end_escapee(pid_t pid) {
  send(pid, SIGKILL);
  CHECK(until([&] { return gone(pid); }));
}

}  // namespace

TEST("a number that is not captured has no log [M-20]") {
  Child child(capturing({}, 1, 1));
  CHECK(child.started());
  LogCopy copy;
  CHECK(!child.life().copy_log(2, &copy));
  child.settled();
}

TEST("the bounds of a log are kept to the byte, and the totals are exact [N-16, M-20, M-26]") {
  struct Expected {
    size_t written, head, tail;
  };
  for (const Expected& e : {Expected{0, 0, 0}, {1, 0, 0}, {100, 60, 40}, {101, 60, 40}, {99, 60, 40}, {300000, 1000, 0},
                            {300000, 0, 1000}, {3000000, 70000, 70001}}) {
    Child child(capturing({"pattern", std::to_string(e.written)}, e.head, e.tail));
    CHECK(child.started());
    child.settled();
    LogCopy copy = log_of(child, 1);
    size_t kept = std::min(e.written, e.head + e.tail);
    size_t head = std::min(e.written, e.head);
    CHECK(copy.complete);
    CHECK_EQ(copy.total, e.written);
    CHECK_EQ(copy.omitted, e.written - kept);
    CHECK_EQ(copy.head_size, head);
    CHECK(text_of(copy) == pattern(0, head) + pattern(e.written - (kept - head), e.written));
  }
}

TEST("two hundred children at once: each log is whole and each end is told [N-16, M-27]") {
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 200; i++) {
    SpawnRequest request = capturing({"pattern", std::to_string(70000 + i), "--", "pattern", "5000", "2", "--", "exit",
                                      std::to_string(i)}, 500, 500);
    capture(&request, 2, 10000, 0);
    children.push_back(std::make_unique<Child>(std::move(request)));
  }
  for (size_t i = 0; i < children.size(); i++) {
    CHECK(children[i]->started());
    CHECK_EQ(children[i]->settled().fields[kCode], static_cast<double>(i));
    LogCopy out = log_of(*children[i], 1);
    CHECK(out.complete);
    CHECK_EQ(out.total, 70000 + i);
    CHECK(text_of(out) == pattern(0, 500) + pattern(69500 + i, 70000 + i));
    LogCopy err = log_of(*children[i], 2);
    CHECK(err.complete);
    CHECK(text_of(err) == pattern(0, 5000));
  }
}

TEST("a log can be looked at while the child lives, and is incomplete until its end [N-16, M-21, M-22]") {
  SpawnRequest request = capturing({"text", "first", "--", "read-to-eof", "0", "--", "text", "last"}, 100, 0);
  Pipe pipe;
  CHECK(!make_pipe(&pipe));
  give(&request, 0, std::move(pipe.read_end));
  Child child(std::move(request));
  CHECK(child.started());
  CHECK(until([&] { return text_of(log_of(child, 1)) == "first"; }));
  CHECK(!log_of(child, 1).complete);
  pipe.write_end.reset();
  child.settled();
  CHECK_EQ(text_of(log_of(child, 1)), "firsteof 0\nlast");
  CHECK(log_of(child, 1).complete);
}

TEST("a secret leaves no trace in a log, however long it is and wherever its writes are split [N-16, M-23, P-9]") {
  for (size_t length : {size_t{4}, size_t{8192}, size_t{8194}, size_t{60000}}) {
    std::string secret(length, 's');
    for (size_t i = 0; i < length; i++) secret[i] = static_cast<char>('a' + i * 7 % 23);
    for (size_t split : {size_t{1}, length / 2, length - 1}) {
      Child child(capturing({"text", "<", "--", "split-secret", "1", secret.substr(0, split), "30",
                             secret.substr(split), "--", "text", ">"}, 1000, 1000), {}, {secret});
      CHECK(child.started());
      child.settled();
      LogCopy copy = log_of(child, 1);
      CHECK_EQ(text_of(copy), "<[redacted]>");
      CHECK_EQ(copy.total, length + 2);
      CHECK(copy.complete);
    }
  }
}

TEST("a flood is drained while it lasts, and cancelled with the child that is dropped [N-16, M-89]") {
  Child child(capturing({"flood", "1000"}, 100, 100));
  CHECK(child.started());
  CHECK(until([&] { return log_of(child, 1).total > 10 << 20; }));
  child.life().drop();
  child.told(EventType::kSettled);
  CHECK_EQ(log_of(child, 1).bytes.size(), 200u);
  CHECK_EQ(log_of(child, 1).omitted, log_of(child, 1).total - 200);
}

TEST("what an escaped process holds open is given up at one deadline for all logs together [N-16, M-30, M-31]") {
  Subreaper subreaper;
  // A ratio, since both are upper bounds on a busy machine: two deadlines in a row would double the time.
  int64_t taken[3] = {};
  for (int held = 1; held <= 2; held++) {
    std::vector<std::string> verbs = {"setsid-and-hold", "1", "1000000"};
    if (held == 2) verbs.insert(verbs.end(), {"--", "setsid-and-hold", "2", "1000000"});
    SpawnRequest request = capturing(verbs, 1000, 0);
    capture(&request, 2, 1000, 0);
    LifecycleOptions options;
    options.drain_ms = 700;
    Child child(std::move(request), options);
    CHECK(child.started());
    child.exited();
    int64_t asked = now_ms();
    Event settled = child.settled();
    taken[held] = now_ms() - asked;
    CHECK(taken[held] >= 700);
    CHECK_EQ(settled.fields[kCode], 0);
    LogCopy out = log_of(child, 1);
    CHECK(!out.complete);
    CHECK_EQ(log_of(child, 2).complete, held == 1);
    std::string lines = text_of(out);
    for (size_t at = 0; (at = lines.find("held ", at)) != std::string::npos; at++) {
      end_escapee(atoi(lines.c_str() + at + 5));
    }
  }
  CHECK(taken[2] < taken[1] * 16 / 10);
}

TEST("a log of a child without time to drain still has what was written before the exit [N-16, B038]") {
  Subreaper subreaper;
  LifecycleOptions options;
  options.drain_ms = 0;
  Child child(capturing({"setsid-and-hold", "1", "1000000", "--", "pattern", "60000"}, 100000, 0), options);
  CHECK(child.started());
  child.settled();
  LogCopy copy = log_of(child, 1);
  CHECK(!copy.complete);
  std::string text = text_of(copy);
  size_t line = text.find('\n') + 1;
  CHECK_EQ(copy.total, line + 60000);
  end_escapee(atoi(text.c_str() + 5));
}

TEST("a start whose logs cannot be watched is undone, and nothing of it runs [N-16, M-47]") {
  for (int round = 0; round < 20; round++) {
    Ref<Listener> listener(new Listener);
    SpawnRequest request = fixture_request({"flood", "1000"});
    std::vector<CapturePipe> captures(2);
    captures[0].target = 1;
    captures[0].read_end = give_pipe(&request, 1);
    CHECK(!set_nonblocking(captures[0].read_end.get(), true));
    captures[1].target = 2;
    captures[1].read_end = UniqueFd(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // epoll refuses directories
    Spawned spawned = start_now(std::move(request));
    pid_t pid = spawned.pid;
    {
      Ref<Process> process(
          new Process(pid, std::move(spawned.pidfd), true, 0, capabilities().pidfd_group_signal, false));
      Ref<Lifecycle> life(new Lifecycle(1, listener.get(), process, {}, {}, {}, 0));
      // The reactor reads the flood of the first while the second fails.
      SysError error = life->begin(reactor(), std::move(captures), {}, Event{EventType::kStarted, 1, {}});
      CHECK_EQ(error.errnum, EPERM);
      CHECK_EQ(error.index, 2);
      CHECK(error.syscall == Syscall::kEpollCtl);
      CHECK_EQ(process_state(pid), 0);
    }
    CHECK(!listener->heard(EventType::kStarted));
    CHECK(until([&] { return listener->holders() == 0; }));
  }
}
