// The search against a naive one, in texts long enough for its lanes.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "filter_case.h"
#include "harness.h"

namespace exactspawn {
namespace {

using Places = std::vector<std::pair<size_t, size_t>>;  // where an occurrence starts, and its size

// All that the search finds, each the first behind the one before.
Places found(const Ref<SecretSet>& set, const std::string& text, size_t stop) {
  // Of exactly the size, so that a sanitizer sees a byte read outside of it.
  std::unique_ptr<uint8_t[]> bytes(new uint8_t[text.size()]);
  std::copy(text.begin(), text.end(), bytes.get());
  Places out;
  const uint8_t* from = bytes.get();
  size_t size = 0;
  while (const uint8_t* at = set->find(from, bytes.get() + stop, bytes.get() + text.size(), &size)) {
    out.emplace_back(at - bytes.get(), size);
    from = at + 1;
  }
  return out;
}

Places places(const Strings& secrets, const std::string& text, size_t stop) {
  Places out;
  for (size_t at = 0; at < stop; at++) {
    size_t longest = 0;
    for (const std::string& secret : secrets) {
      if (text.compare(at, secret.size(), secret) == 0) longest = std::max(longest, secret.size());
    }
    if (longest > 0) out.emplace_back(at, longest);
  }
  return out;
}

}  // namespace

TEST("a secret at any place of a long text is found there and nowhere else [M-64]") {
  const size_t size = 10000;  // a first lane, two rows of lanes, and a rest
  for (const std::string& secret : {std::string("abcd"), kSecret, std::string(600, 'k') + "y"}) {
    Ref<SecretSet> set = SecretSet::make({secret});
    for (size_t at = 0; at + secret.size() <= size; at++) {
      std::string text(size, '.');
      text.replace(at, secret.size(), secret);
      CHECK(found(set, text, size) == (Places{{at, secret.size()}}));
    }
  }
}

TEST("of two secrets in a long text the first is found first, however far apart they are [M-64]") {
  Ref<SecretSet> set = SecretSet::make({kSecret, "wxyz"});
  for (size_t first = 500; first < 5000; first += 97) {
    for (size_t second = first + 4; second < 5000; second += 53) {
      std::string text(5000 + kSecret.size(), '.');
      text.replace(first, 4, "wxyz").replace(second, kSecret.size(), kSecret);
      CHECK(found(set, text, text.size()) == (Places{{first, 4}, {second, kSecret.size()}}));
    }
  }
}

TEST("in random long texts the search finds what a naive one finds, and no start beyond its stop [M-64]") {
  Random random;
  for (int round = 0; round < 1500; round++) {
    Strings secrets = random.secrets(2 + random.below(2));
    if (random.below(2) == 0) secrets.push_back(secrets[0] + random.text(random.below(300), 2));
    std::string text = random.long_text(secrets);
    size_t stop = text.size() - random.below(600);
    CHECK(found(SecretSet::make(secrets), text, stop) == places(secrets, text, stop));
  }
}

}  // namespace exactspawn
