// What the kernel allows: the same measures as every rival's, in C and without anything that a library owes its users.
// A child is cloned with CLONE_VM | CLONE_VFORK | CLONE_PIDFD, its exit and its pipes come over one epoll, and
// waitid(P_PIDFD) reaps it. Prints one line of JSON, as every rival does (docs/performance.md).
//
//   limit MEASURE key=value …
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#ifndef F_SETPIPE_SZ
#define F_SETPIPE_SZ 1031
#endif
enum { WAIT_BY_PIDFD = 3 };  // P_PIDFD, waitid(2), Linux 5.4
enum { KIB = 1024, PAGE = 4096, DRAIN_BYTES = 256 * KIB, STACK_BYTES = 64 * KIB };

extern char **environ;
static int word_count;
static char **words;
static int null_fd, poll_fd;

static void fail(const char *what) {
  fprintf(stderr, "limit: %s: %s\n", what, strerror(errno));
  exit(1);
}

static const char *text_option(const char *name, const char *otherwise) {
  const size_t length = strlen(name);
  for (int i = 2; i < word_count; i++) {
    if (strncmp(words[i], name, length) == 0 && words[i][length] == '=') return words[i] + length + 1;
  }
  return otherwise;
}

static int64_t option(const char *name, int64_t otherwise) {
  const char *text = text_option(name, NULL);
  return text == NULL ? otherwise : atoll(text);
}

// --- clocks and figures

static double microseconds(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static double cpu_microseconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int by_size(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double quantile(double *values, int count, double share) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  const int at = (int)((double)count * share);
  return values[at < count ? at : count - 1];
}

static const char *separator = "{";
static void tell(const char *name, double value) {
  printf("%s\"%s\":%.4f", separator, name, value);
  separator = ",";
}

// --- children

struct child {
  int pidfd, out, err;  // -1: none, or at its end
  int open;             // what is still awaited of pidfd, out and err
};

struct birth {
  int fds[5];  // what becomes 0 … 4; -1 beyond 2: closed
  char *const *argv;
};

// Shares the parent's memory until exec, and so does nothing but system calls.
static int child_side(void *argument) {
  const struct birth *birth = argument;
  int moved[5];
  for (int i = 0; i < 5; i++) moved[i] = birth->fds[i] < 0 ? -1 : fcntl(birth->fds[i], F_DUPFD_CLOEXEC, 10);
  for (int i = 0; i < 5; i++) {
    if (moved[i] >= 0) dup2(moved[i], i);
  }
  execve(birth->argv[0], birth->argv, environ);
  _exit(127);
}

// For children with nothing at 3 and 4 the sources never stand in the way, and one dup2 each is enough.
static int plain_child_side(void *argument) {
  const struct birth *birth = argument;
  for (int i = 0; i < 3; i++) dup2(birth->fds[i], i);
  execve(birth->argv[0], birth->argv, environ);
  _exit(127);
}

static int clone_child(struct birth *birth) {
  static char stack[STACK_BYTES] __attribute__((aligned(64)));
  int pidfd = -1;
  int (*side)(void *) = birth->fds[3] < 0 ? plain_child_side : child_side;
  if (clone(side, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, birth, &pidfd) < 0) fail("clone");
  return pidfd;
}

static void make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
}

// The low bits of an aligned pointer say which of the child's descriptors an event is about.
enum { PIDFD, OUT, ERR, TAGS };
static void watch(int fd, struct child *child, int tag) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uintptr_t)child | (uintptr_t)tag};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

// Removed before it is closed: the parent runs again before the child's close-on-exec is through, so that a sibling may
// hold the description for a moment longer, and epoll would go on reporting it.
static void unwatch(int fd) {
  epoll_ctl(poll_fd, EPOLL_CTL_DEL, fd, NULL);
  close(fd);
}

static void start(struct child *child, int pipes, char *const argv[]) {
  int out[2], err[2];
  struct birth birth = {{null_fd, null_fd, null_fd, -1, -1}, argv};
  *child = (struct child){-1, -1, -1, 1};
  if (pipes > 0) {
    make_pipe(out);
    make_pipe(err);
    birth.fds[1] = out[1];
    birth.fds[2] = err[1];
  }
  child->pidfd = clone_child(&birth);
  if (pipes > 0) {
    close(out[1]);
    close(err[1]);
    child->out = out[0];
    child->err = err[0];
    child->open += 2;
    watch(child->out, child, OUT);
    watch(child->err, child, ERR);
  }
  watch(child->pidfd, child, PIDFD);
}

