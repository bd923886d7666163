#include "uv_calls.h"

#include <dlfcn.h>
#include <string.h>

namespace exactspawn {
namespace {

// enum uv_handle_type, uv.h: the same number since libuv 1.0.
constexpr int kPollType = 8;

template <typename Function>
bool find(const char* name, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return *out != nullptr;
}

}  // namespace

bool find_uv_calls(UvCalls* out) {
  size_t (*handle_size)(int type);
  const char* (*handle_type_name)(int type);
  if (!find("uv_handle_size", &handle_size) || !find("uv_handle_type_name", &handle_type_name)) return false;
  const char* name = handle_type_name(kPollType);
  if (name == nullptr || strcmp(name, "poll") != 0) return false;
  out->handle_bytes = handle_size(kPollType);
  return find("uv_poll_init", &out->poll_init) && find("uv_poll_start", &out->poll_start) &&
         find("uv_poll_stop", &out->poll_stop) && find("uv_unref", &out->unreference) &&
         find("uv_close", &out->close);
}

}  // namespace exactspawn
