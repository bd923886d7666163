// Secrets and texts to try the filter and its search with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../core/filter.h"

namespace exactspawn {

using Strings = std::vector<std::string>;

inline const std::string kSecret = "sk-live-0123456789abcdefghijklmnopqrstuv";  // 40 bytes, as in B104

// Xorshift with a fixed seed: a failure repeats.
struct Random {
  uint64_t state = 88172645463325252u;
  size_t below(size_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<size_t>((state >> 16) % bound);
  }
  std::string text(size_t size, size_t letters) {
    std::string out;
    while (out.size() < size) out += static_cast<char>('a' + below(letters));
    return out;
  }
  // Half of them are cut from the first, so that prefixes, suffixes and overlaps are common.
  Strings secrets(size_t letters) {
    Strings out;
    for (size_t count = 1 + below(4); count > 0; count--) {
      std::string secret = text(4 + below(6), letters);
      if (!out.empty() && below(2) == 0) secret = out[0].substr(below(3)) + text(3, letters);
      out.push_back(secret.size() < kMinSecretBytes ? secret + "aaaa" : secret);
    }
    return out;
  }
  // Long enough for the search to look at several stretches at once, with few or many of the secrets and parts of them.
  std::string long_text(const Strings& secrets) {
    std::string out = text(4000 + below(8000), below(2) == 0 ? 2 : 26);
    for (size_t count = below(2) == 0 ? below(4) : below(60); count > 0; count--) {
      const std::string& secret = secrets[below(secrets.size())];
      size_t size = secret.size() - below(2);
      out.replace(below(out.size()), size, secret, 0, size);
    }
    return out;
  }
};

}  // namespace exactspawn