static void reap(int pidfd) {
  siginfo_t status;
  if (waitid((idtype_t)WAIT_BY_PIDFD, (id_t)pidfd, &status, WEXITED) != 0) fail("waitid");
  if (status.si_code == CLD_EXITED && status.si_status == 0) return;
  fprintf(stderr, "limit: a child failed\n");
  exit(1);
}

// Whether the event was the last that this child was waited for.
static int handle(const struct epoll_event *event) {
  static char bytes[64 * KIB];
  struct child *child = (struct child *)(uintptr_t)(event->data.u64 & ~(uint64_t)3);
  const int tag = (int)(event->data.u64 & 3);
  if (tag == PIDFD) {
    reap(child->pidfd);
    unwatch(child->pidfd);
    return --child->open == 0;
  }
  int *fd = tag == OUT ? &child->out : &child->err;
  if (read(*fd, bytes, sizeof bytes) != 0) return 0;
  unwatch(*fd);
  *fd = -1;
  return --child->open == 0;
}

static void finish(int children) {
  struct epoll_event events[64];
  while (children > 0) {
    const int count = epoll_wait(poll_fd, events, 64, -1);
    for (int i = 0; i < count; i++) children -= handle(&events[i]);
  }
}

// --- measures

static void measure_start(void) {
  const int count = (int)option("count", 100), pipes = (int)option("pipes", 0), warm_ups = (int)option("warmUps", 30);
  char *argv[] = {(char *)text_option("program", ""), NULL};
  double *wall = calloc((size_t)count, sizeof *wall), *blocked = calloc((size_t)count, sizeof *blocked), cpu = 0;
  struct child child;
  for (int i = -warm_ups; i < count; i++) {
    if (i == 0) cpu = cpu_microseconds();
    const double begin = microseconds();
    start(&child, pipes, argv);
    const double started = microseconds();
    finish(1);
    if (i < 0) continue;
    wall[i] = microseconds() - begin;
    blocked[i] = started - begin;
  }
  tell("cpuUs", (cpu_microseconds() - cpu) / count);
  tell("wallUs", quantile(wall, count, 0.5));
  tell("wallP99Us", quantile(wall, count, 0.99));
  tell("blockedUs", quantile(blocked, count, 0.5));
}

static void measure_throughput(void) {
  const int total = (int)option("total", 400), in_flight = (int)option("inFlight", 16), pipes = (int)option("pipes", 0);
  char *argv[] = {(char *)text_option("program", ""), NULL};
  struct child *children = calloc((size_t)total, sizeof *children);
  struct epoll_event events[64];
  const double begin = microseconds(), cpu = cpu_microseconds();
  int started = 0, ended = 0;
  while (ended < total) {
    while (started < total && started - ended < in_flight) start(&children[started++], pipes, argv);
    const int count = epoll_wait(poll_fd, events, 64, -1);
    for (int i = 0; i < count; i++) ended += handle(&events[i]);
  }
  tell("perSecond", total / (microseconds() - begin) * 1e6);
  tell("cpuUs", (cpu_microseconds() - cpu) / total);
}

static int gate_fd, ready_fd;
static void open_gate(void) {
  gate_fd = open(text_option("gate", ""), O_RDWR | O_CLOEXEC);
  ready_fd = open(text_option("ready", ""), O_RDWR | O_CLOEXEC);
  if (gate_fd < 0 || ready_fd < 0) fail("open gate");
}

static void await_ready(int children) {
  char bytes[KIB];
  while (children > 0) {
    const ssize_t count = read(ready_fd, bytes, children < KIB ? (size_t)children : KIB);
    if (count <= 0) fail("read ready");
    children -= (int)count;
  }
}

static char *const *holder(void) {
  static char *argv[5];
  argv[0] = (char *)text_option("target", "");
  argv[1] = "hold";
  argv[2] = (char *)text_option("gate", "");
  argv[3] = (char *)text_option("ready", "");
  return argv;
}

static double resident_kib(void) {
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  double kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "Rss:", 4) == 0) kib = atof(line + 4);
  }
  if (file != NULL) fclose(file);
  return kib;
}

static int open_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < 65536; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static void measure_burst(void) {
  const int count = (int)option("count", 1000), pipes = (int)option("pipes", 0);
  struct child *children = calloc((size_t)count, sizeof *children);
  open_gate();
  const double resident = resident_kib();
  const int descriptors = open_descriptors();
  double cpu = cpu_microseconds();
  for (int i = 0; i < count; i++) start(&children[i], pipes, holder());
  tell("startCpuMs", (cpu_microseconds() - cpu) / 1e3);
  await_ready(count);
  tell("residentKiB", (resident_kib() - resident) / count);
  tell("descriptors", (double)(open_descriptors() - descriptors) / count);
  const double begin = microseconds();
  cpu = cpu_microseconds();
  close(gate_fd);
  finish(count);
  tell("wallMs", (microseconds() - begin) / 1e3);
  tell("cpuMs", (cpu_microseconds() - cpu) / 1e3);
}

