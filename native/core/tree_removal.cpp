#include "tree_removal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "clock.h"
#include "dir_listing.h"
#include "file_facts.h"

namespace exactspawn {
namespace {

constexpr int kDirectory = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kOwnerAll = 0700;

bool owner_lacks_access(const FileFacts& facts) { return (facts.mode & kOwnerAll) != kOwnerAll; }

// Opens a directory that not even its owner may read. fchmodat would follow a link put there since we looked,
// and its AT_SYMLINK_NOFOLLOW is younger than our floor (fchmodat2, Linux 6.6). O_PATH needs no permission on
// the directory itself and refuses links; /proc/self/fd then names that very inode, whatever becomes of the
// name (open(2), proc(5)).
int open_unreadable(int parent, const char* name, UniqueFd* out) {
#if defined(__linux__)
  UniqueFd handle(openat(parent, name, O_PATH | kDirectory));
  if (!handle.valid()) return errno;
  // Before the chmod: what is mounted here is not ours to change.
  FileFacts facts;
  if (int errnum = facts_of(handle.get(), &facts)) return errnum;
  if (facts.mount_root) return EXDEV;
  std::string alias = "/proc/self/fd/" + std::to_string(handle.get());
  if (chmod(alias.c_str(), kOwnerAll) != 0) return EACCES;
  out->reset(openat(handle.get(), ".", O_RDONLY | kDirectory));
#else
  if (fchmodat(parent, name, kOwnerAll, AT_SYMLINK_NOFOLLOW) != 0) return EACCES;
  out->reset(openat(parent, name, O_RDONLY | kDirectory));
#endif
  return out->valid() ? 0 : errno;
}

class TreeRemoval {
 public:
  TreeRemoval(int base, int64_t deadline, RemovalReport* report)
      : base_(base), deadline_(deadline), report_(report) {
    levels_.emplace_back();
  }

  void remove(const std::string& name) {
    levels_[0].pending.push_back(name);
    levels_[0].cut = false;
    run();
  }

  void empty() { run(); }

 private:
  // One directory on the way from the base, which is level 0, to the one we are in. Only that one is open.
  struct Level {
    std::string name;
    FileId id;
    // Directories met and not yet entered.
    std::vector<std::string> pending;
    // Entries that cannot go. A later pass steps over the first `known`, which are sorted.
    std::vector<std::string> stuck;
    size_t known = 0;
    // The last pass stopped early; true at first, when there was none.
    bool cut = true;
    // The last pass met entries that were never tried before.
    bool fresh = false;

    // An emptied directory is not read again: the attempt to remove it tells whether something came since.
    // One that stays anyway is, until a pass meets nothing new.
    bool wants_pass() const { return cut || (fresh && !stuck.empty()); }
  };

  // Bounds the memory of one level, not the work: the next pass goes on.
  static constexpr size_t kMaxPending = 256;

  int here() const { return levels_.size() == 1 ? base_ : here_.get(); }

  bool expired() {
    if (now_ms() >= deadline_) report_->deadline_passed = true;
    return report_->deadline_passed;
  }

  void run() {
    while (!expired()) {
      Level& level = levels_.back();
      if (!level.pending.empty()) {
        std::string name = std::move(level.pending.back());
        level.pending.pop_back();
        enter(name);
      } else if (level.wants_pass()) {
        pass(&level);
      } else if (levels_.size() > 1) {
        leave();
      } else {
        return;
      }
    }
  }

  // Removes what is no directory and notes what is one.
  void pass(Level* level) {
    std::sort(level->stuck.begin(), level->stuck.end());
    level->known = level->stuck.size();
    level->cut = level->fresh = false;
    DirListing listing(here());
    while (!level->cut && !expired()) {
      const dirent* entry = listing.next();
      if (entry == nullptr) break;
      std::string name = entry->d_name;
      auto known_end = level->stuck.begin() + static_cast<std::ptrdiff_t>(level->known);
      if (std::binary_search(level->stuck.begin(), known_end, name)) continue;
      level->fresh = true;
      if (entry->d_type == DT_DIR)
        level->pending.push_back(std::move(name));
      else
        unlink(name);
      level->cut = level->pending.size() >= kMaxPending;
    }
    if (listing.error()) fail(".", listing.error().syscall, listing.error().errnum);
  }

  // d_type may be unknown, or old by now, so `name` may be a directory after all: EISDIR on Linux, EPERM
  // elsewhere (unlink(2)).
  void unlink(const std::string& name) {
    if (unlinkat(here(), name.c_str(), 0) == 0) {
      report_->removed++;
      return;
    }
    int errnum = errno;
    if (errnum == ENOENT) return;
    if (errnum == EISDIR || (errnum == EPERM && is_directory(name)))
      levels_.back().pending.push_back(name);
    else
      fail(name, Syscall::kUnlinkat, errnum);
  }

