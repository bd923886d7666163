// What went wrong, as the kernel said it. Native code never words an error: TypeScript does, from these facts.
#pragma once

#include <cstdint>

namespace exactspawn {

// The step of a start that failed. One closed list; lib/addon/addon-types.ts repeats it in this order and a
// test compares the two.
enum class Stage : int32_t {
  kNone = 0,
  kPipe,
  kFile,
  kClone,
  kSigaction,
  kSetsid,
  kSetpgid,
  kCgroup,
  kPriority,
  kAffinity,
  kUmask,
  kRlimit,
  kDupFd,
  kCloseFds,
  kGroups,
  kGid,
  kUid,
  kChdir,
  kPdeathsig,
  kNoNewPrivs,
  kSigmask,
  kExec,
  kKilledBeforeExec,
};

// The system call that failed. Same rule as Stage: TypeScript holds the names in this order.
enum class Syscall : int32_t {
  kNone = 0,
  kPipe2,
  kFcntl,
  kOpen,
  kMemfdCreate,
  kWrite,
  kClone,
  kClone3,
  kMmap,
  kPthreadCreate,
  kEpollCreate,
  kEpollCtl,
  kEventfd,
  kRtSigaction,
  kSetsid,
  kSetpgid,
  kSetpriority,
  kSchedSetaffinity,
  kUmask,
  kPrlimit,
  kDup3,
  kCloseRange,
  kSetgroups,
  kSetresgid,
  kSetresuid,
  kChdir,
  kPrctl,
  kGetppid,
  kRtSigprocmask,
  kExecve,
  kKill,
  kPidfdSendSignal,
  kWaitid,
  kRead,
  kMkdirat,
  kOpenat,
  kFstatat,
  kFchmod,
  kUnlinkat,
  kGetdents,
  kGetrandom,
  kRename,
};

// errnum is positive, as in errno. index says which item of a list (descriptor step, limit, candidate).
struct SysError {
  Stage stage = Stage::kNone;
  Syscall syscall = Syscall::kNone;
  int errnum = 0;
  int index = -1;

  bool failed() const { return errnum != 0 || stage != Stage::kNone; }
  explicit operator bool() const { return failed(); }
};

}  // namespace exactspawn
