#include "retention.h"

#include <algorithm>
#include <cstring>

namespace exactspawn {

namespace {

// Large enough that copying runs at memory speed, small enough that a thousand children of one line each stay
// cheap.
constexpr size_t kBlockBytes = 16 * 1024;

}  // namespace

size_t GrowingBytes::allocated() const { return std::min(blocks_.size() * kBlockBytes, limit_); }

void GrowingBytes::write(size_t offset, const uint8_t* bytes, size_t size) {
  while (size > 0) {
    size_t index = offset / kBlockBytes;
    while (blocks_.size() <= index) {
      size_t room = limit_ - blocks_.size() * kBlockBytes;
      blocks_.emplace_back(new uint8_t[std::min(kBlockBytes, room)]);
    }
    size_t within = offset % kBlockBytes;
    size_t part = std::min(size, kBlockBytes - within);
    memcpy(blocks_[index].get() + within, bytes, part);
    offset += part;
    bytes += part;
    size -= part;
  }
}

void GrowingBytes::read(size_t offset, uint8_t* out, size_t size) const {
  while (size > 0) {
    size_t within = offset % kBlockBytes;
    size_t part = std::min(size, kBlockBytes - within);
    memcpy(out, blocks_[offset / kBlockBytes].get() + within, part);
    offset += part;
    out += part;
    size -= part;
  }
}

void Retention::append(const uint8_t* bytes, size_t size) {
  size_t to_head = std::min(size, head_.limit() - head_size_);
  head_.write(head_size_, bytes, to_head);
  head_size_ += to_head;
  append_tail(bytes + to_head, size - to_head);
}

void Retention::append_tail(const uint8_t* bytes, size_t size) {
  // Bytes that this very append pushes out again are counted and never copied.
  size_t to_ring = std::min(size, tail_.limit());
  bytes += size - to_ring;
  tail_total_ += size - to_ring;
  if (to_ring > 0) {
    size_t at = tail_total_ % tail_.limit();
    size_t before_wrap = std::min(to_ring, tail_.limit() - at);
    tail_.write(at, bytes, before_wrap);
    tail_.write(0, bytes + before_wrap, to_ring - before_wrap);
  }
  tail_total_ += to_ring;
}

size_t Retention::tail_size() const {
  return static_cast<size_t>(std::min<uint64_t>(tail_total_, tail_.limit()));
}

void Retention::copy_tail(uint8_t* out) const {
  size_t size = tail_size();
  if (size == 0) return;
  size_t oldest = (tail_total_ - size) % tail_.limit();
  size_t before_wrap = std::min(size, tail_.limit() - oldest);
  tail_.read(oldest, out, before_wrap);
  tail_.read(0, out + before_wrap, size - before_wrap);
}

}  // namespace exactspawn
