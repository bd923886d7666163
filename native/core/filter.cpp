#include "filter.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace exactspawn {

namespace {

// The search is Wu and Manber's ("A fast algorithm for multi-pattern searching", 1994): a window as long as
// the shortest secret looks at its last block only, and a table says how far it may move before that block
// could belong to any secret. Measured against blocks of three and four bytes: two are faster everywhere but
// in hexadecimal text with hexadecimal secrets, and there they still pass 4 GB/s.
constexpr size_t kBlockBytes = 2;

// The largest whose shifts still fit a byte, so that the table stays at 4 KiB.
constexpr size_t kMaxWindowBytes = UINT8_MAX - 1 + kBlockBytes;

// Each move of the window waits for the one before it: two bytes, a product, a table, the next place. In that time a
// CPU could make several moves that do not wait for each other, so that many windows move over as many stretches in
// turn. Measured: four lanes take a third longer than eight; longer stretches are no faster, and more of them is
// searched for nothing when a secret stands in an earlier one.
constexpr int kLanes = 8;
constexpr ptrdiff_t kLaneBytes = 512;

void write_marker(Sink& sink) { sink.write(reinterpret_cast<const uint8_t*>(kMarker), sizeof kMarker - 1); }

const uint8_t* bytes_of(const std::string& text) { return reinterpret_cast<const uint8_t*>(text.data()); }

std::vector<uint32_t> borders_of(const std::string& secret) {
  std::vector<uint32_t> borders(secret.size(), 0);
  uint32_t matched = 0;
  for (size_t i = 1; i < secret.size(); i++) {
    while (matched > 0 && secret[i] != secret[matched]) matched = borders[matched - 1];
    if (secret[i] == secret[matched]) matched++;
    borders[i] = matched;
  }
  return borders;
}

}  // namespace

Ref<SecretSet> SecretSet::make(std::vector<std::string> secrets) {
  for (const std::string& secret : secrets) {
    if (secret.size() < kMinSecretBytes) abort();
  }
  std::sort(secrets.begin(), secrets.end());
  secrets.erase(std::unique(secrets.begin(), secrets.end()), secrets.end());
  if (secrets.empty()) return {};
  return new SecretSet(std::move(secrets));
}

SecretSet::SecretSet(std::vector<std::string> secrets) {
  window_ = kMaxWindowBytes;
  for (const std::string& secret : secrets) {
    window_ = std::min(window_, secret.size());
    longest_ = std::max(longest_, secret.size());
  }
  memset(shifts_, static_cast<int>(window_ - kBlockBytes + 1), sizeof shifts_);
  secrets_.reserve(secrets.size());
  for (std::string& secret : secrets) {
    const uint8_t* bytes = bytes_of(secret);
    for (size_t end = kBlockBytes; end <= window_; end++) {
      uint8_t& shift = shifts_[key_of(bytes + end)];
      shift = std::min(shift, static_cast<uint8_t>(window_ - end));
    }
    uint32_t key = key_of(bytes + window_);
    std::vector<uint32_t> borders = borders_of(secret);
    secrets_.push_back({std::move(secret), std::move(borders), key});
  }
  std::sort(secrets_.begin(), secrets_.end(), [](const Secret& a, const Secret& b) {
    return a.key != b.key ? a.key < b.key : a.bytes.size() > b.bytes.size();
  });
}

uint32_t SecretSet::key_of(const uint8_t* block_end) {
  // In the machine's own order of bytes, which is one load: a hash has no order.
  uint16_t block;
  memcpy(&block, block_end - kBlockBytes, kBlockBytes);
  // Fibonacci hashing: the high bits of the product depend on every bit of the block.
  return block * 0x9E3779B1u >> (32 - kKeyBits);
}

size_t SecretSet::longest_at(const uint8_t* at, const uint8_t* end, uint32_t key) const {
  auto secret = std::lower_bound(secrets_.begin(), secrets_.end(), key,
                                 [](const Secret& a, uint32_t wanted) { return a.key < wanted; });
  for (; secret != secrets_.end() && secret->key == key; ++secret) {
    size_t size = secret->bytes.size();
    if (size <= static_cast<size_t>(end - at) && memcmp(at, secret->bytes.data(), size) == 0) return size;
  }
  return 0;
}

inline size_t SecretSet::move_of(const uint8_t* window_end, const uint8_t* end, size_t* size) const {
  uint32_t key = key_of(window_end);
  size_t shift = shifts_[key];
  if (shift > 0) [[likely]] return shift;
  *size = longest_at(window_end - window_, end, key);
  return *size > 0 ? 0 : 1;
}

const uint8_t* SecretSet::find_in_one_lane(const uint8_t* at, const uint8_t* stop, const uint8_t* end,
                                           size_t* size) const {
  while (at < stop) {
    size_t shift = move_of(at + window_, end, size);
    if (shift == 0) return at;
    at += shift;
  }
  return nullptr;
}

