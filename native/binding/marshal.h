// Between JS values and core structures. Decides nothing: lib/process has checked every value.
#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "spawn_request.h"
#include "sys_error.h"

namespace exactspawn {

// Reads fields of one options object.
class Fields {
 public:
  explicit Fields(const Napi::Value& object) : object_(object.As<Napi::Object>()) {}

  bool has(const char* name) const;
  double number(const char* name, double otherwise = 0) const;
  bool flag(const char* name) const { return number(name) != 0; }
  std::string bytes(const char* name) const;
  std::vector<std::string> byte_list(const char* name) const;
  std::vector<double> numbers(const char* name) const;
  // Strings one after another, each with its NUL.
  StringBlock block(const char* name) const;
  std::vector<std::string> strings(const char* name) const;

 private:
  Napi::Object object_;
};

std::string bytes_of(const Napi::Value& value);

// [stage, syscall, errno, index], which TypeScript words.
Napi::Value to_js(Napi::Env env, const SysError& error);

}  // namespace exactspawn
