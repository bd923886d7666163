// Writes that raise no SIGPIPE, whatever the host has set for it [B037].
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace exactspawn {

// As write(2) on a non-blocking descriptor: bytes, or a negative errno. Thread: any. Blocks: no.
long quiet_write(int fd, const uint8_t* bytes, size_t size);

}  // namespace exactspawn
