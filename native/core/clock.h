// Monotonic time. Relative durations stop at the API's edge; inside there are only absolute instants.
#pragma once

#include <time.h>

#include <cstdint>

namespace exactspawn {

// Milliseconds of CLOCK_MONOTONIC, which does not jump when the wall clock is set.
inline int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

// Microseconds of the same clock, for waits that are shorter than one of those.
inline int64_t now_us() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

inline constexpr int64_t kNever = INT64_MAX;

// The instant `ms` from now; negative means never. Saturates.
inline int64_t deadline_in(int64_t ms) {
  if (ms < 0) return kNever;
  int64_t now = now_ms();
  return ms > kNever - now ? kNever : now + ms;
}

}  // namespace exactspawn
