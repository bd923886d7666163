// Retention against the stream it was given: what is kept, what is counted, what it costs.
#include "../core/retention.h"

#include <algorithm>
#include <string>

#include "harness.h"

namespace exactspawn {
namespace {

std::string pattern(size_t size) {
  std::string bytes(size, '\0');
  // A prime period: no block, ring or wrap is a multiple of it, so a shifted copy is never equal.
  for (size_t i = 0; i < size; i++) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

void append(Retention& retention, const std::string& bytes) {
  retention.append(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::string head_of(const Retention& retention) {
  std::string out(retention.head_size(), '?');
  retention.copy_head(reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

std::string tail_of(const Retention& retention) {
  std::string out(retention.tail_size(), '?');
  retention.copy_tail(reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

// What any retention must hold after `stream`, whatever its chunks were.
void check_against(const Retention& retention, const std::string& stream, size_t head_limit,
                   size_t tail_limit) {
  size_t head = std::min(stream.size(), head_limit);
  size_t tail = std::min(stream.size() - head, tail_limit);
  CHECK_EQ(head_of(retention), stream.substr(0, head));
  CHECK_EQ(tail_of(retention), stream.substr(stream.size() - tail));
  CHECK_EQ(retention.kept(), head + tail);
  CHECK_EQ(retention.omitted(), stream.size() - head - tail);
}

void check_in_chunks(size_t head_limit, size_t tail_limit, size_t size, size_t chunk) {
  Retention retention(head_limit, tail_limit);
  std::string stream = pattern(size);
  for (size_t at = 0; at < size; at += chunk) append(retention, stream.substr(at, chunk));
  check_against(retention, stream, head_limit, tail_limit);
}

}  // namespace

TEST("a retention of nothing counts every byte and holds no memory [M-16]") {
  Retention retention(0, 0);
  CHECK_EQ(retention.omitted(), 0u);
  append(retention, pattern(100000));
  check_against(retention, pattern(100000), 0, 0);
  CHECK_EQ(retention.allocated(), 0u);
}

TEST("a stream without output omits nothing, whatever the limits [M-20]") {
  for (size_t head : {0, 31}) {
    for (size_t tail : {0, 47}) {
      Retention retention(head, tail);
      retention.append(nullptr, 0);
      check_against(retention, "", head, tail);
    }
  }
}

TEST("a head keeps exactly the first bytes and omits from the limit's next byte on [M-16, M-18, M-20]") {
  for (size_t limit : {31, 47, 65536}) {
    for (size_t size : {limit - 1, limit, limit + 1, 3 * limit}) {
      for (size_t chunk : {size_t{1}, size_t{7}, limit, size}) check_in_chunks(limit, 0, size, chunk);
    }
  }
}

TEST("a tail keeps exactly the last bytes, in order [M-20]") {
  for (size_t limit : {1, 31, 20000}) {
    for (size_t size : {limit - 1, limit, limit + 1, 2 * limit, 2 * limit + 3, 5 * limit + 1}) {
      for (size_t chunk : {size_t{1}, limit - 1, limit, limit + 1, 3 * limit + 2, size}) {
        if (chunk > 0) check_in_chunks(0, limit, size, chunk);
      }
    }
  }
}

TEST("a head and a tail omit nothing up to the sum of both and one byte after it [M-20]") {
  for (size_t head : {1, 5, 16}) {
    for (size_t tail : {1, 4, 9}) {
      for (size_t size = 0; size <= head + 3 * tail + 1; size++) {
        for (size_t chunk = 1; chunk <= size; chunk++) check_in_chunks(head, tail, size, chunk);
      }
    }
  }
}

TEST("a chunk larger than the tail leaves the ring right for the chunks after it [M-20]") {
  for (size_t first = 0; first < 12; first++) {
    Retention retention(3, 8);
    std::string stream = pattern(first + 29 + 5);
    append(retention, stream.substr(0, first));
    append(retention, stream.substr(first, 29));
    append(retention, stream.substr(first + 29));
    check_against(retention, stream, 3, 8);
  }
}

TEST("limits that are no multiple of a block keep every byte at the seams [M-18]") {
  for (size_t limit : {16383, 16384, 16385, 40000}) {
    check_in_chunks(limit, limit, 2 * limit, 10007);
    check_in_chunks(limit, limit, 2 * limit + 1, 10007);
    check_in_chunks(limit, limit, 300000, 10007);
    check_in_chunks(limit, limit, 300000, 65536);
  }
}

TEST("all byte values are kept as they came [M-28]") {
  std::string every;
  for (int byte = 0; byte < 256; byte++) every += static_cast<char>(byte);
  for (size_t head : {0, 100, 256}) {
    Retention retention(head, 256 - head);
    append(retention, every);
    CHECK_EQ(head_of(retention) + tail_of(retention), every);
  }
}

TEST("an idle retention holds no memory, a silent one little, a full one no more than its limits [M-18]") {
  Retention retention(1 << 20, (1 << 20) + 1);
  CHECK_EQ(retention.allocated(), 0u);
  append(retention, "one line\n");
  CHECK(retention.allocated() <= 16384);
  size_t previous = 0;
  for (int i = 0; i < 100; i++) {
    append(retention, pattern(60000));
    CHECK(retention.allocated() >= previous);
    CHECK(retention.allocated() <= retention.kept() + 2 * 16384);
    CHECK(retention.allocated() <= (2u << 20) + 1);
    previous = retention.allocated();
  }
  CHECK_EQ(retention.allocated(), (2u << 20) + 1);
}

TEST("totals stay exact past four gibibytes [M-20]") {
  Retention retention(16, 16);
  std::string chunk = pattern(1 << 20);
  const uint64_t chunks = 4100;
  for (uint64_t i = 0; i < chunks; i++) append(retention, chunk);
  CHECK_EQ(retention.kept(), 32u);
  CHECK_EQ(retention.omitted(), chunks * chunk.size() - 32);
  CHECK_EQ(tail_of(retention), chunk.substr(chunk.size() - 16));
}

}  // namespace exactspawn
