// The calls on a pidfd that libc of the floor (2.28) does not wrap. Linux only. Each returns 0 or a positive errno.
#pragma once

namespace exactspawn {

inline constexpr int kWaitByPidfd = 3;  // P_PIDFD, waitid(2), Linux 5.4

// pidfd_send_signal(2), Linux 5.1: never reaches a process that has reused the number.
int pidfd_signal(int pidfd, int signal);

// To the process group that the pidfd's process leads, also after the leader was reaped: ESRCH then means that no
// member is left. PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9.
int pidfd_signal_group(int pidfd, int signal);

// The wait status word of a process that is gone, kept by the kernel for holders of a pidfd even when another
// reaper took it. PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15. ENODATA: not kept.
int pidfd_exit_status(int pidfd, int* word);

}  // namespace exactspawn
