#include "pipe_budget.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "fd.h"

namespace exactspawn {

#if defined(__linux__)
namespace {

constexpr size_t kWanted = 256 * 1024;
constexpr long kDefaultSoftPages = 16384;

std::atomic<size_t> granted_total{0};
std::atomic<size_t> share{0};

size_t read_share() {
  long pages = kDefaultSoftPages;
  UniqueFd file(open("/proc/sys/fs/pipe-user-pages-soft", O_RDONLY | O_CLOEXEC));
  char text[32];
  ssize_t size = file.valid() ? read(file.get(), text, sizeof text - 1) : -1;
  if (size > 0) {
    text[size] = 0;
    pages = strtol(text, nullptr, 10);
  }
  if (pages <= 0) pages = kDefaultSoftPages;  // 0 = no limit; keep to a share all the same
  return static_cast<size_t>(pages) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 4;
}

}  // namespace

size_t grow_pipe(int fd) {
  size_t limit = share.load(std::memory_order_relaxed);
  if (limit == 0) {
    limit = read_share();
    share.store(limit, std::memory_order_relaxed);
  }
  if (granted_total.fetch_add(kWanted) + kWanted > limit || fcntl(fd, F_SETPIPE_SZ, kWanted) < 0) {
    granted_total.fetch_sub(kWanted);
    return 0;
  }
  return kWanted;
}

void return_pipe_budget(size_t granted) { granted_total.fetch_sub(granted); }
#else
size_t grow_pipe(int) { return 0; }
void return_pipe_budget(size_t) {}
#endif

}  // namespace exactspawn
