// Larger pipes for logs, within what the user may have. Linux; elsewhere nothing is granted.
#pragma once

#include <cstddef>

namespace exactspawn {

// Makes the pipe 256 KiB while our share lasts: a quarter of pipe-user-pages-soft. Past that limit every new pipe of
// the user, ours or not, shrinks to a page or two (pipe(7)). Returns what was granted, to be given back.
size_t grow_pipe(int fd);
void return_pipe_budget(size_t granted);

}  // namespace exactspawn
