// Work of the core that one thread does alone, so that an instruction counter gives the same number each time.
//
//   count filter MIB     that much log text through a filter of eight secrets, in chunks as a drain reads them
//   count retain MIB     that much output into a head and a tail of 64 KiB
//   count plan COUNT     that many maps of eight descriptors with a cycle, compiled
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <string>
#include <vector>

#include "fd_plan.h"
#include "filter.h"
#include "retention.h"

namespace {

using namespace exactspawn;

constexpr size_t kKiB = 1024;
constexpr size_t kChunk = 256 * kKiB;

uint32_t next_random() {
  static uint32_t seed = 12345;
  seed = seed * 1664525 + 1013904223;
  return seed >> 16;
}

std::string random_text(size_t size, const char* letters) {
  std::string text;
  for (size_t i = 0; i < size; i++) text += letters[next_random() % strlen(letters)];
  return text;
}

struct Kept : Sink {
  Retention retention{64 * kKiB, 64 * kKiB};
  void write(const uint8_t* bytes, size_t size) override { retention.append(bytes, size); }
};

void filter(size_t mib) {
  std::vector<std::string> secrets;
  for (int i = 0; i < 8; i++) secrets.push_back(random_text(40, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"));
  std::string text = random_text(kChunk, "etaoin shrdlu ETAOIN 0123456789 cmfwyp vbgkjqxz ./:=-_[]{}\"\n");
  text.replace(1000, secrets[0].size(), secrets[0]);
  Filter filter(SecretSet::make(secrets));
  Kept kept;
  std::unique_ptr<uint8_t[]> buffer(new uint8_t[filter.headroom() + kChunk]);
  // The filter writes in front of a chunk and never into it, so that one copy serves all turns.
  memcpy(buffer.get() + filter.headroom(), text.data(), kChunk);
  for (size_t done = 0; done < mib * kKiB * kKiB; done += kChunk) {
    filter.feed(buffer.get() + filter.headroom(), kChunk, kept);
  }
  filter.finish(kept);
}

void retain(size_t mib) {
  std::vector<uint8_t> chunk(kChunk, 'x');
  Kept kept;
  for (size_t done = 0; done < mib * kKiB * kKiB; done += kChunk) kept.write(chunk.data(), kChunk);
}

void plan(size_t count) {
  const std::vector<FdMapping> map = {{0, 20}, {1, 22}, {2, 24}, {3, 4}, {4, 3}, {5, 5}, {9, 30}, {30, 9}};
  for (size_t i = 0; i < count; i++) {
    if (compile_fd_plan(map, {7}).steps.empty()) abort();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc == 3 ? argv[1] : "";
  const size_t count = argc == 3 ? static_cast<size_t>(atol(argv[2])) : 0;
  if (strcmp(what, "filter") == 0) filter(count);
  else if (strcmp(what, "retain") == 0) retain(count);
  else if (strcmp(what, "plan") == 0) plan(count);
  else return fprintf(stderr, "count: filter, retain or plan, and how much\n"), 64;
  return 0;
}
