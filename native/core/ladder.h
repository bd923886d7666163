// The escalation of a terminate: a polite signal, a grace period for the whole group, SIGKILL, a last deadline. Decides
// only; the lifecycle sends and looks. Pure: time and facts come in, steps go out.
#pragma once

#include <stdint.h>

#include "clock.h"

namespace exactspawn {

struct LadderPlan {
  int first_signal = 0;
  int64_t grace_ms = 0;
  int64_t kill_deadline_ms = 0;
};

class Ladder {
 public:
  enum class Step { kNothing, kSendFirst, kSendKill, kDone, kGaveUp };

  bool active() const { return state_ == State::kFirst || state_ == State::kGrace || state_ == State::kKilled; }
  bool in_grace() const { return state_ == State::kGrace; }
  bool escalated() const { return escalated_; }
  int first_signal() const { return plan_.first_signal; }

  // While one runs, a second can only shorten its grace. After one gave up, it begins anew.
  void start(const LadderPlan& plan, int64_t now);

  // `gone`: the leader has exited and no member is left. It never goes by the leader alone: members keep their grace
  // after it [M-80].
  Step next(bool gone, int64_t now);
  int64_t deadline() const { return until_; }

 private:
  enum class State { kIdle, kFirst, kGrace, kKilled };
  State state_ = State::kIdle;
  LadderPlan plan_;
  int64_t until_ = kNever;
  bool escalated_ = false;
};

}  // namespace exactspawn
