// Binds symbols that newer glibc gave a new version (2.28: fcntl64, the same as fcntl in a 64-bit process; 2.33 and 2.34:
// the merge of libpthread and libdl into libc) to their oldest one, so that a build on a new system loads on glibc 2.17 [B102].
// scripts/check-binary.mjs names the symbol when a line is missing.
#pragma once

#include <features.h>

#if defined(__GLIBC__)
#if defined(__x86_64__)
#define EXACTSPAWN_GLIBC_FLOOR "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define EXACTSPAWN_GLIBC_FLOOR "GLIBC_2.17"
#endif
#ifdef EXACTSPAWN_GLIBC_FLOOR
__asm__(".symver fcntl64,fcntl@" EXACTSPAWN_GLIBC_FLOOR);
__asm__(".symver dlsym,dlsym@" EXACTSPAWN_GLIBC_FLOOR);
__asm__(".symver pthread_create,pthread_create@" EXACTSPAWN_GLIBC_FLOOR);
__asm__(".symver pthread_attr_setstacksize,pthread_attr_setstacksize@" EXACTSPAWN_GLIBC_FLOOR);
__asm__(".symver pthread_sigmask,pthread_sigmask@" EXACTSPAWN_GLIBC_FLOOR);
#endif
#endif
