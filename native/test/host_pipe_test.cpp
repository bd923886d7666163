// The host's end of a protocol pipe.
#include "host_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <memory>

#include "child_case.h"
#include "harness.h"
#include "reactor_watch.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

constexpr uint32_t kId = 41;

// One end ours, non-blocking, the other the far side's.
struct Ends {
  Ref<Listener> listener{new Listener};
  std::unique_ptr<HostPipe> ours;
  UniqueFd theirs;

  explicit Ends(bool we_read) {
    Pipe pipe;
    CHECK(!make_pipe(&pipe));
    UniqueFd& mine = we_read ? pipe.read_end : pipe.write_end;
    CHECK(!set_nonblocking(mine.get(), true));
    auto* watch = new ReactorWatch(kId, listener.get(), mine.get());
    ours = std::make_unique<HostPipe>(std::move(mine), watch);
    theirs = std::move(we_read ? pipe.write_end : pipe.read_end);
  }
  ~Ends() {
    ours = {};
    CHECK(until([this] { return listener->holders() == 0; }));
  }
  // Waits for the nth readiness and gives its bits.
  uint32_t told(int nth) {
    CHECK(until([&] { return listener->count(EventType::kPipeReady) >= nth; }));
    Event event = {};
    CHECK(listener->last(EventType::kPipeReady, &event));
    CHECK_EQ(event.id, kId);
    return static_cast<uint32_t>(event.fields[0]);
  }
  size_t fill() {
    uint8_t block[4096] = {};
    size_t total = 0;
    long written;
    while ((written = ours->write(block, sizeof block)) > 0) total += static_cast<size_t>(written);
    CHECK_EQ(written, -EAGAIN);
    return total;
  }
};

}  // namespace

TEST("a pipe that is closed before it was ever armed leaves nothing [N-16]") {
  Ends ends(true);
  ends.ours->close();
  CHECK_EQ(ends.ours->fd(), -1);
  ends.ours->close();
}

TEST("a read without bytes is EAGAIN, and the bytes are told once they are there [N-16]") {
  Ends ends(true);
  uint8_t bytes[16];
  CHECK_EQ(ends.ours->read(bytes, sizeof bytes), -EAGAIN);
  CHECK(!ends.ours->arm(kReadable));
  CHECK_EQ(write(ends.theirs.get(), "hello", 5), 5);
  CHECK_EQ(ends.told(1), kReadable);
  CHECK_EQ(ends.ours->read(bytes, sizeof bytes), 5);
  CHECK_EQ(memcmp(bytes, "hello", 5), 0);

  // Told once for each time that it is armed.
  CHECK_EQ(write(ends.theirs.get(), "more", 4), 4);
  CHECK(!ends.ours->arm(kReadable));
  CHECK_EQ(ends.told(2), kReadable);
  CHECK_EQ(ends.listener->count(EventType::kPipeReady), 2);
}

TEST("the end of the other side is an end of file for a reader [N-16, M-84]") {
  Ends ends(true);
  CHECK(!ends.ours->arm(kReadable));
  ends.theirs.reset();
  CHECK(ends.told(1) & kReadable);
  uint8_t byte;
  CHECK_EQ(ends.ours->read(&byte, 1), 0);
}

TEST("a full pipe is EAGAIN, and room is told once the other side reads [N-16, M-85]") {
  Ends ends(false);
  size_t size = ends.fill();
  CHECK(size > 0);
  CHECK(!ends.ours->arm(kWritable));
  std::string buffer(size, 0);
  CHECK_EQ(read(ends.theirs.get(), buffer.data(), size), static_cast<ssize_t>(size));
  CHECK_EQ(ends.told(1), kWritable);
  CHECK(ends.fill() > 0);
}

TEST("a write to a child that is gone is EPIPE, whatever the host does with SIGPIPE [N-16, B037]") {
  for (bool ignored : {true, false}) {
    struct sigaction action = {}, before;
    action.sa_handler = ignored ? SIG_IGN : SIG_DFL;
    sigaction(SIGPIPE, &action, &before);
    {
      Ends ends(false);
      ends.fill();
      CHECK(!ends.ours->arm(kWritable));
      ends.theirs.reset();
      CHECK(ends.told(1) & kWritable);
      uint8_t byte = 1;
      CHECK_EQ(ends.ours->write(&byte, 1), -EPIPE);
      sigset_t pending;
      sigpending(&pending);
      CHECK(!sigismember(&pending, SIGPIPE));
    }
    sigaction(SIGPIPE, &before, nullptr);
  }
}

TEST("a reader that leaves is told to a writer that only watches for it [N-16]") {
  Ends ends(false);
  CHECK(!ends.ours->arm(kHangup));
  ends.theirs.reset();
  CHECK_EQ(ends.told(1), kHangup);
}

TEST("interests add up and each is told by itself [N-16]") {
  Ends ends(true);
  CHECK(!ends.ours->arm(kReadable));
  CHECK(!ends.ours->arm(kHangup));
  CHECK_EQ(write(ends.theirs.get(), "x", 1), 1);
  CHECK_EQ(ends.told(1), kReadable);
  ends.theirs.reset();
  CHECK_EQ(ends.told(2), kHangup);
}

TEST("what was disarmed is not told, and arming again works [N-16]") {
  Ends ends(true);
  {
    ReactorHeld held;
    CHECK(!ends.ours->arm(kReadable));
    CHECK_EQ(write(ends.theirs.get(), "x", 1), 1);
    ends.ours->disarm(kReadable);
  }
  pass_reactor();
  CHECK_EQ(ends.listener->count(EventType::kPipeReady), 0);
  CHECK(!ends.ours->arm(kReadable));
  CHECK_EQ(ends.told(1), kReadable);
}

TEST("a pipe closed while its event is on the way tells nothing [N-16]") {
  Ends ends(true);
  {
    ReactorHeld held;
    CHECK(!ends.ours->arm(kReadable));
    CHECK_EQ(write(ends.theirs.get(), "x", 1), 1);
    ends.ours->close();
  }
  pass_reactor();
  CHECK_EQ(ends.listener->count(EventType::kPipeReady), 0);
}

TEST("a pipe that is taken is open, unwatched and the taker's [N-16]") {
  Ends ends(true);
  CHECK(!ends.ours->arm(kReadable));
  UniqueFd taken(ends.ours->take());
  CHECK_EQ(write(ends.theirs.get(), "x", 1), 1);
  pass_reactor();
  CHECK_EQ(ends.listener->count(EventType::kPipeReady), 0);
  char byte;
  CHECK_EQ(read(taken.get(), &byte, 1), 1);
}