  bool is_directory(const std::string& name) const {
    FileFacts facts;
    return facts_at(here(), name.c_str(), &facts) == 0 && facts.directory();
  }

  void enter(const std::string& name) {
    UniqueFd fd;
    FileFacts facts;
    int errnum = open_for_owner(here(), name.c_str(), &fd);
    if (errnum == 0) errnum = facts_of(fd.get(), &facts);
    if (errnum == ENOTDIR || errnum == ELOOP) return unlink(name);
    if (errnum == EACCES) {
      // The directory of someone else can still go if it is empty and lies in one of ours.
      if (unlinkat(here(), name.c_str(), AT_REMOVEDIR) == 0) {
        report_->removed++;
        return;
      }
    }
    if (errnum == ENOENT) return;
    if (errnum != 0) return fail(name, Syscall::kOpenat, errnum);
    here_ = std::move(fd);
    levels_.emplace_back();
    levels_.back().name = name;
    levels_.back().id = facts.id;
  }

  void leave() {
    Level left = std::move(levels_.back());
    levels_.pop_back();
    if (int errnum = climb()) return abandon(left.name, errnum);
    if (!left.stuck.empty()) {
      levels_.back().stuck.push_back(left.name);
      return;
    }
    if (unlinkat(here(), left.name.c_str(), AT_REMOVEDIR) == 0) {
      report_->removed++;
    } else if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) {
      // Something came after the last pass, or took its place.
      levels_.back().pending.push_back(left.name);
    } else if (errno != ENOENT) {
      fail(left.name, Syscall::kUnlinkat, errno);
    }
  }

  // Goes from the directory just left to the one that levels_ now ends with. Returns 0 or an errno.
  int climb() {
    if (levels_.size() == 1) {
      here_.reset();
      return 0;
    }
    UniqueFd up(openat(here_.get(), "..", O_RDONLY | kDirectory));
    if (!up.valid()) return errno;
    // ".." of a directory that was moved is a stranger, whose entries may bear the same names as ours.
    FileFacts facts;
    if (int errnum = facts_of(up.get(), &facts)) return errnum;
    if (!(facts.id == levels_.back().id)) return ESTALE;
    here_ = std::move(up);
    return 0;
  }

  // The way up is lost: goes on from the base, and leaves the branch that led here. Trying it again might
  // never end while someone keeps moving things.
  void abandon(const std::string& name, int errnum) {
    fail(name, Syscall::kOpenat, errnum);
    std::string branch = std::move(levels_[1].name);
    levels_.erase(levels_.begin() + 1, levels_.end());
    levels_[0].stuck.push_back(std::move(branch));
    here_.reset();
  }

  void fail(const std::string& name, Syscall syscall, int errnum) {
    levels_.back().stuck.push_back(name);
    std::string path;
    for (size_t i = 1; i < levels_.size() && path.size() < PATH_MAX; i++) path += levels_[i].name + "/";
    path += name;
    if (path.size() > PATH_MAX) path.resize(PATH_MAX);
    report_->add(std::move(path), syscall, errnum);
  }

  int base_;
  int64_t deadline_;
  RemovalReport* report_;
  std::vector<Level> levels_;
  UniqueFd here_;
};

}  // namespace

int open_for_owner(int parent, const char* name, UniqueFd* out) {
  out->reset(openat(parent, name, O_RDONLY | kDirectory));
  if (!out->valid()) {
    int errnum = errno;
    if (errnum == EACCES) errnum = open_unreadable(parent, name, out);
    if (errnum != 0) return errnum;
  }
  FileFacts facts, parent_facts;
  int errnum = facts_of(out->get(), &facts);
  if (errnum == 0) errnum = facts_of(parent, &parent_facts);
  if (errnum == 0 && (facts.mount_root || facts.id.device != parent_facts.id.device)) errnum = EXDEV;
  if (errnum != 0) {
    out->reset();
    return errnum;
  }
  if (owner_lacks_access(facts)) fchmod(out->get(), kOwnerAll);
  return 0;
}

void remove_tree(int parent, const std::string& name, int64_t deadline, RemovalReport* report) {
  TreeRemoval(parent, deadline, report).remove(name);
}

void empty_directory(int directory, int64_t deadline, RemovalReport* report) {
  if (fchmod(directory, kOwnerAll) != 0) return report->add(".", Syscall::kFchmod, errno);
  TreeRemoval(directory, deadline, report).empty();
}

}  // namespace exactspawn
