#include "pidfd.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace exactspawn {
namespace {

// Newer than the headers of the build machine; the numbers are the same on every architecture.
constexpr long kSysPidfdSendSignal = 424;
constexpr unsigned kSignalProcessGroup = 4;

struct PidfdInfo {
  uint64_t mask, cgroup_id;
  uint32_t pid, tgid, ppid;
  uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64, "PIDFD_INFO_SIZE_VER0");
constexpr uint64_t kInfoExit = 1 << 3;
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);

int send(int pidfd, int signal, unsigned flags) {
  return syscall(kSysPidfdSendSignal, pidfd, signal, nullptr, flags) == 0 ? 0 : errno;
}

}  // namespace

int pidfd_signal(int pidfd, int signal) { return send(pidfd, signal, 0); }

int pidfd_signal_group(int pidfd, int signal) { return send(pidfd, signal, kSignalProcessGroup); }

int pidfd_exit_status(int pidfd, int* word) {
  PidfdInfo info;
  memset(&info, 0, sizeof info);
  info.mask = kInfoExit;
  if (ioctl(pidfd, kGetInfo, &info) != 0) return errno;
  if ((info.mask & kInfoExit) == 0) return ENODATA;
  *word = info.exit_code;
  return 0;
}

}  // namespace exactspawn
