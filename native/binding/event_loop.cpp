#include "event_loop.h"

#include <errno.h>
#include <stdlib.h>

namespace exactspawn {
namespace {

// The loop's type is not named: it is not known here.
template <typename Loop>
napi_status loop_of(napi_env env, napi_status (*get)(napi_env, Loop**), UvLoop** out) {
  Loop* loop = nullptr;
  napi_status status = get(env, &loop);
  *out = loop;
  return status;
}

}  // namespace

EventLoop* EventLoop::open(Napi::Env env, Napi::Function on_ready) {
  UvCalls calls;
  UvLoop* loop;
  if (!find_uv_calls(&calls) || loop_of(env, napi_get_uv_event_loop, &loop) != napi_ok) return nullptr;
  auto* self = new EventLoop(env, loop, calls);
  Napi::String name = Napi::String::New(env, "exactspawn");
  if (napi_async_init(env, nullptr, name, &self->context_) != napi_ok ||
      napi_create_reference(env, on_ready, 1, &self->on_ready_) != napi_ok ||
      napi_add_async_cleanup_hook(env, clean_up, self, nullptr) != napi_ok) {
    delete self;
    return nullptr;
  }
  return self;
}

int EventLoop::add(int fd, void* data, UvHandle** out) {
  auto* handle = static_cast<UvHandle*>(calloc(1, calls_.handle_bytes));
  if (handle == nullptr) return ENOMEM;
  int failed = calls_.poll_init(loop_, handle, fd);
  if (failed != 0) {
    free(handle);
    return -failed;
  }
  calls_.unreference(handle);
  handle->data = data;
  handles_++;
  *out = handle;
  return 0;
}

void EventLoop::remove(UvHandle* handle) {
  handle->data = this;
  calls_.close(handle, on_closed);
}

void EventLoop::on_closed(UvHandle* handle) {
  auto* self = static_cast<EventLoop*>(handle->data);
  free(handle);
  self->handles_--;
  self->end_when_closed();
}

void EventLoop::tell(uint32_t pipe, uint32_t bits) {
  napi_handle_scope scope;
  if (napi_open_handle_scope(env_, &scope) != napi_ok) return;
  napi_value receiver, on_ready, arguments[2];
  napi_get_global(env_, &receiver);
  napi_get_reference_value(env_, on_ready_, &on_ready);
  napi_create_uint32(env_, pipe, &arguments[0]);
  napi_create_uint32(env_, bits, &arguments[1]);
  napi_status status = napi_make_callback(env_, context_, receiver, on_ready, 2, arguments, nullptr);
  napi_value error;
  if (status == napi_pending_exception && napi_get_and_clear_last_exception(env_, &error) == napi_ok) {
    napi_fatal_exception(env_, error);
  }
  napi_close_handle_scope(env_, scope);
}

void EventLoop::clean_up(napi_async_cleanup_hook_handle hook, void* opaque) {
  auto* self = static_cast<EventLoop*>(opaque);
  napi_delete_reference(self->env_, self->on_ready_);
  napi_async_destroy(self->env_, self->context_);
  self->ending_ = hook;
  self->end_when_closed();
}

// A handle that is closing is still the loop's: freed before it turns, or left to a loop that is freed, it would abort the
// host. So the environment waits for the last one.
void EventLoop::end_when_closed() {
  if (ending_ == nullptr || handles_ > 0) return;
  napi_remove_async_cleanup_hook(ending_);
  delete this;
}

}  // namespace exactspawn
