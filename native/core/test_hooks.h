// What tests pretend about this machine. Process-wide.
#pragma once

namespace exactspawn {

// Test hooks: pretend that a mechanism is absent. Set before the first start, or between starts.
struct TestHooks {
  bool no_clone3 = false;
  bool force_fork = false;
  bool no_pidfd = false;
  bool no_group_pidfd = false;
  bool no_exit_info = false;
  bool no_close_range = false;
  bool no_memfd_exec = false;
  bool no_loop_watch = false;
  int delay_before_exec_ms = 0;
};

// Thread: any.
void set_test_hooks(const TestHooks& wanted);
TestHooks test_hooks();

}  // namespace exactspawn
