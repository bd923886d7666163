#include "drain.h"

#include <errno.h>
#include <unistd.h>

#include "pipe_budget.h"

namespace exactspawn {
namespace {

// One drain takes at most this many reads before the others have their turn.
constexpr int kReadsPerTurn = 8;

}  // namespace

Drain::Drain(CapturePipe pipe, Ref<SecretSet> secrets, DrainOwner* owner)
    : target_(pipe.target),
      fd_(std::move(pipe.read_end)),
      owner_(owner),
      filter_(std::move(secrets)),
      retention_(pipe.head_bytes, pipe.tail_bytes) {}

Drain::~Drain() { close(); }

SysError Drain::start(Reactor* reactor) {
  granted_ = grow_pipe(fd_.get());
  reactor_ = reactor;
  SysError error = reactor->add(fd_.get(), kReadable, false, this);
  if (error) reactor_ = nullptr;
  return error;
}

void Drain::close() {
  if (!fd_.valid()) return;
  if (reactor_ != nullptr) reactor_->remove(fd_.get());
  fd_.reset();
  return_pipe_budget(granted_);
  granted_ = 0;
}

// What the filter withholds of an end that nobody saw is treated as at any end: no byte goes uncounted.
void Drain::cancel() {
  if (!fd_.valid()) return;
  {
    Lock lock(mutex_);
    filter_.finish(*this);
  }
  close();
}

void Drain::on_ready(uint32_t) {
  // An event of this batch can still name a drain that was cancelled earlier in the batch.
  for (int turn = 0; turn < kReadsPerTurn && fd_.valid(); turn++) {
    uint8_t* chunk = reactor_->scratch(filter_.headroom());
    ssize_t size = read(fd_.get(), chunk, Reactor::kScratchBytes);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    {
      Lock lock(mutex_);
      if (size > 0) {
        total_ += static_cast<uint64_t>(size);
        filter_.feed(chunk, static_cast<size_t>(size), *this);
        continue;
      }
      filter_.finish(*this);
      complete_ = size == 0;
    }
    close();
    owner_->on_drain_end();
  }
}

void Drain::write(const uint8_t* bytes, size_t size) { retention_.append(bytes, size); }

void Drain::copy(LogCopy* out) {
  Lock lock(mutex_);
  size_t head = retention_.head_size();
  out->bytes.resize(head + retention_.tail_size());
  retention_.copy_head(out->bytes.data());
  retention_.copy_tail(out->bytes.data() + head);
  out->head_size = head;
  out->total = total_;
  out->omitted = retention_.omitted();
  out->complete = complete_;
}

}  // namespace exactspawn
