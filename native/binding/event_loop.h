// The environment's own event loop, where it is libuv's and may be asked: it watches pipes without another thread.
#pragma once

#include <napi.h>

#include "uv_calls.h"

namespace exactspawn {

// Thread: JS only, as the loop itself.
class EventLoop {
 public:
  // Watches tell on_ready(pipe, bits). Null where the loop cannot be asked. It ends with the environment, after the
  // hooks that are added later: those stop all watches.
  static EventLoop* open(Napi::Env env, Napi::Function on_ready);

  // A handle for that descriptor, which must be in non-blocking mode; it keeps the loop from no end. Fails: EEXIST when
  // another handle of the loop has the number, ENOMEM, ENOSPC.
  int add(int fd, void* data, UvHandle** out);
  // From here on nothing is told, and the number is no longer in the loop's poll set. The memory goes when the loop turns.
  void remove(UvHandle* handle);
  const UvCalls& calls() const { return calls_; }

  // Calls into JS, as the loop does: what the listener has put off runs right after it.
  void tell(uint32_t pipe, uint32_t bits);

 private:
  EventLoop(napi_env env, UvLoop* loop, const UvCalls& calls) : env_(env), loop_(loop), calls_(calls) {}
  ~EventLoop() = default;
  static void on_closed(UvHandle* handle);
  static void clean_up(napi_async_cleanup_hook_handle hook, void* self);
  void end_when_closed();

  const napi_env env_;
  UvLoop* const loop_;
  const UvCalls calls_;
  napi_ref on_ready_ = nullptr;
  napi_async_context context_ = nullptr;
  napi_async_cleanup_hook_handle ending_ = nullptr;
  size_t handles_ = 0;  // open, or closing
};

}  // namespace exactspawn
