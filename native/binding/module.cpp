// The module's entry. Registered by the well-known symbol, not by a static constructor: that one runs once a process,
// and a second load, in a worker, would find nothing [B096].
#include <napi.h>

#include "environment.h"
#include "exports.h"

static Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exactspawn::Environment::install(env);
  exactspawn::export_children(env, exports);
  exactspawn::export_pipes(env, exports);
  exactspawn::export_directories(env, exports);
  exactspawn::export_platform(env, exports);
  return exports;
}

NODE_API_MODULE(exactspawn, initialize)
