// Plain values from lib/addon/packer.ts, read in the order in which they were laid. From memory, and with nothing that the
// engine could refuse: in a worker that is being terminated every property reads as absent from one moment to the next, and
// a child whose `owned` came last was started as a detached one, which outlived its host.
#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "spawn_request.h"

namespace exactspawn {

class Unpacker {
 public:
  // Borrows both arrays for the call.
  Unpacker(const Napi::Value& numbers, const Napi::Value& bytes);

  double number();
  template <typename T>
  T integer() {
    T value = T();
    optional(&value);
    return value;
  }
  bool flag() { return number() != 0; }
  // False, and nothing is set, when null was laid.
  template <typename T>
  bool optional(T* out) {
    double value = number();
    bool given = value == value;
    if (given) *out = static_cast<T>(value);
    return given;
  }
  bool optional(std::vector<double>* out);
  bool optional(std::string* out);
  std::string bytes();
  std::vector<std::string> byte_list();
  StringBlock strings();
  std::vector<std::string> string_list();

  // More was read than was laid: the two halves do not fit together.
  bool overrun() const { return overrun_; }

 private:
  size_t count();
  std::string take(size_t size);

  const double* numbers_;
  size_t numbers_left_;
  const char* bytes_;
  size_t bytes_left_;
  bool overrun_ = false;
};

}  // namespace exactspawn
