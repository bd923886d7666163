// What this kernel and sandbox really offer, found by trying, never by a version string. Linux only.
#pragma once

#include "clone_call.h"

namespace exactspawn {

struct Capabilities {
  bool shared_memory_clone = false;  // a vfork-style child's store is seen (not under valgrind, qemu-user, WSL1)
  bool clone3 = false;
  bool clone_pidfd = false;          // clone hands out a pidfd that waitid(P_PIDFD) and signals accept
  bool pidfd_group_signal = false;   // PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9
  bool pidfd_exit_info = false;      // PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15
  bool close_range = false;          // with CLOSE_RANGE_CLOEXEC, Linux 5.11
  bool memfd_exec = false;           // an executable memfd may be run (vm.memfd_noexec, noexec policies)
};

// Probes on the first call; on the next again where that one ran out of descriptors, memory or processes.
// Thread: any but a JS thread (it clones). Blocks: for a few clones, once.
Capabilities capabilities();
// The probe's result if there is one, without making it. Thread: any.
bool known_capabilities(Capabilities* out);

}  // namespace exactspawn
