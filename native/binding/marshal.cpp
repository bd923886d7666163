#include "marshal.h"

#include <string.h>

namespace exactspawn {

bool Fields::has(const char* name) const {
  Napi::Value value = object_.Get(name);
  return !value.IsEmpty() && !value.IsUndefined() && !value.IsNull();
}

double Fields::number(const char* name, double otherwise) const {
  Napi::Value value = object_.Get(name);
  if (value.IsEmpty()) return otherwise;
  if (value.IsBoolean()) return value.As<Napi::Boolean>().Value() ? 1 : 0;
  return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : otherwise;
}

std::string bytes_of(const Napi::Value& value) {
  if (value.IsEmpty() || !value.IsTypedArray()) return {};
  auto array = value.As<Napi::Uint8Array>();
  return std::string(reinterpret_cast<const char*>(array.Data()), array.ByteLength());
}

std::string Fields::bytes(const char* name) const { return bytes_of(object_.Get(name)); }

std::vector<std::string> Fields::byte_list(const char* name) const {
  std::vector<std::string> list;
  Napi::Value value = object_.Get(name);
  if (value.IsEmpty() || !value.IsArray()) return list;
  auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) list.push_back(bytes_of(array.Get(i)));
  return list;
}

std::vector<double> Fields::numbers(const char* name) const {
  Napi::Value value = object_.Get(name);
  if (value.IsEmpty() || !value.IsTypedArray()) return {};
  auto array = value.As<Napi::Float64Array>();
  return std::vector<double>(array.Data(), array.Data() + array.ElementLength());
}

StringBlock Fields::block(const char* name) const {
  StringBlock block;
  block.bytes = bytes(name);
  for (char byte : block.bytes) {
    if (byte == 0) block.count++;
  }
  return block;
}

std::vector<std::string> Fields::strings(const char* name) const {
  StringBlock packed = block(name);
  std::vector<std::string> list;
  const char* at = packed.bytes.data();
  for (uint32_t i = 0; i < packed.count; i++) {
    list.emplace_back(at);
    at += list.back().size() + 1;
  }
  return list;
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
