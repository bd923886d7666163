#include "owner_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "file_facts.h"

namespace exactspawn {
namespace {

constexpr size_t kMaxOwnerBytes = 128;
// An empty file without a lock that is younger may have a maker between its open and its flock.
constexpr int64_t kUnfinishedS = 60;

SysError failure(Syscall syscall, int errnum) { return {Stage::kNone, syscall, errnum, -1}; }

// One read: /proc answers whole up to a page, and an owner file is far smaller.
SysError read_once(int fd, size_t max_bytes, std::string* out) {
  out->resize(max_bytes);
  ssize_t count = read(fd, out->data(), max_bytes);
  int errnum = errno;
  out->resize(count > 0 ? static_cast<size_t>(count) : 0);
  return count < 0 ? failure(Syscall::kRead, errnum) : SysError();
}

SysError read_proc(const std::string& path, std::string* out) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return failure(Syscall::kOpen, errno);
  return read_once(fd.get(), 4096, out);
}

template <typename Number>
bool parse_number(std::string_view text, Number* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// Cuts `text` at the first `separator`. False if there is none.
bool take_until(char separator, std::string_view* text, std::string_view* head) {
  size_t at = text->find(separator);
  if (at == std::string_view::npos) return false;
  *head = text->substr(0, at);
  text->remove_prefix(at + 1);
  return true;
}

struct ProcessStat {
  pid_t pid = 0;
  char state = 0;
  uint64_t start_ticks = 0;
};

// proc_pid_stat(5): `pid (comm) state ppid …`, the start time in field 22. comm may hold spaces and
// parentheses, so the fields are counted from the last one.
bool parse_stat(std::string_view text, ProcessStat* out) {
  std::string_view pid, field;
  size_t comm_end = text.rfind(')');
  if (comm_end == std::string_view::npos || comm_end + 2 > text.size()) return false;
  std::string_view rest = text.substr(comm_end + 2);
  if (!take_until(' ', &text, &pid) || !parse_number(pid, &out->pid)) return false;
  for (int number = 3; number <= 22; number++) {
    if (!take_until(' ', &rest, &field) || field.empty()) return false;
    if (number == 3) out->state = field[0];
  }
  return parse_number(field, &out->start_ticks);
}

bool parse_owner(std::string_view text, Owner* out) {
  std::string_view pid, ticks, boot_id;
  if (!take_until('\n', &text, &pid) || !take_until('\n', &text, &ticks)) return false;
  if (!take_until('\n', &text, &boot_id) || boot_id.empty() || !text.empty()) return false;
  out->boot_id = boot_id;
  return parse_number(pid, &out->pid) && out->pid > 0 && parse_number(ticks, &out->start_ticks);
}

// Errs towards alive: only what /proc says outright makes a process dead.
bool process_alive(const Owner& owner) {
  std::string text;
  if (SysError error = read_proc("/proc/" + std::to_string(owner.pid) + "/stat", &text))
    return error.errnum != ENOENT && error.errnum != ESRCH;
  ProcessStat stat;
  if (!parse_stat(text, &stat)) return true;
  // A zombie under an init that reaps nobody would keep its directory until the next boot.
  return stat.start_ticks == owner.start_ticks && stat.state != 'Z' && stat.state != 'X';
}

bool unlinked(int fd) {
  FileFacts facts;
  return facts_of(fd, &facts) == 0 && facts.links == 0;
}

SysError write_owner(int fd, const Owner& owner) {
  // The umask of the host may have taken bits that a later sweep needs [B112].
  if (fchmod(fd, 0600) != 0) return failure(Syscall::kFchmod, errno);
  std::string text =
      std::to_string(owner.pid) + "\n" + std::to_string(owner.start_ticks) + "\n" + owner.boot_id + "\n";
  ssize_t count = write(fd, text.data(), text.size());
  if (count < 0) return failure(Syscall::kWrite, errno);
  return static_cast<size_t>(count) == text.size() ? SysError() : failure(Syscall::kWrite, ENOSPC);
}

}  // namespace

SysError current_owner(Owner* out) {
  std::string text;
  // The number comes from /proc too: a sweep will look it up there, and in a PID namespace under its parent's
  // /proc getpid() is another.
  if (SysError error = read_proc("/proc/self/stat", &text)) return error;
  ProcessStat stat;
  if (!parse_stat(text, &stat)) return failure(Syscall::kRead, EPROTO);
  out->pid = stat.pid;
  out->start_ticks = stat.start_ticks;
  if (SysError error = read_proc("/proc/sys/kernel/random/boot_id", &text)) return error;
  out->boot_id = text.substr(0, text.find('\n'));
  return {};
}

SysError create_owner_file(int root, const std::string& file, UniqueFd* lock) {
  Owner owner;
  if (SysError error = current_owner(&owner)) return error;
  UniqueFd fd(openat(root, file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return failure(Syscall::kOpenat, errno);
  SysError error = lift_above_stdio(&fd, Stage::kNone);
  // Waits only for a sweep that looks at the file just now. A filesystem without locks refuses them to the
  // sweep as well, which then leaves the file alone.
  while (!error && flock(fd.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  // A host stopped for a minute between open and here finds its file taken for unfinished.
  if (!error && unlinked(fd.get())) return failure(Syscall::kOpenat, EEXIST);
  if (!error) error = write_owner(fd.get(), owner);
  if (error) {
    unlinkat(root, file.c_str(), 0);
    return error;
  }
  *lock = std::move(fd);
  return {};
}

OwnerState judge_owner_file(int root, const std::string& file, const std::string& boot_id, UniqueFd* lock) {
  // O_NONBLOCK: opening a FIFO would wait for its writer [B111].
  UniqueFd fd(openat(root, file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return OwnerState::kUnreliable;
  FileFacts facts;
  if (facts_of(fd.get(), &facts) != 0) return OwnerState::kUnreliable;
  // In a sticky root anybody may plant files; a second link to one of ours would lend our name to his.
  if (!facts.regular() || facts.uid != geteuid() || facts.links != 1) return OwnerState::kUnreliable;
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return OwnerState::kAlive;
  // Another sweep may have ended it while this one looked.
  if (unlinked(fd.get())) return OwnerState::kUnreliable;
  std::string text;
  if (read_once(fd.get(), kMaxOwnerBytes, &text)) return OwnerState::kUnreliable;
  Owner owner;
  bool unfinished = text.empty();
  if (!unfinished && !parse_owner(text, &owner)) return OwnerState::kUnreliable;
  bool alive = unfinished ? time(nullptr) - facts.modified_s < kUnfinishedS
                          : owner.boot_id == boot_id && process_alive(owner);
  if (alive) return OwnerState::kAlive;
  *lock = std::move(fd);
  return unfinished ? OwnerState::kUnfinished : OwnerState::kDead;
}

}  // namespace exactspawn
