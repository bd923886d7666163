#include <errno.h>
#include <sys/file.h>

#include "../core/owner_file.h"
#include "../core/private_dir.h"
#include "directory_case.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

// A directory as its owner left it, and the owner file that this test writes for it.
constexpr char kName[] = "work-aaaaaaaaaaaaaaaaaaaaaaaaaa";
constexpr char kOtherName[] = "work-bbbbbbbbbbbbbbbbbbbbbbbbbb";

std::string lines(pid_t pid, uint64_t ticks, const std::string& boot_id) {
  return std::to_string(pid) + "\n" + std::to_string(ticks) + "\n" + boot_id + "\n";
}

void leave_behind(const std::string& root, const std::string& owner_text) {
  make_dir(root + "/" + kName);
  make_file(root + "/" + kName + "/file");
  make_file(root + "/" + kName + ".owner", owner_text, 0600);
}

pid_t dead_pid() {
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  return pid;
}

SweepReport swept(const std::string& root) {
  SweepReport report;
  HOLDS(!sweep_private_root(root, deadline_in(20000), &report));
  return report;
}

}  // namespace

TEST("a sweep refuses an unsafe root and leaves what has no owner file [M-57, B111]") {
  CHECK(unprivileged([](const std::string& base) {
    SweepReport report;
    HOLDS(sweep_private_root(base + "/absent", kNever, &report).root == RootProblem::kMissing);
    make_dir(base + "/open");
    leave_behind(base + "/open", lines(dead_pid(), 1, "earlier"));
    HOLDS(chmod((base + "/open").c_str(), 0777) == 0);
    HOLDS(sweep_private_root(base + "/open", kNever, &report).root == RootProblem::kWritableByOthers);
    HOLDS(count(base + "/open") == 2);
    HOLDS(chmod((base + "/open").c_str(), 0700) == 0);
    HOLDS(unlink((base + "/open/" + kName + ".owner").c_str()) == 0);
    report = swept(base + "/open");
    HOLDS(report.removed + report.kept + report.ignored + report.left == 0 && count(base + "/open") == 1);
  }));
}

TEST("a hostile owner file is neither followed nor waited for and removes nothing [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    Owner self;
    HOLDS(!current_owner(&self));
    std::string dead = lines(dead_pid(), 1, self.boot_id);
    std::string owner = base + "/root/" + kName + ".owner";
    make_file(base + "/outside", dead, 0600);
    make_dir(base + "/root");
    make_dir(base + "/root/" + kName);
    auto ignored = [&] {
      SweepReport report = swept(base + "/root");
      HOLDS(report.ignored == 1 && report.removed + report.kept + report.left == 0);
      HOLDS(exists(owner) && exists(base + "/root/" + kName));
      HOLDS(removed(base + "/root", std::string(kName) + ".owner").complete());
    };
    HOLDS(symlink("../outside", owner.c_str()) == 0);
    ignored();
    HOLDS(link((base + "/outside").c_str(), owner.c_str()) == 0);
    ignored();
    HOLDS(mkfifo(owner.c_str(), 0600) == 0);
    ignored();
    make_dir(owner);
    ignored();
    const std::string texts[] = {
        std::string(1, '\0'), "\n", "garbage", "1\n1\n", "1\n1\n\n", "-1\n1\nboot\n", "0\n1\nboot\n",
        "1x\n1\nboot\n", "1\n1\nboot", "99999999999999999999\n1\nboot\n", "1\n99999999999999999999\nboot\n",
        "1\n1\nboot\nmore\n", " 1\n1\nboot\n", "../x\n1\nboot\n", dead.substr(0, dead.size() - 1),
        dead + std::string(1 << 20, 'x')};
    for (const std::string& text : texts) {
      make_file(owner, text, 0600);
      ignored();
    }
    make_file(owner, dead, 0);
    ignored();
    HOLDS(exists(base + "/outside") && count(base) == 2);
  }));
}

TEST("an owner file whose name is not one of ours speaks for nothing [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/root");
    make_dir(base + "/root/notes");
    std::string dead = lines(dead_pid(), 1, "earlier");
    for (const char* name : {".owner", "..owner", "...owner", "notes.owner"})
      make_file(base + "/root/" + name, dead, 0600);
    SweepReport report = swept(base + "/root");
    HOLDS(report.removed + report.kept + report.ignored + report.left == 0 && count(base + "/root") == 5);
  }));
}

