// The few C++ runtime entry points that our own and node-addon-api's inline code need, so that the shipped library
// links neither libstdc++ nor libc++ and one binary serves every libc and runtime. Each of them means "out of memory"
// or "a bug of ours": abort. scripts/check-binary.mjs fails when the library has any undefined _Z* symbol.
#include <stddef.h>
#include <stdlib.h>

#include <string>

#pragma GCC visibility push(hidden)

void* operator new(size_t size) {
  void* memory = malloc(size != 0 ? size : 1);
  if (memory == nullptr) abort();
  return memory;
}
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }
extern "C" void __cxa_pure_virtual() { abort(); }

#pragma GCC visibility pop

#if defined(__GLIBCXX__)
namespace std {
[[noreturn]] void __throw_length_error(const char*) { abort(); }
[[noreturn]] void __throw_logic_error(const char*) { abort(); }
[[noreturn]] void __throw_bad_function_call() { abort(); }
[[noreturn]] void __throw_bad_alloc() { abort(); }
[[noreturn]] void __throw_bad_array_new_length() { abort(); }
[[noreturn]] void __throw_out_of_range(const char*) { abort(); }
[[noreturn]] void __throw_out_of_range_fmt(const char*, ...) { abort(); }
[[noreturn]] void __throw_system_error(int) { abort(); }
}  // namespace std
#elif defined(_LIBCPP_VERSION)
_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] __attribute__((visibility("hidden"))) void __libcpp_verbose_abort(const char*, ...) { abort(); }
template class basic_string<char>;
_LIBCPP_END_NAMESPACE_STD
#endif
