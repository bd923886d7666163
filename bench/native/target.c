// What the measured children do, one verb each. Static where the libc allows it, so that their own start is small.
//
//   target write BYTES BLOCK [cpu=N] [report=FILE] [text=1] [needle=STRING]
//       writes BYTES to 1 in blocks; the file gets the nanoseconds that it took. text: lines as logs have them instead of
//       one repeated byte; needle: stands once in each block
//   target echo IN OUT SIZE [cpu=N]      reads SIZE bytes, writes them back, until the end
//   target hold GATE READY               tells READY (a fifo) that it is there and lives until the fifo GATE is closed
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MISUSE = 64, FAILED = 1 };

static int word_count;
static char **words;

static const char *option(const char *name) {
  const size_t length = strlen(name);
  for (int i = 2; i < word_count; i++) {
    if (strncmp(words[i], name, length) == 0 && words[i][length] == '=') return words[i] + length + 1;
  }
  return NULL;
}

static int64_t nanoseconds(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void stay_on_cpu(void) {
  const char *cpu = option("cpu");
  if (cpu == NULL) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(atoi(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) exit(FAILED);
}

static void write_all(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) exit(FAILED);
    bytes += written;
    size -= (size_t)written;
  }
}

// Printable bytes and line ends from a fixed seed: a filter that looks for first bytes finds as many as in real logs.
static void fill(char *block, size_t size) {
  if (option("text") == NULL) {
    memset(block, 'x', size);
    return;
  }
  static const char letters[] = "etaoin shrdlu ETAOIN 0123456789 cmfwyp vbgkjqxz ./:=-_[]{}\"";
  uint32_t seed = 12345;
  for (size_t i = 0; i < size; i++) {
    seed = seed * 1664525 + 1013904223;
    block[i] = i % 96 == 95 ? '\n' : letters[(seed >> 16) % (sizeof letters - 1)];
  }
  const char *needle = option("needle");
  if (needle != NULL && strlen(needle) < size) memcpy(block, needle, strlen(needle));
}

static int do_write(int64_t bytes, size_t block_size) {
  const int64_t begin = nanoseconds();
  char *block = malloc(block_size);
  if (block == NULL) return FAILED;
  fill(block, block_size);
  for (int64_t left = bytes; left > 0; left -= (int64_t)block_size) {
    write_all(1, block, left < (int64_t)block_size ? (size_t)left : block_size);
  }
  const char *report = option("report");
  if (report == NULL) return 0;
  const int64_t took = nanoseconds() - begin;
  FILE *file = fopen(report, "w");
  if (file == NULL) return FAILED;
  fprintf(file, "%lld\n", (long long)took);
  return fclose(file) == 0 ? 0 : FAILED;
}

static int do_echo(int in, int out, size_t size) {
  char *message = malloc(size);
  if (message == NULL) return FAILED;
  for (;;) {
    for (size_t got = 0; got < size;) {
      const ssize_t count = read(in, message + got, size - got);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return 0;
      got += (size_t)count;
    }
    write_all(out, message, size);
  }
}

static int do_hold(const char *gate_path, const char *ready_path) {
  const int gate = open(gate_path, O_RDONLY | O_CLOEXEC);
  const int ready = open(ready_path, O_WRONLY | O_CLOEXEC);
  if (gate < 0 || ready < 0) return FAILED;
  write_all(ready, "+", 1);
  char byte;
  while (read(gate, &byte, 1) > 0) {
  }
  return 0;
}

int main(int argc, char **argv) {
  word_count = argc;
  words = argv;
  const char *verb = argc > 1 ? argv[1] : "";
  stay_on_cpu();
  if (strcmp(verb, "write") == 0 && argc >= 4) return do_write(atoll(argv[2]), (size_t)atoll(argv[3]));
  if (strcmp(verb, "echo") == 0 && argc >= 5) return do_echo(atoi(argv[2]), atoi(argv[3]), (size_t)atoll(argv[4]));
  if (strcmp(verb, "hold") == 0 && argc >= 4) return do_hold(argv[2], argv[3]);
  fprintf(stderr, "target: no such verb, or too few words: %s\n", verb);
  return MISUSE;
}
