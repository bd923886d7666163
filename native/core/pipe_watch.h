// The seam between a host's pipe and who waits for it: the reactor, which there is everywhere, or the environment's own
// event loop (native/binding/loop_watch.h), which saves each message the way over another thread.
#pragma once

#include <stdint.h>

#include "sys_error.h"

namespace exactspawn {

// Watches one descriptor that it does not own. Made by new, ended by stop().
class PipeWatch {
 public:
  // Tells once the bits of `interest` (kReadable, kWritable, kHangup) that become true. Interests add up until told or
  // disarmed. The end of the other side makes a waiting read and a waiting write ready too.
  virtual SysError arm(uint32_t interest) = 0;
  virtual void disarm(uint32_t interest) = 0;
  // The last call: tells nothing more. When it returns no poller has the number any more, so that it may be closed or
  // serve another file at once.
  virtual void stop() = 0;

 protected:
  ~PipeWatch() = default;
};

}  // namespace exactspawn