const uint8_t* SecretSet::find_in_lanes(const uint8_t* from, const uint8_t* end, size_t* size) const {
  const uint8_t* first_window = from + window_;
  const uint8_t* windows[kLanes];
  // All three loops are unrolled: one that is not keeps the windows of all of them in memory instead of registers.
#pragma GCC unroll 8
  for (int lane = 0; lane < kLanes; lane++) windows[lane] = first_window + lane * kLaneBytes;
  bool found = false;
  for (bool moved = true; moved && !found;) {
    moved = false;
#pragma GCC unroll 8
    for (int lane = 0; lane < kLanes; lane++) {
      if (windows[lane] >= first_window + (lane + 1) * kLaneBytes) continue;
      size_t shift = move_of(windows[lane], end, size);
      found = shift == 0;
      if (found) break;
      windows[lane] += shift;
      moved = true;
    }
  }
  // What a later lane has found may not be the first: those before it still go to their ends. If none has found
  // anything, all of them are there.
#pragma GCC unroll 8
  for (int lane = 0; lane < kLanes; lane++) {
    const uint8_t* stop = from + (lane + 1) * kLaneBytes;
    if (const uint8_t* at = find_in_one_lane(windows[lane] - window_, stop, end, size)) return at;
  }
  return nullptr;
}

const uint8_t* SecretSet::find(const uint8_t* from, const uint8_t* stop, const uint8_t* end,
                               size_t* size) const {
  if (static_cast<size_t>(end - from) < window_) return nullptr;
  // From here on every start has a whole window before `end`.
  stop = std::min(stop, end - window_ + 1);
  // The first stretch alone: the next call passes again over what lanes behind a secret have passed, and where secrets
  // stand close together that would be most of the work.
  const uint8_t* rest = from + std::min(stop - from, kLaneBytes);
  if (const uint8_t* at = find_in_one_lane(from, rest, end, size)) return at;
  for (; stop - rest >= kLanes * kLaneBytes; rest += kLanes * kLaneBytes) {
    if (const uint8_t* at = find_in_lanes(rest, end, size)) return at;
  }
  return find_in_one_lane(rest, stop, end, size);
}

size_t SecretSet::unfinished(const uint8_t* begin, const uint8_t* end) const {
  size_t longest = 0;
  for (const Secret& secret : secrets_) {
    const uint8_t* bytes = bytes_of(secret.bytes);
    size_t reach = std::min(static_cast<size_t>(end - begin), secret.bytes.size() - 1);
    if (reach <= longest) continue;
    const void* first = memchr(end - reach, bytes[0], reach - longest);
    if (first == nullptr) continue;
    size_t matched = 0;
    for (auto at = static_cast<const uint8_t*>(first); at < end; at++) {
      while (matched > 0 && *at != bytes[matched]) matched = secret.borders[matched - 1];
      if (*at == bytes[matched]) matched++;
    }
    longest = std::max(longest, matched);
  }
  return longest;
}

void Filter::feed(uint8_t* chunk, size_t size, Sink& sink) {
  if (!secrets_) {
    if (size > 0) sink.write(chunk, size);
    return;
  }
  uint8_t* begin = chunk - withheld_size_;
  if (withheld_size_ > 0) memcpy(begin, withheld_.get(), withheld_size_);
  const uint8_t* end = chunk + size;

  // An occurrence that starts before `hold` is complete, or the withheld suffix would be longer. So
  // everything before `hold` is decided now, and everything after it is looked at again with the next chunk.
  const uint8_t* hold = end - secrets_->unfinished(begin, end);
  const uint8_t* done = begin + covered_;
  const uint8_t* from = begin;
  size_t found = 0;
  while (const uint8_t* at = secrets_->find(from, hold, end, &found)) {
    if (at >= done) {
      if (at > done) sink.write(done, static_cast<size_t>(at - done));
      // The marker goes out when the region opens: a chain of overlapping occurrences may never end.
      write_marker(sink);
    }
    done = std::max(done, at + found);
    from = at + 1;
  }
  if (hold > done) sink.write(done, static_cast<size_t>(hold - done));
  covered_ = done > hold ? static_cast<size_t>(done - hold) : 0;
  withhold(hold, static_cast<size_t>(end - hold));
}

void Filter::withhold(const uint8_t* bytes, size_t size) {
  if (size > 0) {
    if (!withheld_) withheld_.reset(new uint8_t[headroom()]);
    memcpy(withheld_.get(), bytes, size);
  }
  withheld_size_ = size;
}

void Filter::finish(Sink& sink) {
  // All that is withheld is one unfinished match, so either all of it goes or no secret fits into it.
  if (withheld_size_ >= kMinSecretBytes) {
    if (covered_ == 0) write_marker(sink);
  } else if (withheld_size_ > covered_) {
    sink.write(withheld_.get() + covered_, withheld_size_ - covered_);
  }
  withheld_size_ = 0;
  covered_ = 0;
}

}  // namespace exactspawn
