// Writes to a pipe that nobody reads, on kernels that can leave out the signal and on those that cannot.
#include "quiet_write.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "fd.h"
#include "harness.h"
#include "host_case.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

bool sigpipe_is_pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

const uint8_t kByte = 7;

}  // namespace

HOST("write-to-nobody") {
  // In an order in which each setting follows each other one.
  for (bool ignored : {true, false, true}) {
    signal(SIGPIPE, ignored ? SIG_IGN : SIG_DFL);
    Pipe pipe;
    CHECK(!make_pipe(&pipe));
    CHECK(!set_nonblocking(pipe.write_end.get(), true));
    CHECK(!set_nonblocking(pipe.read_end.get(), true));
    CHECK_EQ(quiet_write(pipe.write_end.get(), &kByte, 1), 1);
    uint8_t got = 0;
    CHECK_EQ(read(pipe.read_end.get(), &got, 1), 1);
    CHECK_EQ(got, kByte);
    std::vector<uint8_t> large(1 << 20, kByte);
    CHECK(quiet_write(pipe.write_end.get(), large.data(), large.size()) >= 65536);
    CHECK_EQ(quiet_write(pipe.write_end.get(), &kByte, 1), -EAGAIN);
    pipe.read_end.reset();
    CHECK_EQ(quiet_write(pipe.write_end.get(), &kByte, 1), -EPIPE);
    CHECK(!sigpipe_is_pending());
  }
  // One that was raised before by somebody else is not taken away with ours.
  signal(SIGPIPE, SIG_DFL);
  sigset_t pipe_only;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, nullptr);
  raise(SIGPIPE);
  Pipe pipe;
  CHECK(!make_pipe(&pipe));
  pipe.read_end.reset();
  CHECK_EQ(quiet_write(pipe.write_end.get(), &kByte, 1), -EPIPE);
  CHECK(sigpipe_is_pending());
  return 0;
}

TEST("a write to a pipe without a reader raises nothing, also where the kernel or a sandbox denies the flag [B037, N-8]") {
  for (const char* denied : {"", "EOPNOTSUPP", "ENOSYS", "EINVAL", "EPERM"}) {
    HostSetting setting;
    if (*denied != 0) setting.under = {program_beside("fixture_denysys"), denied, "pwritev2", "--"};
    CHECK_EQ(Host("write-to-nobody", {}, setting).report(), "");
  }
}
