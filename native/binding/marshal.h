// Between JS values and core structures. Decides nothing: lib/process has checked every value.
#pragma once

#include <napi.h>

#include <string>

#include "sys_error.h"

namespace exactspawn {

std::string bytes_of(const Napi::Value& value);

// [stage, syscall, errno, index], which TypeScript words.
Napi::Value to_js(Napi::Env env, const SysError& error);

}  // namespace exactspawn
