// Kernels and sandboxes that do not offer what a start or a wait would like to use.
#include <errno.h>
#include <signal.h>

#include "child_case.h"
#include "harness.h"
#include "host_case.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

// An exit, a kill of a group, a log and a failed start. Says nothing when all are as ever.
HOST("ordinary-life") {
  for (bool guard : {false, true}) {
    SpawnRequest ends = fixture_request({"pattern", "1000", "--", "exit", "33"});
    ends.guard = guard;
    capture(&ends, 1, 2000, 0);
    Child child(std::move(ends));
    CHECK(child.started());
    Event settled = child.settled();
    CHECK_EQ(settled.fields[kKnown], 1);
    CHECK_EQ(settled.fields[kCode], 33);
    CHECK_EQ(settled.fields[kGroupLeft], 0);
    LogCopy log;
    CHECK(child.life().copy_log(1, &log));
    CHECK(log.complete);
    CHECK_EQ(log.total, 1000u);

    SpawnRequest floods = fixture_request({"pattern", "300000"});
    floods.guard = guard;
    capture(&floods, 1, 10, 0);
    Child flooding(std::move(floods));
    CHECK(flooding.started());
    flooding.settled();
    CHECK(flooding.life().copy_log(1, &log));
    CHECK(log.complete);
    CHECK_EQ(log.total, 300000u);

    SpawnRequest stays = fixture_request({"fork-ignore", "TERM", "1000000", "--", "exit"});
    stays.guard = guard;
    Child leaves_one(std::move(stays));
    CHECK(leaves_one.started());
    CHECK_EQ(leaves_one.settled().fields[kGroupLeft], 1);
    CHECK(group_gone(leaves_one.pid()));

    SpawnRequest missing = request_for("/no/such/program");
    missing.guard = guard;
    Child failed(std::move(missing));
    CHECK_EQ(failed.failure().fields[2], ENOENT);
  }
  return 0;
}

TEST("starts and waits are the same where the newer system calls are denied, one by one and together [N-8]") {
  const std::vector<std::vector<std::string>> denials = {
      {},
      {"ENOSYS", "clone3"},
      {"ENOSYS", "close_range"},
      {"EPERM", "close_range"},
      {"ENOSYS", "pidfd_open", "pidfd_send_signal"},
      {"EPERM", "pidfd_open", "pidfd_send_signal"},
      {"ENOSYS", "clone3", "EINVAL", "clone:PIDFD"},
      {"EINVAL", "waitid:P_PIDFD"},
      {"EPERM", "waitid:P_PIDFD"},
      {"ENOSYS", "epoll_pwait2"},
      {"EPERM", "epoll_pwait2"},
      {"EINVAL", "splice"},
      {"EPERM", "splice"},
      {"ENOSYS", "memfd_create"},
      {"EPERM", "memfd_create"},
      {"ENOSYS", "clone3", "pidfd_open", "epoll_pwait2", "splice",
       "EPERM", "close_range", "memfd_create", "pidfd_send_signal", "waitid:P_PIDFD"},
  };
  for (const std::vector<std::string>& denial : denials) {
    HostSetting setting;
    setting.under = {program_beside("fixture_denysys")};
    setting.under.insert(setting.under.end(), denial.begin(), denial.end());
    setting.under.push_back("--");
    std::string report = Host("ordinary-life", {}, setting).report();
    if (report != "") {
      for (const std::string& word : denial) std::printf("  %s", word.c_str());
      std::printf("\n");
    }
    CHECK_EQ(report, "");
  }
}
