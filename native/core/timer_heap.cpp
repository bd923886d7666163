#include "reactor.h"

namespace exactspawn {

void TimerHeap::place(size_t index, Timer* timer) {
  heap_[index] = timer;
  timer->index_ = index;
}

void TimerHeap::sift_up(size_t index) {
  Timer* timer = heap_[index];
  while (index > 0 && heap_[(index - 1) / 2]->due_ > timer->due_) {
    place(index, heap_[(index - 1) / 2]);
    index = (index - 1) / 2;
  }
  place(index, timer);
}

void TimerHeap::sift_down(size_t index) {
  Timer* timer = heap_[index];
  for (;;) {
    size_t child = index * 2 + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->due_ < heap_[child]->due_) child++;
    if (heap_[child]->due_ >= timer->due_) break;
    place(index, heap_[child]);
    index = child;
  }
  place(index, timer);
}

void TimerHeap::set(Timer* timer, int64_t due) {
  cancel(timer);
  if (due == kNever) return;
  timer->due_ = due;
  heap_.push_back(timer);
  timer->index_ = heap_.size() - 1;
  sift_up(timer->index_);
}

void TimerHeap::cancel(Timer* timer) {
  size_t index = timer->index_;
  if (index == SIZE_MAX) return;
  timer->index_ = SIZE_MAX;
  Timer* moved = heap_.back();
  heap_.pop_back();
  if (moved == timer) return;
  place(index, moved);
  sift_up(index);
  sift_down(moved->index_);
}

void TimerHeap::fire(int64_t now) {
  while (!heap_.empty() && heap_[0]->due_ <= now) {
    Timer* timer = heap_[0];
    cancel(timer);
    timer->on_time();
  }
}

}  // namespace exactspawn
