#include "unpacker.h"

#include <string.h>

namespace exactspawn {

Unpacker::Unpacker(const Napi::Value& numbers, const Napi::Value& bytes) {
  auto number_array = numbers.As<Napi::Float64Array>();
  numbers_ = number_array.Data();
  numbers_left_ = number_array.ElementLength();
  auto byte_array = bytes.As<Napi::Uint8Array>();
  bytes_ = reinterpret_cast<const char*>(byte_array.Data());
  bytes_left_ = byte_array.ByteLength();
}

double Unpacker::number() {
  if (numbers_left_ == 0) {
    overrun_ = true;
    return 0;
  }
  numbers_left_--;
  return *numbers_++;
}

bool Unpacker::optional(std::vector<double>* out) {
  size_t size;
  if (!optional(&size)) return false;
  for (size_t i = 0; i < size && !overrun_; i++) out->push_back(number());
  return true;
}

bool Unpacker::optional(std::string* out) {
  size_t size;
  if (!optional(&size)) return false;
  *out = take(size);
  return true;
}

std::string Unpacker::bytes() { return take(integer<size_t>()); }

std::vector<std::string> Unpacker::byte_list() {
  std::vector<std::string> list(count());
  for (std::string& item : list) item = bytes();
  return list;
}

StringBlock Unpacker::strings() {
  StringBlock block;
  block.count = integer<uint32_t>();
  block.bytes = take(integer<size_t>());
  return block;
}

std::vector<std::string> Unpacker::string_list() {
  StringBlock block = strings();
  std::vector<std::string> list;
  const char* at = block.bytes.data();
  for (uint32_t i = 0; i < block.count; i++) {
    list.emplace_back(at);
    at += list.back().size() + 1;
  }
  return list;
}

// Each of a list has a number of its own: a longer one is none that was laid.
size_t Unpacker::count() {
  auto size = integer<size_t>();
  if (size <= numbers_left_) return size;
  overrun_ = true;
  return 0;
}

std::string Unpacker::take(size_t size) {
  if (size > bytes_left_) {
    overrun_ = true;
    return {};
  }
  std::string taken(bytes_, size);
  bytes_ += size;
  bytes_left_ -= size;
  return taken;
}

}  // namespace exactspawn
