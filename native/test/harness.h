// The smallest test runner that the core needs: no dependency, so that it builds under every sanitizer.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace exactspawn::test {

struct Case {
  const char* title;
  void (*body)();
  Case* next;
  Case(const char* title, void (*body)());
};

// Reports a failed check of the running case; the case goes on.
void fail(const char* file, int line, const std::string& what);

inline std::string show(const std::string& value) { return value; }
inline std::string show(const char* value) { return value; }
template <typename T>
std::string show(const T& value) {
  return std::to_string(static_cast<long long>(value));
}

}  // namespace exactspawn::test

#define TEST_PASTE_(a, b) a##b
#define TEST_JOIN_(a, b) TEST_PASTE_(a, b)
#define TEST_NAME_(line) TEST_JOIN_(test_case_, line)
// A title is a sentence that ends with the row or case it proves.
#define TEST(title)                                                                          \
  static void TEST_NAME_(__LINE__)();                                                        \
  static ::exactspawn::test::Case TEST_JOIN_(registered_, __LINE__)(title, TEST_NAME_(__LINE__)); \
  static void TEST_NAME_(__LINE__)()

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) ::exactspawn::test::fail(__FILE__, __LINE__, #condition);   \
  } while (0)

#define CHECK_EQ(actual, expected)                                                                  \
  do {                                                                                              \
    auto actual_ = (actual);                                                                        \
    auto expected_ = (expected);                                                                    \
    if (!(actual_ == expected_))                                                                    \
      ::exactspawn::test::fail(__FILE__, __LINE__,                                                  \
                               std::string(#actual " is ") + ::exactspawn::test::show(actual_) +    \
                                   ", expected " + ::exactspawn::test::show(expected_));            \
  } while (0)