TEST("in a shared root nobody's owner file makes us remove a directory of someone else [B111]") {
  CHECK(as_superuser([](const std::string& base) {
    HOLDS(chmod(base.c_str(), 01777) == 0);
    std::string dead = lines(dead_pid(), 1, "earlier");
    // Theirs, for a directory of ours; and ours, for a directory of theirs.
    leave_behind(base, dead);
    give_away(base + "/" + kName + ".owner");
    make_dir(base + "/" + kOtherName);
    give_away(base + "/" + kOtherName);
    make_file(base + "/" + kOtherName + ".owner", dead, 0600);
    SweepReport report = swept(base);
    HOLDS(report.ignored == 2 && report.removed + report.left == 0 && count(base) == 4);
  }));
}

TEST("a directory of a live owner is kept, in the same host and in another [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    PrivateDirectory ours;
    HOLDS(created(base, &ours));
    HOLDS(swept(base).kept == 1);
    // Its lock may go before it does: then the lines speak.
    ours.owner_lock.reset();
    HOLDS(swept(base).kept == 1);
    // Whatever the lines say, while it is held the lock does.
    PrivateDirectory locked;
    HOLDS(created(base, &locked));
    make_file(locked.path + ".owner", lines(dead_pid(), 1, "earlier"), 0600);
    HOLDS(swept(base).kept == 2);
    locked.owner_lock.reset();
    HOLDS(swept(base).removed == 1 && !exists(locked.path));
    pid_t other = fork();
    if (other == 0) {
      HOLDS(swept(base).kept == 1);
      _exit(wrong == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(other, &status, 0);
    HOLDS(status == 0 && exists(ours.path));
  }));
}

TEST("the lines of an owner file name this very process [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    PrivateDirectory directory;
    HOLDS(created(base, &directory));
    char text[256] = "";
    int fd = open((directory.path + ".owner").c_str(), O_RDONLY | O_CLOEXEC);
    HOLDS(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    Owner self;
    HOLDS(!current_owner(&self) && self.pid == getpid() && self.start_ticks > 0 && self.boot_id.size() == 36);
    HOLDS(text == lines(self.pid, self.start_ticks, self.boot_id));
  }));
}

TEST("what a killed host left is removed by the next one [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    pid_t host = fork();
    if (host == 0) {
      PrivateDirectory directory;
      created(base, &directory);
      make_file(directory.path + "/file");
      raise(SIGKILL);
    }
    // Seen dead and not yet reaped: a zombie holds nothing.
    siginfo_t info;
    HOLDS(waitid(P_PID, static_cast<id_t>(host), &info, WEXITED | WNOWAIT) == 0);
    HOLDS(count(base) == 2);
    SweepReport report = swept(base);
    HOLDS(report.removed == 1 && report.removal.removed == 2 && count(base) == 0);
    waitpid(host, nullptr, 0);
  }));
}

TEST("a dead number, a reused number and an earlier boot are told from a live owner [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    Owner self;
    HOLDS(!current_owner(&self));
    const std::string dead[] = {lines(dead_pid(), self.start_ticks, self.boot_id),
                                lines(self.pid, self.start_ticks + 1, self.boot_id),
                                lines(self.pid, self.start_ticks - 1, self.boot_id),
                                lines(self.pid, self.start_ticks, "00000000-0000-0000-0000-000000000000")};
    for (const std::string& text : dead) {
      leave_behind(base, text);
      SweepReport report = swept(base);
      HOLDS(report.removed == 1 && report.kept == 0 && count(base) == 0);
    }
    leave_behind(base, lines(self.pid, self.start_ticks, self.boot_id));
    HOLDS(swept(base).kept == 1 && count(base) == 2);
  }));
}

TEST("a lock keeps a directory whose owner's number means nothing here [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    Owner self;
    HOLDS(!current_owner(&self));
    leave_behind(base, lines(dead_pid(), 1, self.boot_id));
    UniqueFd lock(open((base + "/" + kName + ".owner").c_str(), O_RDONLY | O_CLOEXEC));
    HOLDS(flock(lock.get(), LOCK_EX) == 0);
    HOLDS(swept(base).kept == 1 && count(base) == 2);
    lock.reset();
    HOLDS(swept(base).removed == 1 && count(base) == 0);
  }));
}

