#include "process_table.h"

#include <errno.h>
#include <sys/sysctl.h>

#include <vector>

namespace exactspawn {
namespace {

// The processes that `selector` and `value` name, zombies included: kern.proc, sysctl(3). The table may grow between
// the question for the size and the copy, which then fails with ENOMEM; the kernel's answer about the size has room
// for five more already.
std::vector<kinfo_proc> list_processes(int selector, int value) {
  int name[] = {CTL_KERN, KERN_PROC, selector, value};
  std::vector<kinfo_proc> processes;
  size_t size;
  do {
    if (sysctl(name, 4, nullptr, &size, nullptr, 0) != 0) return {};
    processes.resize(size / sizeof(kinfo_proc));
    size = processes.size() * sizeof(kinfo_proc);
    if (sysctl(name, 4, processes.data(), &size, nullptr, 0) == 0) {
      processes.resize(size / sizeof(kinfo_proc));
      return processes;
    }
  } while (errno == ENOMEM);
  return {};
}

}  // namespace

int count_group_members(pid_t pgid, pid_t except) {
  int count = 0;
  for (const kinfo_proc& process : list_processes(KERN_PROC_PGRP, pgid)) {
    pid_t pid = process.kp_proc.p_pid;
    if (pid != pgid && pid != except && process.kp_proc.p_stat != SZOMB) count++;
  }
  return count;
}

bool list_group_members(pid_t pgid, std::vector<GroupMember>* out) {
  for (const kinfo_proc& process : list_processes(KERN_PROC_PGRP, pgid)) {
    const extern_proc& facts = process.kp_proc;
    if (facts.p_pid == pgid || facts.p_stat == SZOMB) continue;
    uint64_t started = static_cast<uint64_t>(facts.p_starttime.tv_sec) * 1000000 + static_cast<uint64_t>(facts.p_starttime.tv_usec);
    out->push_back({facts.p_pid, started});
  }
  return true;
}

char process_state(pid_t pid) {
  std::vector<kinfo_proc> processes = list_processes(KERN_PROC_PID, pid);
  if (processes.empty()) return 0;
  switch (processes[0].kp_proc.p_stat) {
    case SZOMB: return 'Z';
    case SSTOP: return 'T';
    default: return 'R';  // the kernel tells running from sleeping by thread only
  }
}

// No such flag here: a death in exec is told as the program's.
bool never_executed(pid_t) { return false; }

}  // namespace exactspawn
