#include "marshal.h"

namespace exactspawn {

std::string bytes_of(const Napi::Value& value) {
  if (value.IsEmpty() || !value.IsTypedArray()) return {};
  auto array = value.As<Napi::Uint8Array>();
  return std::string(reinterpret_cast<const char*>(array.Data()), array.ByteLength());
}

Napi::Value to_js(Napi::Env env, const SysError& error) {
  Napi::Array array = Napi::Array::New(env, 4);
  array.Set(0u, static_cast<double>(error.stage));
  array.Set(1u, static_cast<double>(error.syscall));
  array.Set(2u, static_cast<double>(error.errnum));
  array.Set(3u, static_cast<double>(error.index));
  return array;
}

}  // namespace exactspawn
