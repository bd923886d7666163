#include "../core/private_dir.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "directory_case.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

constexpr char kTaken[] = "work-aaaaaaaaaaaaaaaaaaaaaaaaaa";

RootProblem problem_of(const std::string& root) {
  PrivateDirectory directory;
  return create_private_directory(root, "work", &directory).root;
}

}  // namespace

TEST("an unsafe private root is named by its reason and nothing is made [M-57, B112]") {
  CHECK(unprivileged([](const std::string& base) {
    HOLDS(problem_of("") == RootProblem::kMissing);
    HOLDS(problem_of(base + "/absent") == RootProblem::kMissing);
    HOLDS(!exists(base + "/absent"));
    make_file(base + "/file");
    HOLDS(problem_of(base + "/file") == RootProblem::kNotDirectory);
    HOLDS(problem_of(base + "/file/below") == RootProblem::kNotDirectory);
    make_dir(base + "/real");
    HOLDS(symlink("real", (base + "/link").c_str()) == 0);
    HOLDS(symlink("absent", (base + "/dangling").c_str()) == 0);
    for (const char* path : {"/link", "/link/", "/link/.", "/link//./", "/dangling"})
      HOLDS(problem_of(base + path) == RootProblem::kSymlink);
    for (mode_t mode : {0777, 0770, 0702, 0720}) {
      HOLDS(chmod((base + "/real").c_str(), mode) == 0);
      HOLDS(problem_of(base + "/real") == RootProblem::kWritableByOthers);
    }
    HOLDS(chmod((base + "/real").c_str(), 0300) == 0);
    HOLDS(problem_of(base + "/real") == RootProblem::kUnreadable);
    HOLDS(chmod((base + "/real").c_str(), 0700) == 0);
    HOLDS(count(base + "/real") == 0);
  }));
}

TEST("a root of another user is refused, one of the superuser is not [M-57, B112]") {
  CHECK(as_superuser([](const std::string& base) {
    HOLDS(chmod(base.c_str(), 01777) == 0);
    make_dir(base + "/theirs");
    HOLDS(chown((base + "/theirs").c_str(), 12345, 12345) == 0);
    HOLDS(problem_of(base + "/theirs") == RootProblem::kForeignOwner);
    HOLDS(count(base + "/theirs") == 0);
    become_nobody();
    PrivateDirectory directory;
    HOLDS(created(base, &directory));
  }));
}

TEST("a sticky root that all may write is accepted, and a root above a link too [M-57]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/real");
    make_dir(base + "/real/root", 01777);
    HOLDS(symlink("real", (base + "/link").c_str()) == 0);
    PrivateDirectory directory;
    HOLDS(created(base + "/link/root", &directory));
    HOLDS(mode_of(base + "/real/root") == 01777);
  }));
}

TEST("a prefix with a slash is refused and the longest name fits [M-54]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/sub");
    PrivateDirectory directory;
    HOLDS(create_private_directory(base, "sub/work", &directory).system.errnum == EINVAL);
    HOLDS(count(base + "/sub") == 0);
    // 255 bytes are a name; 27 are ours and 6 the suffix.
    HOLDS(create_private_directory(base, std::string(223, 'p'), &directory).system.errnum == ENAMETOOLONG);
    HOLDS(count(base) == 1);
    HOLDS(!create_private_directory(base, std::string(222, 'p'), &directory));
  }));
}

