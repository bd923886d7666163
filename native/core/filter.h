// Removes registered secrets from a stream of bytes before anyone can see it, however the stream is split
// [M-23, M-64]. The only code that sees raw log bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ref.h"

namespace exactspawn {

inline constexpr char kMarker[] = "[redacted]";

// Shorter secrets are refused: they would occur by chance in every log. It is also the part of a secret that
// an ended stream may still show.
inline constexpr size_t kMinSecretBytes = 4;

// Where filtered bytes go. `bytes` is borrowed until write returns; size is never 0.
struct Sink {
  virtual void write(const uint8_t* bytes, size_t size) = 0;

 protected:
  ~Sink() = default;
};

// The secrets of one child, with what is needed to find them fast. Immutable. Thread: any. Blocks: no.
class SecretSet : public Counted<SecretSet> {
 public:
  // Null when there are no secrets. Repeated ones cost nothing. Aborts on one shorter than kMinSecretBytes:
  // the caller has refused it, and leaving it out here would show it.
  static Ref<SecretSet> make(std::vector<std::string> secrets);

  size_t longest() const { return longest_; }

  // The first occurrence that starts in [from, stop) and ends by `end`; of several with that start the
  // longest. Null when there is none. Time: sublinear in the text. Only a secret that repeats itself
  // ("aaaa…") in a text that repeats it too makes it compare nearly the whole secret at every start.
  const uint8_t* find(const uint8_t* from, const uint8_t* stop, const uint8_t* end, size_t* size) const;

  // The length of the longest suffix of [begin, end) that is a proper prefix of a secret: what may yet become
  // an occurrence. Time: linear in the sizes of the secrets, whatever the size of the text.
  size_t unfinished(const uint8_t* begin, const uint8_t* end) const;

 private:
  struct Secret {
    std::string bytes;
    // borders[n] is the length of the longest proper prefix of the first n + 1 bytes that is also their
    // suffix (the failure function of Knuth, Morris and Pratt).
    std::vector<uint32_t> borders;
    uint32_t key;  // of the last block of its window
  };
  static constexpr int kKeyBits = 12;

  explicit SecretSet(std::vector<std::string> secrets);
  static uint32_t key_of(const uint8_t* block_end);
  size_t longest_at(const uint8_t* at, const uint8_t* end, uint32_t key) const;
  // How far the window may move. 0 where a secret occurs.
  size_t move_of(const uint8_t* window_end, const uint8_t* end, size_t* size) const;
  const uint8_t* find_in_one_lane(const uint8_t* at, const uint8_t* stop, const uint8_t* end, size_t* size) const;
  const uint8_t* find_in_lanes(const uint8_t* from, const uint8_t* end, size_t* size) const;

  std::vector<Secret> secrets_;  // by key, then the longest first
  size_t longest_ = 0;
  size_t window_ = 0;
  // By key: how far the window may move. 0 where the block ends the window of a secret.
  uint8_t shifts_[1 << kKeyBits];
};

// Filters one stream. All occurrences of all secrets go; overlapping ones form one region and leave one
// marker, touching ones leave one each. Every other byte passes unchanged and in order. Nothing waits but the
// longest suffix that may yet become an occurrence, so a prompt without a newline shows at once. Memory: the
// longest secret less one byte, from the first suffix withheld on. Thread: one at a time. Blocks: as the
// sink. Fails: never.
class Filter {
 public:
  explicit Filter(Ref<SecretSet> secrets) : secrets_(std::move(secrets)) {}

  // The scratch bytes that feed needs in front of a chunk. 0 without secrets.
  size_t headroom() const { return secrets_ ? secrets_->longest() - 1 : 0; }

  // Whether bytes pass as they come: there is nothing to find.
  bool transparent() const { return !secrets_; }

  // [chunk - headroom(), chunk) is scratch: the filter puts the withheld suffix there, next to the new bytes.
  void feed(uint8_t* chunk, size_t size, Sink& sink);

  // The stream has ended. A withheld part of a secret becomes a marker, unless it is so short that it says
  // nothing: below kMinSecretBytes it is written as it is [M-24, X-13].
  void finish(Sink& sink);

 private:
  void withhold(const uint8_t* bytes, size_t size);

  Ref<SecretSet> secrets_;
  std::unique_ptr<uint8_t[]> withheld_;
  size_t withheld_size_ = 0;
  // How many of the withheld bytes lie in a region whose marker is already written.
  size_t covered_ = 0;
};

}  // namespace exactspawn
