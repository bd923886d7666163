// The guard's program: a few machine instructions in an ELF file that exists only in memory, so that nothing
// executable is shipped beside the addon (a helper file shipped without its mode bits breaks every start). Linux only.
#pragma once

#include "fd.h"

namespace exactspawn {

// The program reads descriptor 0. One byte: it leaves. End of file (every writer is gone, so the host is): it sends
// SIGKILL to its own process group, which it thereby leaves too.
// An executable, sealed memfd. Thread: any. Blocks: no. Fails: ENOSYS, EACCES (vm.memfd_noexec), EMFILE.
SysError make_guard_program(UniqueFd* out);

// The same by a shell, for kernels that run no memfd. argv of /bin/sh.
char* const* guard_shell_arguments();
inline constexpr const char* kGuardShell = "/bin/sh";

// Runs the program once with a byte to read and tells whether it left by itself. Thread: not a JS thread.
// Fails, and has learned nothing but the errno: as above, and as clone(2) does.
SysError probe_guard_program(bool* runs);

}  // namespace exactspawn
