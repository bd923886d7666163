// The few calls of libuv that watch a descriptor, found at run time: an import of theirs would keep the addon from
// loading where there is no libuv. Their types are spelled out here, since the headers of Node-API do not bring uv.h.
#pragma once

#include <stddef.h>

namespace exactspawn {

using UvLoop = void;
// The first field of every handle is the user's pointer, uv.h.
struct UvHandle {
  void* data;
};

// enum uv_poll_event, uv.h.
enum UvEvents : int { kUvReadable = 1, kUvWritable = 2, kUvDisconnect = 4 };

struct UvCalls {
  int (*poll_init)(UvLoop* loop, UvHandle* handle, int fd);
  int (*poll_start)(UvHandle* handle, int events, void (*ready)(UvHandle* handle, int status, int events));
  int (*poll_stop)(UvHandle* handle);
  void (*unreference)(UvHandle* handle);
  void (*close)(UvHandle* handle, void (*closed)(UvHandle* handle));
  size_t handle_bytes;  // of a poll handle
};

// False where there is no libuv, or not the one that is known here. That its calls are there does not say that they may be
// called: Bun has them, and aborts. Thread: any.
bool find_uv_calls(UvCalls* out);

}  // namespace exactspawn