static void measure_crowd(void) {
  const int count = (int)option("count", 60);
  char *argv[] = {(char *)text_option("program", ""), NULL}, name[64];
  char *list = strdup(text_option("alive", "0"));
  struct child *children = calloc(65536, sizeof *children), child;
  int alive = 0;
  open_gate();
  for (int i = 0; i < 20; i++) {
    start(&child, 0, argv);
    finish(1);
  }
  for (char *word = strtok(list, "+"); word != NULL; word = strtok(NULL, "+")) {
    const int wanted = atoi(word);
    const int missing = wanted - alive;
    for (; alive < wanted; alive++) start(&children[alive], 0, holder());
    await_ready(missing);
    const double begin = microseconds(), cpu = cpu_microseconds();
    for (int i = 0; i < count; i++) {
      start(&child, 0, argv);
      finish(1);
    }
    snprintf(name, sizeof name, "cpuUs%d", wanted);
    tell(name, (cpu_microseconds() - cpu) / count);
    snprintf(name, sizeof name, "wallUs%d", wanted);
    tell(name, (microseconds() - begin) / count);
  }
  close(gate_fd);
  finish(alive);
}

static char *const *writer(void) {
  static char *argv[7];
  static char cpu[32];
  argv[0] = (char *)text_option("target", "");
  argv[1] = "write";
  argv[2] = (char *)text_option("bytes", "0");
  argv[3] = (char *)text_option("block", "65536");
  int next = 4;
  if (text_option("childCpu", NULL) != NULL) {
    snprintf(cpu, sizeof cpu, "cpu=%s", text_option("childCpu", NULL));
    argv[next++] = cpu;
  }
  return argv;
}

static void start_drained(struct child *child) {
  int out[2];
  make_pipe(out);
  // Refused when the user's budget of pipe pages is spent; the default size does then.
  fcntl(out[0], F_SETPIPE_SZ, DRAIN_BYTES);
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  struct birth birth = {{null_fd, out[1], null_fd, -1, -1}, writer()};
  *child = (struct child){clone_child(&birth), out[0], -1, 1};
  close(out[1]);
  watch(out[0], child, OUT);
}

// After a read of few bytes it lets the writer go on for a while: many small writes then cost one wake-up.
static void measure_drain(void) {
  const int count = (int)option("children", 1);
  const int64_t coalesce_us = option("coalesceUs", 0);
  struct child *children = calloc((size_t)count, sizeof *children);
  struct epoll_event events[64];
  char *bytes = malloc(DRAIN_BYTES);
  memset(bytes, 0, DRAIN_BYTES);
  int64_t total = 0;
  const double begin = microseconds(), cpu = cpu_microseconds();
  for (int i = 0; i < count; i++) start_drained(&children[i]);
  for (int left = count; left > 0;) {
    const int ready = epoll_wait(poll_fd, events, 64, -1);
    int small = 0;
    for (int i = 0; i < ready; i++) {
      struct child *child = (struct child *)(uintptr_t)(events[i].data.u64 & ~(uint64_t)3);
      const ssize_t got = read(child->out, bytes, DRAIN_BYTES);
      if (got < 0 && errno != EAGAIN) fail("read");
      if (got > 0) total += got;
      if (got > 0 && got < 32 * KIB) small = 1;
      if (got != 0) continue;
      unwatch(child->out);
      reap(child->pidfd);
      close(child->pidfd);
      left--;
    }
    if (small && coalesce_us > 0) usleep((useconds_t)coalesce_us);
  }
  const double took = microseconds() - begin;
  if (total != option("bytes", 0) * count) fail("bytes are missing");
  tell("gbPerSecond", (double)total / took / 1e3);
  tell("cpuPerGb", (cpu_microseconds() - cpu) / 1e6 / ((double)total / 1e9));
}

struct talk {
  int write_fd, read_fd;
  size_t size;
  char *message;
};

