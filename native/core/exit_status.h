// How a child ended. The only place that decodes what the kernel says of it.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

namespace exactspawn {

struct ExitStatus {
  bool known = false;  // false: another reaper took the status and the kernel kept no copy
  int code = 0;        // exit code, when signal is 0
  int signal = 0;
  bool core_dumped = false;
};

// From waitid(2): si_code says which member of si_status it is.
inline ExitStatus exit_status_of(const siginfo_t& info) {
  ExitStatus status;
  status.known = true;
  if (info.si_code == CLD_EXITED) {
    status.code = info.si_status;
  } else {
    status.signal = info.si_status;
    status.core_dumped = info.si_code == CLD_DUMPED;
  }
  return status;
}

// From a wait status word, as waitpid(2) and PIDFD_GET_INFO give it.
inline ExitStatus exit_status_of_word(int word) {
  ExitStatus status;
  status.known = true;
  if (WIFEXITED(word)) {
    status.code = WEXITSTATUS(word);
  } else {
    status.signal = WTERMSIG(word);
    status.core_dumped = WCOREDUMP(word);
  }
  return status;
}

}  // namespace exactspawn
