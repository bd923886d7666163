#include "../core/tree_removal.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "directory_case.h"

using namespace exactspawn;
using namespace exactspawn::test;

TEST("directories of mode 0555 and 0000 go with what they hold, for a user whom modes bind [B110, R-10]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/tree");
    std::string path = base + "/tree";
    const mode_t modes[] = {0, 0555, 0111, 0222, 0444, 0300, 0500, 0600};
    for (mode_t mode : modes) {
      std::string outer = path + "/" + std::to_string(mode);
      make_dir(outer);
      make_file(outer + "/file");
      make_dir(outer + "/inner");
      make_file(outer + "/inner/file");
      make_dir(outer + "/empty", mode);
      HOLDS(chmod((outer + "/inner").c_str(), mode) == 0 && chmod(outer.c_str(), mode) == 0);
    }
    HOLDS(chmod(path.c_str(), 0) == 0);
    HOLDS(removed(base, "tree").complete());
    HOLDS(!exists(path));
  }));
}

TEST("links are removed themselves and what they lead to is neither emptied nor changed [M-56, R-14]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/canary");
    make_file(base + "/canary/file");
    HOLDS(chmod((base + "/canary").c_str(), 0555) == 0);
    make_dir(base + "/tree");
    HOLDS(symlink("../canary", (base + "/tree/directory").c_str()) == 0);
    HOLDS(symlink("../canary/file", (base + "/tree/file").c_str()) == 0);
    HOLDS(symlink("absent", (base + "/tree/dangling").c_str()) == 0);
    HOLDS(symlink("loop", (base + "/tree/loop").c_str()) == 0);
    HOLDS(link((base + "/canary/file").c_str(), (base + "/tree/hard").c_str()) == 0);
    HOLDS(removed(base, "tree").complete());
    HOLDS(symlink("canary", (base + "/tree").c_str()) == 0);
    HOLDS(removed(base, "tree").complete());
    HOLDS(!exists(base + "/tree"));
    HOLDS(mode_of(base + "/canary") == 0555 && count(base + "/canary") == 1);
  }));
}

TEST("a directory that is swapped for a link all the while does not lead out of the tree [R-14, B110]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/canary");
    make_file(base + "/canary/file");
    HOLDS(chmod((base + "/canary").c_str(), 0555) == 0);
    make_dir(base + "/root");
    std::string link = base + "/link";
    pid_t swapper = repeat(
        [](const std::string& path) {
          constexpr int kExchange = 2;
          std::string victim = path + "/root/tree/victim";
          syscall(SYS_renameat2, AT_FDCWD, (path + "/link").c_str(), AT_FDCWD, victim.c_str(), kExchange);
        },
        base);
    int swapped = 0;
    for (int64_t end = deadline_in(10000); swapped < 50 && now_ms() < end;) {
      removed(base, "link");
      HOLDS(symlink("../../canary", link.c_str()) == 0);
      make_dir(base + "/next");
      make_dir(base + "/next/victim");
      make_dir(base + "/next/victim/inner");
      HOLDS(chmod((base + "/next/victim").c_str(), swapped % 2 == 0 ? 0 : 0700) == 0);
      HOLDS(rename((base + "/next").c_str(), (base + "/root/tree").c_str()) == 0);
      RemovalReport report = removed(base + "/root", "tree");
      for (const RemovalFailure& failure : report.failures) HOLDS(failure.errnum == ESTALE);
      FileFacts facts;
      if (facts_at(AT_FDCWD, link.c_str(), &facts) == 0 && facts.directory()) swapped++;
      while (!removed(base + "/root", "tree").complete() && now_ms() < end) {
      }
    }
    stop(swapper);
    HOLDS(swapped == 50 && mode_of(base + "/canary") == 0555 && count(base + "/canary") == 1);
  }));
}

TEST("a directory moved out while it is emptied is told and does not lead to its new neighbours [R-14]") {
  CHECK(unprivileged([](const std::string& base) {
    // Bystanders with the names that the way back would look for.
    make_dir(base + "/sub");
    make_dir(base + "/elsewhere");
    for (int i = 0; i < 10; i++) make_dir(base + "/elsewhere/" + std::to_string(i));
    bool told = false;
    for (int64_t end = deadline_in(10000); !told && now_ms() < end;) {
      std::string deep = base + "/tree/a/sub/deep";
      for (const char* path : {"/tree", "/tree/a", "/tree/a/sub", "/tree/a/sub/deep"}) make_dir(base + path);
      for (int i = 0; i < 10; i++) make_dir(base + "/tree/a/sub/" + std::to_string(i));
      for (int i = 0; i < 1000; i++) make_dir(deep + "/" + std::to_string(i));
      // Moves it as soon as it holds less than it did.
      pid_t mover = fork();
      if (mover == 0) {
        FileFacts facts;
        while (facts_at(AT_FDCWD, deep.c_str(), &facts) == 0 && facts.links > 1000) {
        }
        rename(deep.c_str(), (base + "/elsewhere/deep").c_str());
        _exit(0);
      }
      RemovalReport report = removed(base, "tree");
      waitpid(mover, nullptr, 0);
      told = report.failed == 1 && report.failures[0].errnum == ESTALE;
      if (told) HOLDS(report.failures[0].path.starts_with("tree/a/sub/deep"));
      HOLDS(removed(base, "tree").complete() && removed(base + "/elsewhere", "deep").complete());
    }
    HOLDS(told && exists(base + "/sub") && count(base + "/elsewhere") == 10 && count(base) == 2);
  }));
}

