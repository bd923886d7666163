// The filter against a naive model that sees the whole stream at once.
#include "../core/filter.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "filter_case.h"
#include "harness.h"

namespace exactspawn {
namespace {

struct Collector : Sink {
  std::string out;
  void write(const uint8_t* bytes, size_t size) override {
    CHECK(size > 0);
    out.append(reinterpret_cast<const char*>(bytes), size);
  }
};

// One filtered stream, with each chunk in a buffer of exactly the promised size, so that a sanitizer sees a
// byte read or written outside of it.
struct Stream {
  Filter filter;
  Collector sink;
  explicit Stream(const Ref<SecretSet>& secrets) : filter(secrets) {}

  void feed(const std::string& chunk) {
    size_t headroom = filter.headroom();
    std::unique_ptr<uint8_t[]> buffer(new uint8_t[headroom + chunk.size()]);
    std::copy(chunk.begin(), chunk.end(), buffer.get() + headroom);
    filter.feed(buffer.get() + headroom, chunk.size(), sink);
  }
  std::string finish() {
    filter.finish(sink);
    return sink.out;
  }
};

// How many bytes at the end of the text may yet become a secret, and so are withheld.
size_t unfinished(const Strings& secrets, const std::string& text) {
  for (size_t size = text.size(); size > 0; size--) {
    for (const std::string& secret : secrets) {
      if (size < secret.size() && text.compare(text.size() - size, size, secret, 0, size) == 0) return size;
    }
  }
  return 0;
}

// The text up to `until` with every occurrence replaced. An ended text counts its unfinished match too.
std::string replaced(const Strings& secrets, const std::string& text, size_t until, size_t extra) {
  std::string out;
  size_t region_end = 0;
  for (size_t at = 0; at < until; at++) {
    size_t longest = extra > 0 && at == text.size() - extra ? extra : 0;
    for (const std::string& secret : secrets) {
      if (text.compare(at, secret.size(), secret) == 0) longest = std::max(longest, secret.size());
    }
    if (longest > 0 && at >= region_end) out += kMarker;
    if (longest > 0) region_end = std::max(region_end, at + longest);
    if (at >= region_end) out += text[at];
  }
  return out;
}

std::string live_model(const Strings& secrets, const std::string& text) {
  return replaced(secrets, text, text.size() - unfinished(secrets, text), 0);
}

std::string final_model(const Strings& secrets, const std::string& text) {
  size_t rest = unfinished(secrets, text);
  return replaced(secrets, text, text.size(), rest >= kMinSecretBytes ? rest : 0);
}

// Feeds the chunks and compares what is out after each of them, and at the end, with the model.
bool agrees(const Strings& secrets, const Ref<SecretSet>& set, const Strings& chunks) {
  Stream stream(set);
  std::string text;
  for (const std::string& chunk : chunks) {
    stream.feed(chunk);
    text += chunk;
    if (stream.sink.out != live_model(secrets, text)) return false;
  }
  return stream.finish() == final_model(secrets, text);
}

// The pieces of the text between the set bits of `cuts`: bit n cuts after byte n.
Strings split(const std::string& text, unsigned cuts) {
  Strings chunks(1);
  for (size_t i = 0; i < text.size(); i++) {
    chunks.back() += text[i];
    if (cuts >> i & 1) chunks.emplace_back();
  }
  return chunks;
}

Strings bytes_of(const std::string& text) {
  Strings chunks;
  for (char byte : text) chunks.emplace_back(1, byte);
  return chunks;
}

std::string filtered(const Strings& secrets, const Strings& chunks) {
  Stream stream(SecretSet::make(secrets));
  for (const std::string& chunk : chunks) stream.feed(chunk);
  return stream.finish();
}

}  // namespace

TEST("a set with a secret shorter than 4 bytes is never made [M-64]") {
  pid_t child = fork();
  if (child == 0) {
    SecretSet::make({"long enough", "abc"});
    _exit(0);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status));
  CHECK_EQ(WTERMSIG(status), SIGABRT);
}

