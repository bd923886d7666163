// What each file of this folder adds to the module.
#pragma once

#include <napi.h>

namespace exactspawn {

void export_children(Napi::Env env, Napi::Object exports);
void export_pipes(Napi::Env env, Napi::Object exports);
void export_directories(Napi::Env env, Napi::Object exports);
void export_platform(Napi::Env env, Napi::Object exports);

// One function of the module, by its JS name.
inline void export_function(Napi::Env env, Napi::Object exports, const char* name,
                            Napi::Value (*body)(const Napi::CallbackInfo&)) {
  exports.Set(name, Napi::Function::New(env, body, name));
}

inline uint32_t id_argument(const Napi::CallbackInfo& info, size_t index = 0) {
  return info[index].As<Napi::Number>().Uint32Value();
}

}  // namespace exactspawn
