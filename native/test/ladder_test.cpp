// The escalation of a terminate, without time and without processes.
#include "ladder.h"

#include <signal.h>

#include "harness.h"

using namespace exactspawn;

namespace {

using Step = Ladder::Step;

constexpr LadderPlan kPlan = {SIGINT, 100, 1000};

bool is(Step actual, Step expected) { return actual == expected; }

}  // namespace

TEST("a ladder that nobody started asks for nothing [M-78]") {
  Ladder ladder;
  CHECK(!ladder.active());
  CHECK(is(ladder.next(false, 0), Step::kNothing));
  CHECK(is(ladder.next(true, 0), Step::kNothing));
}

TEST("a group that is gone already gets no signal [M-78]") {
  Ladder ladder;
  ladder.start(kPlan, 0);
  CHECK(is(ladder.next(true, 0), Step::kDone));
  CHECK(!ladder.active());
  CHECK(!ladder.escalated());
}

TEST("a group that goes within its grace is never killed [M-79]") {
  Ladder ladder;
  ladder.start(kPlan, 0);
  CHECK_EQ(ladder.first_signal(), SIGINT);
  CHECK(is(ladder.next(false, 0), Step::kSendFirst));
  CHECK(is(ladder.next(false, 1), Step::kNothing));
  CHECK(ladder.in_grace());
  CHECK(is(ladder.next(true, 99), Step::kDone));
  CHECK(!ladder.escalated());
}

// A clock that says 50 may be about to say 51: until 151 a hundred milliseconds need not be over.
TEST("the kill comes when the grace is over, not a millisecond earlier [M-79, M-80]") {
  Ladder ladder;
  ladder.start(kPlan, 50);
  ladder.next(false, 50);
  CHECK_EQ(ladder.deadline(), 151);
  CHECK(is(ladder.next(false, 150), Step::kNothing));
  CHECK(is(ladder.next(false, 151), Step::kSendKill));
  CHECK(ladder.escalated());
  CHECK(!ladder.in_grace());
  CHECK_EQ(ladder.deadline(), 1152);
  CHECK(is(ladder.next(true, 152), Step::kDone));
}

TEST("a ladder gives up when the kill has not worked by its deadline, and can begin anew [M-81, M-82]") {
  Ladder ladder;
  ladder.start(kPlan, 0);
  ladder.next(false, 0);
  ladder.next(false, 101);
  CHECK(is(ladder.next(false, 1101), Step::kNothing));
  CHECK(is(ladder.next(false, 1102), Step::kGaveUp));
  CHECK(!ladder.active());
  ladder.start(kPlan, 2000);
  CHECK(is(ladder.next(false, 2000), Step::kSendFirst));
  CHECK_EQ(ladder.deadline(), 2101);
}

TEST("a second start shortens the grace of a running ladder and never lengthens it [M-82]") {
  Ladder ladder;
  ladder.start(kPlan, 0);
  ladder.next(false, 0);
  ladder.start({SIGTERM, 1000, 1000}, 10);
  CHECK_EQ(ladder.deadline(), 101);
  ladder.start({SIGTERM, 20, 1000}, 10);
  CHECK_EQ(ladder.deadline(), 31);
  CHECK_EQ(ladder.first_signal(), SIGINT);
  CHECK(is(ladder.next(false, 31), Step::kSendKill));
  ladder.start({SIGTERM, 0, 1000}, 32);
  CHECK(is(ladder.next(false, 32), Step::kNothing));
}

TEST("a second start before the first signal shortens the grace too [M-82]") {
  Ladder ladder;
  ladder.start(kPlan, 0);
  ladder.start({SIGTERM, 20, 1000}, 0);
  CHECK(is(ladder.next(false, 0), Step::kSendFirst));
  CHECK_EQ(ladder.first_signal(), SIGINT);
  CHECK_EQ(ladder.deadline(), 21);
}

TEST("no grace kills at once, an endless one never, and no sum overflows [M-79, P-5]") {
  Ladder none;
  none.start({SIGTERM, 0, INT64_MAX}, 5);
  CHECK(is(none.next(false, 5), Step::kSendFirst));
  CHECK(is(none.next(false, 5), Step::kSendKill));
  CHECK_EQ(none.deadline(), kNever);

  Ladder endless;
  endless.start({SIGTERM, INT64_MAX, 1000}, 5);
  endless.next(false, 5);
  CHECK_EQ(endless.deadline(), kNever);
  CHECK(is(endless.next(false, INT64_MAX - 1), Step::kNothing));
}
