// Empties one log pipe to its end, whether or not JS runs: filter first, keep what the limits allow, count everything.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <vector>

#include "filter.h"
#include "reactor.h"
#include "retention.h"
#include "spawn.h"
#include "sync.h"

namespace exactspawn {

class DrainOwner {
 public:
  virtual void on_drain_end() = 0;  // reactor thread

 protected:
  ~DrainOwner() = default;
};

struct LogCopy {
  std::vector<uint8_t> bytes;  // the head, then the tail
  uint64_t head_size = 0;
  uint64_t total = 0;    // raw bytes read from the pipe
  uint64_t omitted = 0;  // filtered bytes between head and tail that nothing holds
  bool complete = false;  // the end was seen and nothing is withheld
};

class Drain : private Handler, private Later, private Sink {
 public:
  Drain(CapturePipe pipe, Ref<SecretSet> secrets, DrainOwner* owner);
  ~Drain();

  int target() const { return target_; }
  // Thread: any, once. Fails: as Reactor::add.
  SysError start(Reactor* reactor);
  // Looks now if it would look in a moment: the writer may have ended. The owner is not told. Thread: reactor.
  void hurry();
  // Closes our end without having seen the end; the writer gets SIGPIPE. Thread: reactor.
  void cancel();
  // No more bytes will come. Thread: reactor.
  bool ended() const { return !fd_.valid(); }
  // The end was seen, and no byte before it. Thread: any. Blocks: as copy.
  bool silent();
  // Thread: any. Blocks: while one chunk is being filtered.
  void copy(LogCopy* out);

 private:
  void on_ready(uint32_t interest) override;
  void on_later() override;
  void tell_end_after_take();
  bool take();
  void take_all();
  void wait_for_more();
  ssize_t take_once();
  size_t room() const;
  bool can_discard();
  void finish(bool complete);
  void write(const uint8_t* bytes, size_t size) override;
  void close();

  const int target_;
  UniqueFd fd_;
  Reactor* reactor_ = nullptr;
  DrainOwner* owner_;
  size_t granted_ = 0;
  int eager_turns_ = 0;
  bool discards_ = true;  // as far as this kernel has said
  Mutex mutex_;
  Filter filter_;
  Retention retention_;
  uint64_t total_ = 0;
  bool complete_ = false;
};

}  // namespace exactspawn