TEST("an empty set is no set and the bytes pass where they lie [M-28]") {
  CHECK(!SecretSet::make({}));
  struct Place : Sink {
    const uint8_t* at = nullptr;
    void write(const uint8_t* bytes, size_t) override { at = bytes; }
  } place;
  Filter filter(nullptr);
  CHECK_EQ(filter.headroom(), 0u);
  uint8_t chunk[3] = {0, 10, 255};
  filter.feed(chunk, 0, place);
  CHECK(place.at == nullptr);
  filter.feed(chunk, sizeof chunk, place);
  CHECK(place.at == chunk);
}

TEST("a secret is removed at every split into two and into three chunks [B104]") {
  const std::string text = "pre " + kSecret + " post\n";
  const std::string expected = "pre [redacted] post\n";
  CHECK_EQ(filtered({kSecret}, {text}), expected);
  CHECK_EQ(filtered({kSecret}, bytes_of(text)), expected);
  for (size_t first = 0; first <= text.size(); first++) {
    for (size_t second = first; second <= text.size(); second++) {
      Strings chunks = {text.substr(0, first), text.substr(first, second - first), text.substr(second)};
      CHECK(agrees({kSecret}, SecretSet::make({kSecret}), chunks));
      CHECK_EQ(filtered({kSecret}, chunks), expected);
    }
  }
}

TEST("no byte of a secret is out while the secret may still be completed [M-23]") {
  Stream stream(SecretSet::make({kSecret}));
  stream.feed("pre ");
  for (size_t i = 0; i + 1 < kSecret.size(); i++) {
    stream.feed(kSecret.substr(i, 1));
    CHECK_EQ(stream.sink.out, "pre ");
  }
  stream.feed(kSecret.substr(kSecret.size() - 1));
  CHECK_EQ(stream.sink.out, "pre [redacted]");
}

TEST("a withheld start that turns out to be no secret comes out unchanged [M-23]") {
  for (size_t size = 1; size < kSecret.size(); size++) {
    Stream stream(SecretSet::make({kSecret}));
    stream.feed(kSecret.substr(0, size));
    CHECK_EQ(stream.sink.out, "");
    stream.feed("~");
    CHECK_EQ(stream.sink.out, kSecret.substr(0, size) + "~");
  }
}

TEST("a prompt without a newline is out at once [B108]") {
  Stream stream(SecretSet::make({kSecret, "hunter2hunter2"}));
  stream.feed("Password: ");
  CHECK_EQ(stream.sink.out, "Password: ");
}

TEST("two streams that share a set do not share what they withhold [M-64]") {
  Ref<SecretSet> set = SecretSet::make({kSecret});
  Stream out(set);
  Stream err(set);
  for (char byte : kSecret) {
    out.feed(std::string(1, byte));
    err.feed("e");
  }
  CHECK_EQ(out.finish(), "[redacted]");
  CHECK_EQ(err.finish(), std::string(kSecret.size(), 'e'));
}

TEST("of secrets that begin alike the longest occurrence is removed [M-64]") {
  Strings secrets = {"abcd", "abcdefgh", "abcdef"};
  CHECK_EQ(filtered(secrets, {"1abcdefgh2"}), "1[redacted]2");
  CHECK_EQ(filtered(secrets, {"1abcdefg2"}), "1[redacted]g2");
  CHECK_EQ(filtered(secrets, bytes_of("1abcdefg2")), "1[redacted]g2");
  CHECK_EQ(filtered(secrets, {"1abcde2abc3"}), "1[redacted]e2abc3");
}

TEST("a secret inside or at the end of another leaves no rest of either [M-64]") {
  CHECK_EQ(filtered({"bcdefg", "abcdefgh"}, {"1abcdefgh2bcdefg3"}), "1[redacted]2[redacted]3");
  CHECK_EQ(filtered({"efgh", "abcdefgh"}, bytes_of("1abcdefgh2efgh3")), "1[redacted]2[redacted]3");
  // The inner one is complete while the outer one is still withheld.
  CHECK_EQ(filtered({"bcde", "abcdef"}, bytes_of("abcdex")), "a[redacted]x");
  CHECK_EQ(filtered({"bcde", "abcdef"}, bytes_of("abcdefx")), "[redacted]x");
}

