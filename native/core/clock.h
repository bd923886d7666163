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

// The instant `ms` after `now`; negative means never. Saturates. A reading of the clock has lost up to a millisecond, and
// what was promised a time must have all of it; nothing is nothing.
inline int64_t deadline_after(int64_t now, int64_t ms) {
  if (ms == 0) return now;
  return ms < 0 || ms >= kNever - now ? kNever : now + ms + 1;
}

inline int64_t deadline_in(int64_t ms) { return deadline_after(now_ms(), ms); }

}  // namespace exactspawn
