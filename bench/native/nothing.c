// The program that costs nothing: it ends before it has begun. Without libc, so that what is measured is the start and
// not the dynamic loader. cc -O2 -static -nostdlib -ffreestanding
void _start(void) {
#if defined(__x86_64__)
  __asm__ volatile("syscall" : : "a"(231L), "D"(0L) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long number __asm__("x8") = 94;
  register long status __asm__("x0") = 0;
  __asm__ volatile("svc 0" : : "r"(number), "r"(status) : "memory");
#else
#error "exit_group(2) of this architecture is not written down here"
#endif
  __builtin_unreachable();
}