TEST("what belongs to someone else is told by path and the rest still goes [B110, R-10]") {
  CHECK(as_superuser([](const std::string& base) {
    give_away(base);
    std::string tree = base + "/tree";
    make_dir(tree);
    make_dir(tree + "/ours");
    make_dir(tree + "/ours/theirs", 0700);
    make_file(tree + "/ours/theirs/file");
    make_dir(tree + "/ours/their-empty", 0700);
    make_file(tree + "/ours/their-file");
    make_dir(tree + "/open", 0755);
    make_file(tree + "/open/file");
    for (int i = 0; i < 20; i++) make_file(tree + "/ours/" + std::to_string(i));
    give_away(tree);
    give_away(tree + "/ours");
    become_nobody();
    RemovalReport report = removed(base, "tree");
    HOLDS(!report.complete() && report.failed == 2 && report.failures.size() == 2);
    for (const RemovalFailure& failure : report.failures) {
      bool closed = failure.path == "tree/ours/theirs" && failure.syscall == Syscall::kOpenat;
      bool readable = failure.path == "tree/open/file" && failure.syscall == Syscall::kUnlinkat;
      HOLDS((closed || readable) && failure.errnum == EACCES);
    }
    HOLDS(entries(tree) == (std::vector<std::string>{"open", "ours"}));
    HOLDS(entries(tree + "/ours") == (std::vector<std::string>{"theirs"}));
  }));
}

TEST("the first sixteen failures are told and all are counted, each once [R-10]") {
  CHECK(as_superuser([](const std::string& base) {
    give_away(base);
    // Nested, so that a second look at a level would multiply what it finds.
    std::string path = base + "/tree";
    make_dir(path);
    give_away(path);
    for (int depth = 0; depth < 17; depth++) {
      make_dir(path + "/theirs", 0700);
      make_file(path + "/theirs/file");
      path += "/sub";
      make_dir(path);
      give_away(path);
    }
    become_nobody();
    RemovalReport report = removed(base, "tree");
    HOLDS(report.failed == 17 && report.failures.size() == RemovalReport::kMaxFailures);
    HOLDS(report.removed == 1);
  }));
}

