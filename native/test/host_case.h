// Hosts: programs of this binary that run as processes of their own, which a case may launch as it likes and kill.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support.h"

namespace exactspawn::test {

// A program of this binary that is run as a process of its own: HOST("name") { ...args... }
struct HostProgram {
  const char* name;
  int (*body)(const std::vector<std::string>& args);
  HostProgram* next;
  HostProgram(const char* name, int (*body)(const std::vector<std::string>& args));
};

struct HostSetting {
  // Run between fork and exec: what a launcher does to a process.
  std::function<void()> prepare;
  // A program and its arguments that run the host: fixture_denysys.
  std::vector<std::string> under;
};

// Its standard output is a pipe to us.
class Host {
 public:
  explicit Host(const char* name, const std::vector<std::string>& args = {}, const HostSetting& setting = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  pid_t pid() const { return pid_; }
  int output() const { return output_.get(); }
  void kill_now();
  // Its exit code, or -1 for a signal.
  int wait();
  // All that it printed until its end. A host says nothing when its checks hold.
  std::string report();

 private:
  pid_t pid_ = -1;
  UniqueFd output_;
};

// For HostSetting::prepare. The user without rights, and nothing but its own files.
constexpr uid_t kNobodyId = 65534;
void drop_privileges();

// Orphans come to us as long as it lives, so that the case can see and bury them.
class Subreaper {
 public:
  Subreaper();
  ~Subreaper();
};

}  // namespace exactspawn::test

#define HOST_PASTE_(a, b) a##b
#define HOST_JOIN_(a, b) HOST_PASTE_(a, b)
#define HOST(name)                                                                                            \
  static int HOST_JOIN_(host_body_, __LINE__)(const std::vector<std::string>& args);                          \
  static ::exactspawn::test::HostProgram HOST_JOIN_(host_, __LINE__)(name, HOST_JOIN_(host_body_, __LINE__)); \
  static int HOST_JOIN_(host_body_, __LINE__)([[maybe_unused]] const std::vector<std::string>& args)