TEST("a crash between two steps of a creation is swept as well [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    std::string owner = base + "/" + kName + ".owner";
    auto age = [&](time_t seconds) {
      timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
      HOLDS(utimensat(AT_FDCWD, owner.c_str(), times, 0) == 0);
    };
    // Before the directory was made.
    make_file(owner, lines(dead_pid(), 1, "earlier"), 0600);
    HOLDS(swept(base).removed == 1 && count(base) == 0);
    // Before the lines were written. Its maker may be at it for a minute, and while it holds the lock.
    make_file(owner, "", 0600);
    age(50);
    HOLDS(swept(base).kept == 1 && exists(owner));
    age(70);
    UniqueFd lock(open(owner.c_str(), O_RDONLY | O_CLOEXEC));
    HOLDS(flock(lock.get(), LOCK_EX) == 0 && swept(base).kept == 1 && exists(owner));
    lock.reset();
    HOLDS(swept(base).removed == 1 && count(base) == 0);
    // An empty file tells nothing of a directory that has contents.
    leave_behind(base, "");
    age(70);
    HOLDS(swept(base).ignored == 1 && count(base) == 2);
  }));
}

TEST("a dead owner's directory that became a link costs the link only [B111, R-14]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/canary");
    make_file(base + "/canary/file");
    make_dir(base + "/root");
    HOLDS(symlink("../canary", (base + "/root/" + kName).c_str()) == 0);
    make_file(base + "/root/" + kName + ".owner", lines(dead_pid(), 1, "earlier"), 0600);
    HOLDS(swept(base + "/root").removed == 1 && count(base + "/root") == 0);
    HOLDS(exists(base + "/canary/file"));
  }));
}

TEST("a directory that cannot be swept whole keeps its owner file and stops no other [B111, R-10]") {
  CHECK(as_superuser([](const std::string& base) {
    give_away(base);
    std::string dead = lines(dead_pid(), 1, "earlier");
    leave_behind(base, dead);
    make_dir(base + "/" + kOtherName);
    make_dir(base + "/" + kOtherName + "/theirs");
    make_file(base + "/" + kOtherName + "/theirs/file");
    make_file(base + "/" + kOtherName + ".owner", dead, 0600);
    for (const std::string& name : entries(base)) give_away(base + "/" + name);
    become_nobody();
    SweepReport report = swept(base);
    HOLDS(report.removed == 1 && report.left == 1 && report.removal.failed == 1);
    HOLDS(report.removal.failures[0].path == std::string(kOtherName) + "/theirs");
    HOLDS(count(base) == 2 && exists(base + "/" + kOtherName + ".owner"));
  }));
}

TEST("a sweep at any moment of a creation takes nothing from it [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    auto creation = [](const std::string& root) {
      PrivateDirectory directory;
      HOLDS(created(root, &directory));
      HOLDS(exists(directory.path) && exists(directory.path + ".owner"));
    };
    auto sweep = [](const std::string& root) { swept(root); };
    HOLDS(at_every_step(creation, sweep, base));
    HOLDS(swept(base).removed == 1 && count(base) == 0);
  }));
}

TEST("a creation whose owner file was taken meanwhile tries another name [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    auto creation = [](const std::string& root) {
      PrivateDirectory directory;
      HOLDS(created(root, &directory));
      HOLDS(exists(directory.path) && exists(directory.path + ".owner"));
    };
    // As a sweep would if the first one took a minute.
    auto take = [](const std::string& root) {
      static bool taken = false;
      for (const std::string& name : entries(root))
        if (!taken) taken = unlink((root + "/" + name).c_str()) == 0;
    };
    HOLDS(at_every_step(creation, take, base));
    HOLDS(count(base) == 2);
  }));
}

TEST("a creation, a use and a removal at any moment of a sweep lose nothing to it [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    PrivateDirectory kept;
    HOLDS(created(base, &kept));
    leave_behind(base, lines(dead_pid(), 1, "earlier"));
    auto sweep = [](const std::string& root) { swept(root); };
    auto life = [](const std::string& root) {
      PrivateDirectory directory;
      HOLDS(created(root, &directory));
      make_file(directory.path + "/file");
      RemovalReport report;
      HOLDS(!remove_private_directory(root, directory.name, kNever, &report) && report.removed == 2);
    };
    HOLDS(at_every_step(sweep, life, base));
    HOLDS(exists(kept.path) && count(base) == 2);
  }));
}

TEST("two sweeps at a time remove what one would [B111]") {
  CHECK(unprivileged([](const std::string& base) {
    leave_behind(base, lines(dead_pid(), 1, "earlier"));
    auto sweep = [](const std::string& root) { HOLDS(swept(root).left == 0); };
    HOLDS(at_every_step(sweep, sweep, base));
    HOLDS(count(base) == 0);
  }));
}
