#include "file_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
// musl before 1.2.4 has no statx, and later ones have it where glibc has: the kernel's header beside that is a clash.
#if !defined(STATX_BASIC_STATS)
#include <linux/stat.h>
#endif
#endif

namespace exactspawn {

#if defined(__linux__)

// STATX_ATTR_MOUNT_ROOT, statx(2), Linux 5.8: musl's header has no name for it. Before 5.8 the bit stays
// clear and only a change of device tells of a mount.
constexpr uint64_t kMountRoot = 0x2000;

// The bare call, not fstatat: built against glibc 2.33 or later that binds fstatat@GLIBC_2.33, which is above
// the floor. And only statx tells of bind mounts.
static int ask(int dir, const char* name, int flags, FileFacts* out) {
  struct statx answer;
  flags |= AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  if (syscall(SYS_statx, dir, name, flags, STATX_BASIC_STATS, &answer) != 0) return errno;
  out->id = {static_cast<uint64_t>(answer.stx_dev_major) << 32 | answer.stx_dev_minor, answer.stx_ino};
  out->mode = answer.stx_mode;
  out->uid = answer.stx_uid;
  out->links = answer.stx_nlink;
  out->modified_s = answer.stx_mtime.tv_sec;
  out->mount_root = (answer.stx_attributes & kMountRoot) != 0;
  return 0;
}

int facts_at(int dir, const char* name, FileFacts* out) { return ask(dir, name, 0, out); }
int facts_of(int fd, FileFacts* out) { return ask(fd, "", AT_EMPTY_PATH, out); }

#else

static void take(const struct stat& answer, FileFacts* out) {
  out->id = {static_cast<uint64_t>(answer.st_dev), static_cast<uint64_t>(answer.st_ino)};
  out->mode = answer.st_mode;
  out->uid = answer.st_uid;
  out->links = answer.st_nlink;
  out->modified_s = answer.st_mtime;
}

int facts_at(int dir, const char* name, FileFacts* out) {
  struct stat answer;
  if (fstatat(dir, name, &answer, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  take(answer, out);
  return 0;
}

int facts_of(int fd, FileFacts* out) {
  struct stat answer;
  if (fstat(fd, &answer) != 0) return errno;
  take(answer, out);
  return 0;
}

#endif

}  // namespace exactspawn