TEST("overlapping occurrences leave one marker and touching ones two [M-64]") {
  CHECK_EQ(filtered({"abcd", "cdef"}, {"1abcdef2"}), "1[redacted]2");
  CHECK_EQ(filtered({"abcd", "efgh"}, {"1abcdefgh2"}), "1[redacted][redacted]2");
  CHECK_EQ(filtered({"abcd", "efgh"}, bytes_of("1abcdefgh2")), "1[redacted][redacted]2");
  CHECK_EQ(filtered({"abcd", "efgh", "cdef"}, bytes_of("1abcdefgh2")), "1[redacted]2");
}

TEST("a secret that overlaps itself is removed as one region [M-64]") {
  CHECK_EQ(filtered({"abab"}, bytes_of("1ababab2")), "1[redacted]2");
  CHECK_EQ(filtered({"abab"}, {"1abababa2"}), "1[redacted]a2");
  CHECK_EQ(filtered({"aaaa"}, bytes_of("1aaaaaaa2")), "1[redacted]2");
}

TEST("every split of small texts gives what the whole text gives [M-64, B104]") {
  const struct {
    Strings secrets;
    std::string text;
  } examples[] = {
      {{"abab"}, "xababababax"},           {{"abab", "baba"}, "abababbaba"},
      {{"abcd", "cdef"}, "abcdefcdabc"},   {{"bcde", "abcdef"}, "abcdexabcd"},
      {{"aaaa", "aaab"}, "aaaaaabaaa"},    {{"abcd", "efgh"}, "abcdefghabc"},
      {{"aabaa", "abaab"}, "aabaabaabaa"}, {{"abcde", "deabc"}, "abcdeabcdea"},
  };
  for (const auto& example : examples) {
    Ref<SecretSet> set = SecretSet::make(example.secrets);
    for (unsigned cuts = 0; cuts < 1u << (example.text.size() - 1); cuts++) {
      CHECK(agrees(example.secrets, set, split(example.text, cuts)));
    }
  }
}

TEST("random texts, secrets and splits agree with the model after every chunk [M-23, M-64, X-13, B104]") {
  Random random;
  int disagreed = 0;
  for (int round = 0; round < 25000; round++) {
    size_t letters = 1 + random.below(3);
    Strings secrets = random.secrets(letters);
    Ref<SecretSet> set = SecretSet::make(secrets);
    for (int i = 0; i < 8; i++) {
      Strings chunks(1 + random.below(6));
      for (std::string& chunk : chunks) {
        const std::string& secret = secrets[random.below(secrets.size())];
        size_t from = random.below(secret.size());
        if (random.below(3) > 0) chunk = secret.substr(from, 1 + random.below(secret.size()));
        chunk += random.text(random.below(3), letters);
      }
      if (!agrees(secrets, set, chunks)) disagreed++;
    }
  }
  CHECK_EQ(disagreed, 0);
}

TEST("many secrets of many sizes are all found in one text [M-64]") {
  Random random;
  Strings secrets;
  std::string text, expected;
  for (size_t i = 0; i < 600; i++) {
    secrets.push_back(random.text(12 + i, 26));
    text += secrets.back() + "|" + secrets.back().substr(1) + "|";
    expected += std::string(kMarker) + "|" + secrets.back().substr(1) + "|";
  }
  CHECK_EQ(filtered(secrets, {text}), expected);
  Strings chunks;
  for (size_t at = 0; at < text.size(); at += 1009) chunks.push_back(text.substr(at, 1009));
  CHECK_EQ(filtered(secrets, chunks), expected);
}

TEST("secrets around the largest window are found [M-64]") {
  Random random;
  for (size_t size : {255u, 256u, 257u, 5000u}) {
    std::string secret = random.text(size, 26);
    std::string text = "<" + secret + ">" + secret.substr(1) + secret.substr(0, size - 1) + "~" + secret;
    std::string expected = "<[redacted]>" + secret.substr(1) + secret.substr(0, size - 1) + "~[redacted]";
    CHECK_EQ(filtered({secret}, {text}), expected);
    CHECK_EQ(filtered({secret}, {text.substr(0, size / 2), text.substr(size / 2)}), expected);
  }
}

