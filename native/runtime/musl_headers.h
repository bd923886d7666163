// What Debian's libstdc++ headers, which were configured for glibc, expect of a C library and musl's headers lack. Put
// before every file by scripts/musl-cxx.sh. Nothing of libstdc++ is linked; what is declared here is never called.
#pragma once

#include <locale.h>
#include <pthread.h>
#include <time.h>
#include <wchar.h>

#define __GLIBC_PREREQ(major, minor) 0
#define __locale_t locale_t
#define __uselocale uselocale
// Else the headers take threads for absent: their weak probe, __pthread_key_create, is a name of glibc's alone.
#define _GLIBCXX_GTHREAD_USE_WEAK 0

// The character classes of <ctype.h>, bits of glibc's tables.
enum {
  _ISupper = 1 << 0,
  _ISlower = 1 << 1,
  _ISalpha = 1 << 2,
  _ISdigit = 1 << 3,
  _ISxdigit = 1 << 4,
  _ISspace = 1 << 5,
  _ISprint = 1 << 6,
  _ISgraph = 1 << 7,
  _ISblank = 1 << 8,
  _IScntrl = 1 << 9,
  _ISpunct = 1 << 10,
  _ISalnum = 1 << 11,
};

#ifdef __cplusplus
extern "C" {
int pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
int pthread_mutex_clocklock(pthread_mutex_t*, clockid_t, const struct timespec*);
}
#endif
