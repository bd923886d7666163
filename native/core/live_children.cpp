#include "live_children.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace exactspawn {

// A list through the records themselves: adding and removing cost the same with one child and with two thousand.
class LiveChildren {
 public:
  void add(Lifecycle* child) {
    Lock lock(mutex_);
    child->live_next_ = first_;
    if (first_ != nullptr) first_->live_previous_ = child;
    first_ = child;
  }

  void remove(Lifecycle* child) {
    Lock lock(mutex_);
    if (child->live_previous_ != nullptr) {
      child->live_previous_->live_next_ = child->live_next_;
    } else if (first_ == child) {
      first_ = child->live_next_;
    }
    if (child->live_next_ != nullptr) child->live_next_->live_previous_ = child->live_previous_;
    child->live_previous_ = child->live_next_ = nullptr;
  }

  std::vector<Ref<Lifecycle>> of(EventSink* sink) {
    Lock lock(mutex_);
    std::vector<Ref<Lifecycle>> children;
    for (Lifecycle* child = first_; child != nullptr; child = child->live_next_) {
      if (child->sink() == sink) children.push_back(Ref<Lifecycle>(child));
    }
    return children;
  }

  void kill_owned() {
    Lock lock(mutex_);
    for (Lifecycle* child = first_; child != nullptr; child = child->live_next_) {
      if (!child->options_.owned) continue;
      const Ref<Process>& process = child->process();
      if (process->leads_group()) process->signal_group(SIGKILL);
      process->signal_leader(SIGKILL);
    }
  }

 private:
  Mutex mutex_;
  Lifecycle* first_ = nullptr;
};

namespace {

constinit LiveChildren live_children;

void await_exit(Process& process, int64_t deadline) {
  UniqueFd pidfd = process.copy_pidfd();
  while (!process.peek()) {
    int64_t left = deadline - now_ms();
    if (left <= 0) return;
    if (!pidfd.valid()) {
      usleep(1000);
      continue;
    }
    pollfd entry = {pidfd.get(), POLLIN, 0};
    poll(&entry, 1, static_cast<int>(left));
  }
}

}  // namespace

void live_children_add(Lifecycle* child) { live_children.add(child); }

void live_children_remove(Lifecycle* child) { live_children.remove(child); }

void drop_children_of(EventSink* sink, int wait_ms) {
  std::vector<Ref<Lifecycle>> children = live_children.of(sink);
  for (const Ref<Lifecycle>& child : children) child->drop();
  int64_t deadline = deadline_in(wait_ms);
  for (const Ref<Lifecycle>& child : children) {
    if (child->owned()) await_exit(*child->process(), deadline);
  }
}

void kill_all_owned() { live_children.kill_owned(); }

}  // namespace exactspawn