TEST("random long texts and splits agree with the model after every chunk [M-23, M-64, B104]") {
  Random random;
  for (int round = 0; round < 300; round++) {
    Strings secrets = random.secrets(2 + random.below(2));
    Strings chunks;
    std::string text = random.long_text(secrets);
    for (size_t at = 0, size = 0; at < text.size(); at += size) {
      size = random.below(2) == 0 ? 1 + random.below(50) : 1 + random.below(text.size());
      chunks.push_back(text.substr(at, size));
    }
    CHECK(agrees(secrets, SecretSet::make(secrets), chunks));
  }
}

TEST("a marker that the child wrote itself passes unchanged [M-28]") {
  std::string text = "[redacted]" + kSecret + "[redacted";
  CHECK_EQ(filtered({kSecret}, bytes_of(text)), "[redacted][redacted][redacted");
}

TEST("all byte values pass unchanged and are removed when they are a secret [M-28, M-64]") {
  std::string every;
  for (int byte = 0; byte < 256; byte++) every += static_cast<char>(byte);
  CHECK_EQ(filtered({kSecret}, {every + every}), every + every);
  CHECK_EQ(filtered({kSecret}, bytes_of(every)), every);
  std::string secret = every.substr(0, 4) + every.substr(250);
  CHECK_EQ(filtered({secret}, {every + secret + every}), every + kMarker + every);
  CHECK_EQ(filtered({secret}, bytes_of(every + secret + every)), every + kMarker + every);
}

TEST("at the end a part of 4 bytes or more becomes a marker and a shorter one is shown [X-13, M-24]") {
  for (size_t size = 0; size <= kSecret.size(); size++) {
    std::string part = kSecret.substr(0, size);
    std::string expected = size < 4 ? "pre " + part : "pre [redacted]";
    CHECK_EQ(filtered({kSecret}, {"pre " + part}), expected);
    CHECK_EQ(filtered({kSecret}, bytes_of("pre " + part)), expected);
  }
}

TEST("at the end a part that overlaps a removed secret adds no marker [X-13]") {
  CHECK_EQ(filtered({"abcd", "cdefgh"}, {"1abcdef"}), "1[redacted]");
  CHECK_EQ(filtered({"abcd", "cdefgh"}, bytes_of("1abcde")), "1[redacted]e");
  CHECK_EQ(filtered({"abcd", "cdefgh"}, {"1abcd"}), "1[redacted]");
  CHECK_EQ(filtered({"abcd", "efghij"}, {"1abcdefgh"}), "1[redacted][redacted]");
  CHECK_EQ(filtered({"bcde", "abcdef"}, {"1abcde"}), "1[redacted]");
}

TEST("four mebibytes without a newline never wait for more than the longest secret less one byte [B108]") {
  const std::string text = std::string(31, 'x') + kSecret.substr(0, 39);
  for (size_t chunk : {1013u, 65536u}) {
    Stream stream(SecretSet::make({kSecret, "hunter2"}));
    std::string sent;
    while (sent.size() < 4 << 20) {
      std::string piece;
      while (piece.size() < chunk) piece += text[(sent.size() + piece.size()) % text.size()];
      stream.feed(piece);
      sent += piece;
      CHECK(sent.size() - stream.sink.out.size() <= kSecret.size() - 1);
    }
    CHECK(sent.compare(0, stream.sink.out.size(), stream.sink.out) == 0);
  }
}

TEST("an endless chain of overlapping secrets gives its marker at once and waits for nothing [B108]") {
  Stream stream(SecretSet::make({"abab"}));
  stream.feed("abab");
  CHECK_EQ(stream.sink.out, "[redacted]");
  for (int i = 0; i < 100000; i++) stream.feed("ab");
  CHECK_EQ(stream.sink.out, "[redacted]");
  stream.feed("!");
  CHECK_EQ(stream.finish(), "[redacted]!");
}

TEST("the only byte of a silent child is out at the end at the latest [B108]") {
  Stream stream(SecretSet::make({kSecret}));
  stream.feed(kSecret.substr(0, 1));
  CHECK_EQ(stream.sink.out, "");
  CHECK_EQ(stream.finish(), kSecret.substr(0, 1));
}

}  // namespace exactspawn
