// What a drain keeps of a stream: its first bytes, its last bytes, both or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace exactspawn {

// A byte array of a fixed size whose memory comes block by block, as bytes are written: a stream that stays
// silent costs nothing, and growing neither moves bytes nor holds an old and a new copy at once. Thread: one
// at a time. Blocks: no. Fails: never.
class GrowingBytes {
 public:
  explicit GrowingBytes(size_t limit) : limit_(limit) {}

  size_t limit() const { return limit_; }
  // Memory held for bytes; at most the limit.
  size_t allocated() const;
  // Preconditions: offset + size is at most the limit; what is read has been written.
  void write(size_t offset, const uint8_t* bytes, size_t size);
  void read(size_t offset, uint8_t* out, size_t size) const;

 private:
  size_t limit_;
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
};

// Keeps the first head_limit bytes and the last tail_limit bytes after them; either limit may be 0. A byte is
// omitted only when neither holds it: a stream of exactly head_limit + tail_limit bytes omits nothing, and
// the omitted bytes lie between head and tail. Memory: the kept bytes rounded up to a block, never more than
// both limits, and a pointer for each block. Thread: one at a time; whoever shares it takes counts and bytes
// under the lock it appends under, so that they belong together. Blocks: no. Fails: never.
class Retention {
 public:
  Retention(size_t head_limit, size_t tail_limit) : head_(head_limit), tail_(tail_limit) {}

  void append(const uint8_t* bytes, size_t size);

  // Whether nothing of what comes now would be kept; then it need not be read, only counted.
  bool full() const { return tail_.limit() == 0 && head_size_ == head_.limit(); }
  void skip(uint64_t size) { tail_total_ += size; }

  size_t head_size() const { return head_size_; }
  size_t tail_size() const;
  uint64_t kept() const { return static_cast<uint64_t>(head_size()) + tail_size(); }
  uint64_t omitted() const { return head_size_ + tail_total_ - kept(); }
  size_t allocated() const { return head_.allocated() + tail_.allocated(); }

  // Write head_size() and tail_size() bytes, oldest first.
  void copy_head(uint8_t* out) const { head_.read(0, out, head_size_); }
  void copy_tail(uint8_t* out) const;

 private:
  void append_tail(const uint8_t* bytes, size_t size);

  GrowingBytes head_;
  // A ring: byte n of those that came after the head lies at n modulo the limit.
  GrowingBytes tail_;
  size_t head_size_ = 0;
  uint64_t tail_total_ = 0;
};

}  // namespace exactspawn
