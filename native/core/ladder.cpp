#include "ladder.h"

#include <algorithm>

namespace exactspawn {

void Ladder::start(const LadderPlan& plan, int64_t now) {
  int64_t until = deadline_after(now, plan.grace_ms);
  if (active()) {
    if (state_ != State::kKilled) until_ = std::min(until_, until);
    return;
  }
  plan_ = plan;
  until_ = until;
  state_ = State::kFirst;
}

Ladder::Step Ladder::next(bool gone, int64_t now) {
  if (state_ == State::kIdle) return Step::kNothing;
  if (gone) {
    state_ = State::kIdle;
    return Step::kDone;
  }
  if (state_ == State::kFirst) {
    state_ = State::kGrace;
    return Step::kSendFirst;
  }
  if (now < until_) return Step::kNothing;
  if (state_ == State::kGrace) {
    state_ = State::kKilled;
    until_ = deadline_after(now, plan_.kill_deadline_ms);
    escalated_ = true;
    return Step::kSendKill;
  }
  state_ = State::kIdle;
  return Step::kGaveUp;
}

}  // namespace exactspawn