TEST("a private directory is exactly 0700 and its owner file 0600 under any umask [M-55, B097, B112]") {
  CHECK(unprivileged([](const std::string& base) {
    for (mode_t mask : {0, 022, 0277, 0700, 0777}) {
      umask(mask);
      PrivateDirectory directory;
      HOLDS(created(base, &directory));
      HOLDS(umask(mask) == mask);
      HOLDS(mode_of(directory.path) == 0700);
      HOLDS(mode_of(directory.path + ".owner") == 0600);
      FileFacts by_path, by_fd;
      HOLDS(facts_at(AT_FDCWD, directory.path.c_str(), &by_path) == 0);
      HOLDS(facts_of(directory.fd.get(), &by_fd) == 0);
      HOLDS(by_path.id == by_fd.id);
      HOLDS((fcntl(directory.fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
    }
  }));
}

TEST("a root with the group bit does not hand it down [M-55]") {
  CHECK(unprivileged([](const std::string& base) {
    HOLDS(chmod(base.c_str(), 02700) == 0);
    PrivateDirectory directory;
    HOLDS(created(base, &directory));
    HOLDS(mode_of(directory.path) == 0700);
  }));
}

TEST("at no moment is a directory wider than 0700 or its owner file wider than 0600 [M-55, B097, B112]") {
  CHECK(unprivileged([](const std::string& base) {
    for (mode_t mask : {0, 022, 0777}) {
      umask(mask);
      auto traced = [](const std::string& root) {
        PrivateDirectory directory;
        HOLDS(created(root, &directory));
      };
      auto watch = [](const std::string& root) {
        for (const std::string& name : entries(root))
          HOLDS((mode_of(root + "/" + name) & ~(name.ends_with(".owner") ? 0600 : 0700)) == 0);
      };
      HOLDS(at_every_step(traced, watch, base));
    }
    HOLDS(count(base) == 6);
  }));
}

TEST("names differ, tell nothing and carry 128 bits [M-54]") {
  CHECK(unprivileged([](const std::string& base) {
    std::vector<std::string> names;
    for (int i = 0; i < 50; i++) {
      PrivateDirectory directory;
      HOLDS(created(base, &directory));
      HOLDS(directory.path == base + "/" + directory.name && directory.name.size() == 31);
      names.push_back(directory.name);
    }
    std::sort(names.begin(), names.end());
    HOLDS(std::unique(names.begin(), names.end()) == names.end());
    // Each of the 128 bits shows in the name.
    static uint8_t pattern[16];
    RandomBytes fixed = [](uint8_t* out, size_t size) {
      memcpy(out, pattern, size);
      return 0;
    };
    names.clear();
    for (int bit = 0; bit < 128; bit++) {
      memset(pattern, 0, sizeof pattern);
      pattern[bit / 8] = static_cast<uint8_t>(1 << bit % 8);
      PrivateDirectory directory;
      HOLDS(!create_private_directory(base, "bit", &directory, fixed));
      names.push_back(directory.name);
    }
    std::sort(names.begin(), names.end());
    HOLDS(std::unique(names.begin(), names.end()) == names.end());
  }));
}

TEST("a taken name is left alone and another one is tried, eight times at most [M-54, B112]") {
  CHECK(unprivileged([](const std::string& base) {
    // Gives seven times the taken name and then another.
    static int calls = 0;
    static int taken_calls = 7;
    RandomBytes scripted = [](uint8_t* out, size_t size) {
      memset(out, ++calls <= taken_calls ? 0 : 0xff, size);
      return 0;
    };
    make_dir(base + "/" + kTaken, 0755);
    PrivateDirectory directory;
    HOLDS(!create_private_directory(base, "work", &directory, scripted));
    HOLDS(calls == 8 && directory.name != kTaken && mode_of(base + "/" + kTaken) == 0755);
    HOLDS(!exists(base + "/" + kTaken + ".owner"));
    calls = 0;
    taken_calls = 8;
    size_t before = count(base);
    HOLDS(create_private_directory(base, "work", &directory, scripted).system.errnum == EEXIST);
    HOLDS(calls == 8 && count(base) == before);
    // A planted link bears the name, and a planted owner file.
    HOLDS(rmdir((base + "/" + kTaken).c_str()) == 0 && symlink("/", (base + "/" + kTaken).c_str()) == 0);
    calls = 0;
    HOLDS(create_private_directory(base, "work", &directory, scripted).system.errnum == EEXIST);
    HOLDS(unlink((base + "/" + kTaken).c_str()) == 0);
    make_file(base + "/" + kTaken + ".owner", "theirs");
    calls = 0;
    HOLDS(create_private_directory(base, "work", &directory, scripted).system.errnum == EEXIST);
    HOLDS(exists(base + "/" + kTaken + ".owner"));
  }));
}

TEST("a creation that runs out of descriptors leaves nothing, at whichever it ends [M-54]") {
  CHECK(unprivileged([](const std::string& base) {
    umask(0777);
    int free_fd = dup(0);
    close(free_fd);
    size_t needed = 0;
    for (rlim_t spare = 0; spare < 8; spare++) {
      rlimit limit = {static_cast<rlim_t>(free_fd) + spare, 4096};
      setrlimit(RLIMIT_NOFILE, &limit);
      PrivateDirectory directory;
      DirectoryError error = create_private_directory(base, "work", &directory);
      limit.rlim_cur = 4096;
      setrlimit(RLIMIT_NOFILE, &limit);
      if (!error) break;
      needed = spare + 1;
      HOLDS(error.root == RootProblem::kNone && error.system.errnum == EMFILE);
      HOLDS(count(base) == 0);
    }
    HOLDS(needed >= 3 && needed < 8);
    HOLDS(count(base) == 2);
  }));
}

TEST("the descriptors kept are never 0, 1 or 2 [M-54]") {
  CHECK(unprivileged([](const std::string& base) {
    std::fflush(stdout);
    int out = fcntl(1, F_DUPFD_CLOEXEC, 10);
    for (int fd : {0, 1, 2}) close(fd);
    PrivateDirectory directory;
    bool made = created(base, &directory);
    dup2(out, 1);
    HOLDS(made && directory.fd.get() > 2 && directory.owner_lock.get() > 2);
  }));
}

TEST("a removal refuses a name that is not one of ours [R-14]") {
  CHECK(unprivileged([](const std::string& base) {
    make_dir(base + "/notes");
    make_dir(base + "/root");
    RemovalReport report;
    for (const char* name : {"", ".", "..", "../notes", "notes", "../work-aaaaaaaaaaaaaaaaaaaaaaaaaa",
                             "work-aaaaaaaaaaaaaaaaaaaaaaaaa", "work-aaaaaaaaaaaaaaaaaaaaaaaaa1"})
      HOLDS(remove_private_directory(base + "/root", name, kNever, &report).system.errnum == EINVAL);
    HOLDS(exists(base + "/notes") && report.removed == 0);
  }));
}

TEST("a private directory goes with all kinds of entries, and its owner file with it [M-56, R-10]") {
  CHECK(unprivileged([](const std::string& base) {
    PrivateDirectory directory;
    HOLDS(created(base, &directory));
    std::string path = directory.path;
    make_file(path + "/.hidden");
    make_file(path + "/read-only", "x", 0400);
    make_file(path + "/no-access", "x", 0);
    HOLDS(mkfifo((path + "/fifo").c_str(), 0600) == 0);
    sockaddr_un address = {AF_UNIX, ""};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", path.c_str());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    HOLDS(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    make_dir(path + "/a");
    make_dir(path + "/a/b");
    make_file(path + "/a/b/\n strange \xff name");
    RemovalReport report;
    HOLDS(!remove_private_directory(base + "/", directory.name, kNever, &report));
    HOLDS(report.complete() && report.removed == 9 && count(base) == 0);
    HOLDS(!remove_private_directory(base, directory.name, kNever, &report) && report.complete());
  }));
}
