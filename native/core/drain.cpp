#include "drain.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "pipe_budget.h"

namespace exactspawn {
namespace {

// One drain takes at most this many reads before the others have their turn.
constexpr int kReadsPerTurn = 8;

// After how many turns a fast writer is asked again whether it has become a slow one.
constexpr int kEagerTurns = 1000;

// Of a pipe that was not grown, pipe(7).
constexpr size_t kDefaultPipeBytes = 64 * 1024;

#if defined(__linux__)
constexpr size_t kDiscardBytes = 1024 * 1024;

// Moves what is in the pipe to /dev/null, without copying it.
ssize_t discard(int pipe, int nowhere) {
  return splice(pipe, nullptr, nowhere, nullptr, kDiscardBytes, SPLICE_F_NONBLOCK);
}
#else
ssize_t discard(int, int) {
  errno = EINVAL;
  return -1;
}
#endif

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
  SysError error = reactor->add(fd_.get(), kReadable, true, this);
  if (error) reactor_ = nullptr;
  return error;
}

void Drain::close() {
  if (!fd_.valid()) return;
  if (reactor_ != nullptr) {
    reactor_->remove(fd_.get());
    reactor_->forget_later(this);
  }
  fd_.reset();
  return_pipe_budget(granted_);
  granted_ = 0;
}

// What the filter withholds of an end that nobody saw is treated as at any end: no byte goes uncounted.
void Drain::finish(bool complete) {
  {
    Lock lock(mutex_);
    filter_.finish(*this);
    complete_ = complete;
  }
  close();
}

// What has come by now is not cut off, whether it would be looked at in a moment or with the next batch of events.
void Drain::cancel() {
  if (fd_.valid() && reactor_ != nullptr) take_all();
  if (fd_.valid()) finish(false);
}

void Drain::on_ready(uint32_t) { tell_end_after_take(); }

void Drain::on_later() {
  uint64_t before = total_;
  tell_end_after_take();
  // It filled much of the pipe in that moment: another one could make it wait for room.
  if (total_ - before >= room() / 2) eager_turns_ = kEagerTurns;
}

// An event of this batch can still name a drain that was cancelled earlier in the batch.
void Drain::tell_end_after_take() {
  if (!fd_.valid()) return;
  bool trickles = take();
  if (!fd_.valid()) return owner_->on_drain_end();
  // A writer of short lines would wake this thread for each: they may come together first.
  if (trickles && eager_turns_ == 0) return reactor_->look_later(this);
  if (trickles) eager_turns_--;
  wait_for_more();
}

bool Drain::take() {
  for (int turn = 0; turn < kReadsPerTurn; turn++) {
    ssize_t size = take_once();
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return false;
    if (size <= 0) {
      finish(size == 0);
      return false;
    }
    if (static_cast<size_t>(size) < room() / 8) return true;
  }
  return false;
}

void Drain::take_all() {
  // Not until there is nothing: somebody may write as fast as this reads.
  for (int turn = 0; turn < kReadsPerTurn && fd_.valid() && take(); turn++) {
  }
}

// Told once: a batch of events cannot hold this drain twice, and while it looks later nothing is told.
void Drain::wait_for_more() {
  if (reactor_->rearm(fd_.get(), kReadable, this)) reactor_->look_later(this);
}

size_t Drain::room() const { return granted_ > 0 ? granted_ : kDefaultPipeBytes; }

// One read, or one move of bytes that nobody will see.
ssize_t Drain::take_once() {
  if (can_discard()) {
    ssize_t size = discard(fd_.get(), reactor_->nowhere());
    if (size > 0) {
      Lock lock(mutex_);
      total_ += static_cast<uint64_t>(size);
      retention_.skip(static_cast<uint64_t>(size));
    }
    if (size >= 0 || errno == EAGAIN || errno == EINTR) return size;
    discards_ = false;  // a kernel or a sandbox without it
  }
  uint8_t* chunk = reactor_->scratch(filter_.headroom());
  ssize_t size = read(fd_.get(), chunk, Reactor::kScratchBytes);
  if (size > 0) {
    Lock lock(mutex_);
    total_ += static_cast<uint64_t>(size);
    filter_.feed(chunk, static_cast<size_t>(size), *this);
  }
  return size;
}

// Only this thread appends: what it reads of the retention without the lock is its own.
bool Drain::can_discard() {
  return discards_ && reactor_->nowhere() >= 0 && filter_.transparent() && retention_.full();
}

void Drain::hurry() {
  if (!fd_.valid() || reactor_ == nullptr || !reactor_->looks_later(this)) return;
  reactor_->forget_later(this);
  take_all();
  if (fd_.valid()) wait_for_more();
}

void Drain::write(const uint8_t* bytes, size_t size) { retention_.append(bytes, size); }

bool Drain::silent() {
  Lock lock(mutex_);
  return complete_ && total_ == 0;
}

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