static void talk_begin(struct talk *talk) {
  static char size_text[32], cpu_text[32];
  int requests[2], responses[2];
  make_pipe(requests);
  make_pipe(responses);
  talk->size = (size_t)option("bytes", 64);
  talk->message = calloc(1, talk->size);
  talk->write_fd = requests[1];
  talk->read_fd = responses[0];
  snprintf(size_text, sizeof size_text, "%zu", talk->size);
  snprintf(cpu_text, sizeof cpu_text, "cpu=%s", text_option("childCpu", ""));
  char *echo[] = {(char *)text_option("target", ""), "echo", "3", "4", size_text, *text_option("childCpu", "") ? cpu_text : NULL, NULL};
  char *worker[] = {(char *)text_option("node", ""), (char *)text_option("worker", ""), "3", "4", size_text, NULL};
  struct birth birth = {{null_fd, 2, 2, requests[0], responses[1]}, *text_option("worker", "") ? worker : echo};
  clone_child(&birth);
  close(requests[0]);
  close(responses[1]);
  fcntl(talk->read_fd, F_SETFL, O_NONBLOCK);
  watch(talk->read_fd, NULL, OUT);
}

static void talk_send(const struct talk *talk) {
  for (size_t done = 0; done < talk->size;) {
    const ssize_t written = write(talk->write_fd, talk->message + done, talk->size - done);
    if (written < 0) fail("write");
    done += (size_t)written;
  }
}

static size_t talk_read(const struct talk *talk, char *bytes, size_t most) {
  struct epoll_event event;
  epoll_wait(poll_fd, &event, 1, -1);
  const ssize_t got = read(talk->read_fd, bytes, most);
  if (got == 0) fail("the worker ended");
  if (got < 0 && errno != EAGAIN) fail("read");
  return got < 0 ? 0 : (size_t)got;
}

static void talk_in_flight(const struct talk *talk, int window, int total) {
  char *bytes = malloc(64 * KIB);
  size_t got = 0;
  int sent = 0;
  const double begin = microseconds();
  for (; sent < window; sent++) talk_send(talk);
  while (got < (size_t)total * talk->size) {
    got += talk_read(talk, bytes, 64 * KIB);
    const int allowed = (int)(got / talk->size) + window;
    for (; sent < total && sent < allowed; sent++) talk_send(talk);
  }
  tell("pipelinedPerSecond", total / (microseconds() - begin) * 1e6);
}

static void measure_exchange(void) {
  const int count = (int)option("count", 1000), window = (int)option("window", 0), warm = count / 5;
  double *wall = calloc((size_t)count, sizeof *wall), cpu = 0;
  struct talk talk;
  talk_begin(&talk);
  for (int i = -warm; i < count; i++) {
    if (i == 0) cpu = cpu_microseconds();
    const double begin = microseconds();
    talk_send(&talk);
    for (size_t got = 0; got < talk.size;) got += talk_read(&talk, talk.message + got, talk.size - got);
    if (i >= 0) wall[i] = microseconds() - begin;
  }
  tell("cpuUs", (cpu_microseconds() - cpu) / count);
  tell("wallUs", quantile(wall, count, 0.5));
  tell("wallP99Us", quantile(wall, count, 0.99));
  if (window > 0) talk_in_flight(&talk, window, count * 4);
}

// Nobody is busy here: this is how long the child takes when its pipe is always read.
static void measure_busy(void) {
  char report[4096];
  snprintf(report, sizeof report, "report=%s", text_option("report", ""));
  char *argv[] = {(char *)text_option("target", ""), "write", (char *)text_option("bytes", ""), "65536", report, NULL};
  struct child child;
  start(&child, 2, argv);
  finish(1);
  FILE *file = fopen(text_option("report", ""), "r");
  long long took = 0;
  if (file == NULL || fscanf(file, "%lld", &took) != 1) fail("report");
  tell("childMs", (double)took / 1e6);
}

// --- the host's size

static void be_large(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const size_t bytes = (size_t)option("memoryGiB", 0) << 30;
  char *memory = bytes == 0 ? NULL : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  for (size_t at = 0; at < bytes; at += PAGE) memory[at] = 1;
  for (int64_t i = option("descriptors", 0); i > 0; i--) {
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) fail("open /dev/null");
  }
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*measure)(void);
  } measures[] = {
      {"start", measure_start},       {"throughput", measure_throughput}, {"burst", measure_burst},
      {"crowd", measure_crowd},       {"drain", measure_drain},           {"exchange", measure_exchange},
      {"busy", measure_busy},
  };
  word_count = argc;
  words = argv;
  null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  poll_fd = epoll_create1(EPOLL_CLOEXEC);
  be_large();
  for (size_t i = 0; argc > 1 && i < sizeof measures / sizeof *measures; i++) {
    if (strcmp(argv[1], measures[i].name) != 0) continue;
    measures[i].measure();
    printf("}\n");
    return 0;
  }
  fprintf(stderr, "limit: no such measure\n");
  return 64;
}