TEST("another mount is told and left, also one of the same filesystem, and keeps its mode [R-14]") {
  CHECK(as_superuser([](const std::string& base) {
    for (const char* path : {"/canary", "/closed", "/tree", "/tree/tmpfs", "/tree/bind", "/tree/closed"}) {
      make_dir(base + path);
      give_away(base + path);
    }
    give_away(base);
    make_file(base + "/canary/file");
    make_file(base + "/tree/file");
    HOLDS(chmod((base + "/closed").c_str(), 0) == 0);
    HOLDS(unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    HOLDS(mount("tmpfs", (base + "/tree/tmpfs").c_str(), "tmpfs", 0, nullptr) == 0);
    make_file(base + "/tree/tmpfs/file");
    HOLDS(mount((base + "/canary").c_str(), (base + "/tree/bind").c_str(), nullptr, MS_BIND, nullptr) == 0);
    HOLDS(mount((base + "/closed").c_str(), (base + "/tree/closed").c_str(), nullptr, MS_BIND, nullptr) == 0);
    become_nobody();
    RemovalReport report = removed(base, "tree");
    HOLDS(report.failed == 3 && report.removed == 1 && count(base + "/tree") == 3);
    for (const RemovalFailure& failure : report.failures) HOLDS(failure.errnum == EXDEV);
    HOLDS(exists(base + "/canary/file") && exists(base + "/tree/tmpfs/file"));
    HOLDS(mode_of(base + "/closed") == 0);
  }));
}

TEST("a tree of 5,000 levels goes with 64 descriptors [B110]") {
  CHECK(unprivileged([](const std::string& base) {
    rlimit limit = {64, 64};
    HOLDS(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    UniqueFd at(open_directory(base));
    for (int depth = 0; depth < 5000; depth++) {
      HOLDS(mkdirat(at.get(), "level-of-the-tree", 0700) == 0);
      at.reset(openat(at.get(), "level-of-the-tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    HOLDS(mkdirat(at.get(), "last", 0) == 0 && fchmod(at.get(), 0) == 0);
    at.reset();
    RemovalReport report = removed(base, "level-of-the-tree");
    HOLDS(report.complete() && report.removed == 5001 && count(base) == 0);
  }));
}

TEST("no more than four descriptors are open at a time, the caller's among them [B110]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/tree");
    make_dir(base + "/tree/a");
    make_dir(base + "/tree/a/b");
    make_file(base + "/tree/a/b/file");
    for (const char* path : {"/tree/a/b", "/tree/a", "/tree"}) HOLDS(chmod((base + path).c_str(), 0) == 0);
    int lowest = dup(0);
    close(lowest);
    rlimit limit = {static_cast<rlim_t>(lowest) + 4, 64};
    HOLDS(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    HOLDS(removed(base, "tree").complete());
  }));
}

TEST("a path beyond PATH_MAX is cut in the report [B110]") {
  CHECK(as_superuser([](const std::string& base) {
    give_away(base);
    UniqueFd at(open_directory(base));
    for (int depth = 0; depth < 300; depth++) {
      HOLDS(mkdirat(at.get(), "level-of-the-tree", 0700) == 0);
      HOLDS(fchownat(at.get(), "level-of-the-tree", kNobody, kNobody, 0) == 0);
      at.reset(openat(at.get(), "level-of-the-tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    HOLDS(mkdirat(at.get(), "theirs", 0700) == 0 && mkdirat(at.get(), "theirs/file", 0700) == 0);
    become_nobody();
    RemovalReport report = removed(base, "level-of-the-tree");
    HOLDS(report.failed == 1 && report.failures[0].path.size() == 4096 && report.removed == 0);
  }));
}

TEST("a wide directory is emptied in as many passes as it takes [R-10]") {
  CHECK(unprivileged([](const std::string& base) {
    for (int i = 0; i < 600; i++) {
      make_dir(base + "/" + std::to_string(i));
      make_file(base + "/" + std::to_string(i) + ".file");
    }
    RemovalReport report;
    UniqueFd directory(open_directory(base));
    empty_directory(directory.get(), kNever, &report);
    HOLDS(report.complete() && report.removed == 1200 && count(base) == 0);
  }));
}

TEST("a removal ends at its deadline, on a tree that keeps growing too [R-10]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/tree");
    make_file(base + "/tree/file");
    RemovalReport late = removed(base, "tree", now_ms());
    HOLDS(late.deadline_passed && !late.complete() && late.removed == 0 && exists(base + "/tree/file"));
    pid_t grower = repeat(
        [](const std::string& path) {
          static int i = 0;
          mkdir((path + "/tree").c_str(), 0700);
          mkdir((path + "/tree/" + std::to_string(i++ % 1000)).c_str(), 0700);
        },
        base);
    int64_t begin = now_ms();
    for (int round = 0; round < 3; round++) removed(base, "tree", deadline_in(100));
    HOLDS(now_ms() - begin < 3000);
    stop(grower);
    HOLDS(removed(base, "tree").complete() && count(base) == 0);
  }));
}

TEST("an emptied directory stays the same one and is 0700 again [R-10, R-14]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/canary");
    make_file(base + "/canary/file");
    PrivateDirectory directory;
    HOLDS(created(base, &directory));
    FileFacts before, after;
    HOLDS(facts_of(directory.fd.get(), &before) == 0);
    for (int round = 0; round < 2; round++) {
      make_file(directory.path + "/.hidden");
      make_dir(directory.path + "/home");
      make_file(directory.path + "/home/file");
      HOLDS(symlink("../canary", (directory.path + "/link").c_str()) == 0);
      HOLDS(chmod((directory.path + "/home").c_str(), 0) == 0 && chmod(directory.path.c_str(), 0) == 0);
      RemovalReport report;
      empty_directory(directory.fd.get(), kNever, &report);
      HOLDS(report.complete() && report.removed == 4 && count(directory.path) == 0);
      HOLDS(mode_of(directory.path) == 0700);
    }
    HOLDS(facts_at(AT_FDCWD, directory.path.c_str(), &after) == 0 && before.id == after.id);
    HOLDS(exists(base + "/canary/file"));
    RemovalReport report;
    UniqueFd handle(open(directory.path.c_str(), O_PATH | O_CLOEXEC));
    empty_directory(handle.get(), kNever, &report);
    HOLDS(report.failed == 1 && report.failures[0].errnum == EBADF);
  }));
}
