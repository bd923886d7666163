#include "private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <string_view>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/syscall.h>
#else
#include <sys/random.h>
#endif

#include "dir_listing.h"
#include "file_facts.h"
#include "owner_file.h"

namespace exactspawn {
namespace {

constexpr size_t kRandomBytes = 16;
constexpr size_t kRandomLetters = 26;
constexpr int kNameAttempts = 8;
constexpr std::string_view kOwnerSuffix = ".owner";
// Lower case only: two names stay two on a filesystem that folds case.
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";

SysError failure(Syscall syscall, int errnum) { return {Stage::kNone, syscall, errnum, -1}; }

std::string owner_file_of(const std::string& name) { return name + std::string(kOwnerSuffix); }

bool ends_with_random_letters(std::string_view name) {
  if (name.size() <= kRandomLetters || name[name.size() - kRandomLetters - 1] != '-') return false;
  std::string_view letters = name.substr(name.size() - kRandomLetters);
  return letters.find_first_not_of(kLetters) == std::string_view::npos;
}

// What create_private_directory could have made. Guards every removal: "..", "a/b" and a caller's own "notes"
// with a file "notes.owner" are none.
bool private_name(std::string_view name) {
  return name.find('/') == std::string_view::npos && ends_with_random_letters(name);
}

// Five bits a letter; the last one carries three.
std::string letters_of(const uint8_t (&bytes)[kRandomBytes]) {
  std::string out;
  for (size_t bit = 0; bit < 8 * kRandomBytes; bit += 5) {
    uint32_t pair = static_cast<uint32_t>(bytes[bit / 8]) << 8;
    if (bit / 8 + 1 < kRandomBytes) pair |= bytes[bit / 8 + 1];
    out += kLetters[pair >> (11 - bit % 8) & 31];
  }
  return out;
}

// "link/" and "link/." would be followed even with O_NOFOLLOW (path_resolution(7)).
std::string without_trailing_slashes(std::string path) {
  for (;;) {
    if (path.size() > 1 && path.back() == '/')
      path.pop_back();
    else if (path.size() > 2 && path.ends_with("/."))
      path.resize(path.size() - 2);
    else
      return path;
  }
}

// O_NOFOLLOW with O_DIRECTORY answers ENOTDIR for a link (open(2)), so the entry is asked what it is.
DirectoryError root_problem(const std::string& path, int errnum) {
  DirectoryError error(RootProblem::kUnreadable, failure(Syscall::kOpenat, errnum));
  FileFacts facts;
  int lookup = facts_at(AT_FDCWD, path.c_str(), &facts);
  if (lookup == 0 && facts.symlink())
    error.root = RootProblem::kSymlink;
  else if (errnum == ENOENT)
    error.root = RootProblem::kMissing;
  else if (errnum == ENOTDIR)
    error.root = RootProblem::kNotDirectory;
  else if (errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM)
    error.root = RootProblem::kNone;
  return error;
}

DirectoryError open_private_root(const std::string& path, UniqueFd* out) {
  UniqueFd root(openat(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root.valid()) return root_problem(path, errno);
  FileFacts facts;
  if (int errnum = facts_of(root.get(), &facts)) return failure(Syscall::kFstatat, errnum);
  if (facts.uid != geteuid() && facts.uid != 0) return {RootProblem::kForeignOwner, {}};
  bool others_write = (facts.mode & (S_IWGRP | S_IWOTH)) != 0;
  if (others_write && (facts.mode & S_ISVTX) == 0) return {RootProblem::kWritableByOthers, {}};
  *out = std::move(root);
  return {};
}

// mkdirat gives at most the bits it is asked for, so under no umask is the directory ever wider than 0700;
// the bits that a umask took, and a setgid bit that the root handed down (mkdir(2)), are corrected on the
// descriptor [B112]. On a filesystem that keeps no modes the last look fails.
SysError claim_directory(int root, const std::string& name, UniqueFd* out) {
  if (int errnum = open_for_owner(root, name.c_str(), out)) return failure(Syscall::kOpenat, errnum);
  if (SysError error = lift_above_stdio(out, Stage::kNone)) return error;
  if (fchmod(out->get(), 0700) != 0) return failure(Syscall::kFchmod, errno);
  FileFacts facts;
  if (int errnum = facts_of(out->get(), &facts)) return failure(Syscall::kFstatat, errnum);
  if (facts.uid != geteuid() || facts.permissions() != 0700) return failure(Syscall::kFchmod, EPERM);
  return {};
}

SysError make_directory(int root, const std::string& name, PrivateDirectory* out) {
  UniqueFd lock, fd;
  // The owner file first: of a host killed between the two, a sweep finds the file, but never would the
  // directory.
  if (SysError error = create_owner_file(root, owner_file_of(name), &lock)) return error;
  SysError error;
  if (mkdirat(root, name.c_str(), 0700) != 0) {
    error = failure(Syscall::kMkdirat, errno);
  } else if ((error = claim_directory(root, name, &fd))) {
    unlinkat(root, name.c_str(), AT_REMOVEDIR);
  }
  if (error) {
    unlinkat(root, owner_file_of(name).c_str(), 0);
    return error;
  }
  out->name = name;
  out->fd = std::move(fd);
  out->owner_lock = std::move(lock);
  return {};
}

SysError list_owned_names(int root, std::vector<std::string>* out) {
  DirListing listing(root);
  while (const dirent* entry = listing.next()) {
    std::string_view name = entry->d_name;
    if (!name.ends_with(kOwnerSuffix)) continue;
    name.remove_suffix(kOwnerSuffix.size());
    if (private_name(name)) out->emplace_back(name);
  }
  return listing.error();
}

// Removes a directory whose owner is dead, and then its owner file: the other way round, one that stays would
// have nobody to tell that it may go.
void sweep_dead(int root, const std::string& name, bool unfinished, int64_t deadline, SweepReport* report) {
  FileFacts facts;
  int errnum = facts_at(root, name.c_str(), &facts);
  // The maker of an unfinished file never came to make a directory: what bears the name is not its. Nor does
  // an owner file of ours speak for what someone else put there.
  if (errnum == 0 && (unfinished || facts.uid != geteuid())) {
    report->ignored++;
    return;
  }
  uint64_t failed_before = report->removal.failed;
  remove_tree(root, name, deadline, &report->removal);
  if (report->removal.failed != failed_before || report->removal.deadline_passed) {
    report->left++;
  } else if (unlinkat(root, owner_file_of(name).c_str(), 0) != 0 && errno != ENOENT) {
    report->removal.add(owner_file_of(name), Syscall::kUnlinkat, errno);
    report->left++;
  } else {
    report->removed++;
  }
}

}  // namespace

int kernel_random(uint8_t* out, size_t count) {
#if defined(__linux__)
  // The bare call: glibc's is younger than the floor. At most 256 bytes come whole (getrandom(2)).
  long got;
  do {
    got = syscall(SYS_getrandom, out, count, 0);
  } while (got < 0 && errno == EINTR);
  return got < 0 ? errno : 0;
#else
  return getentropy(out, count) != 0 ? errno : 0;
#endif
}

DirectoryError create_private_directory(const std::string& root, const std::string& prefix,
                                        PrivateDirectory* out, RandomBytes random) {
  if (prefix.find('/') != std::string::npos) return failure(Syscall::kMkdirat, EINVAL);
  std::string path = without_trailing_slashes(root);
  UniqueFd root_fd;
  if (DirectoryError error = open_private_root(path, &root_fd)) return error;
  SysError error;
  for (int attempt = 0; attempt < kNameAttempts; attempt++) {
    uint8_t bytes[kRandomBytes];
    if (int errnum = random(bytes, sizeof bytes)) return failure(Syscall::kGetrandom, errnum);
    error = make_directory(root_fd.get(), prefix + "-" + letters_of(bytes), out);
    if (!error) out->path = path + (path == "/" ? "" : "/") + out->name;
    if (error.errnum != EEXIST) break;
  }
  return error;
}

DirectoryError remove_private_directory(const std::string& root, const std::string& name, int64_t deadline,
                                        RemovalReport* report) {
  if (!private_name(name)) return failure(Syscall::kUnlinkat, EINVAL);
  UniqueFd root_fd;
  if (DirectoryError error = open_private_root(without_trailing_slashes(root), &root_fd)) return error;
  remove_tree(root_fd.get(), name, deadline, report);
  std::string owner_file = owner_file_of(name);
  if (report->complete() && unlinkat(root_fd.get(), owner_file.c_str(), 0) != 0 && errno != ENOENT)
    report->add(owner_file, Syscall::kUnlinkat, errno);
  return {};
}

void empty_private_directory(int directory, const std::string& path, int64_t deadline, RemovalReport* report) {
  empty_directory(directory, deadline, report);
  FileFacts held, named;
  bool same = facts_of(directory, &held) == 0 && facts_at(AT_FDCWD, path.c_str(), &named) == 0 && named.id == held.id;
  if (!same) report->add(".", Syscall::kFstatat, ESTALE);
}

DirectoryError sweep_private_root(const std::string& root, int64_t deadline, SweepReport* report) {
  UniqueFd root_fd;
  if (DirectoryError error = open_private_root(without_trailing_slashes(root), &root_fd)) return error;
  Owner self;
  if (SysError error = current_owner(&self)) return error;
  std::vector<std::string> names;
  if (SysError error = list_owned_names(root_fd.get(), &names)) return error;
  for (const std::string& name : names) {
    UniqueFd lock;
    OwnerState state = judge_owner_file(root_fd.get(), owner_file_of(name), self.boot_id, &lock);
    if (state == OwnerState::kAlive)
      report->kept++;
    else if (state == OwnerState::kUnreliable)
      report->ignored++;
    else
      sweep_dead(root_fd.get(), name, state == OwnerState::kUnfinished, deadline, report);
  }
  return {};
}

}  // namespace exactspawn
