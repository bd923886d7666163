// There is no guard: without CLONE_PARENT it would be the child's child, whose number we could not keep from being
// reused. child_main refuses it.
#include "guard_program.h"

#include <errno.h>

namespace exactspawn {

SysError make_guard_program(UniqueFd*) { return {Stage::kClone, Syscall::kNone, ENOTSUP, -1}; }

char* const* guard_shell_arguments() { return nullptr; }

}  // namespace exactspawn
