// The last moments of an environment and of the host.
#include "live_children.h"

#include <signal.h>

#include <memory>

#include "child_case.h"
#include "harness.h"
#include "support.h"

using namespace exactspawn;
using namespace exactspawn::test;

namespace {

std::vector<TestHooks> with_and_without_pidfd() {
  TestHooks none;
  none.no_pidfd = true;
  return {{}, none};
}

std::unique_ptr<Child> started(bool owned, GroupMode group = GroupMode::kNew) {
  SpawnRequest request = fixture_request({"pause"});
  request.group = group;
  LifecycleOptions options;
  options.owned = owned;
  auto child = std::make_unique<Child>(std::move(request), options);
  CHECK(child->started());
  return child;
}

}  // namespace

TEST("an environment without children ends at once [P-7]") {
  Ref<Listener> nobody(new Listener);
  drop_children_of(nobody.get(), 1000000);
}

TEST("the end of an environment ends its own children, waits for them, and leaves all others [P-7, B094]") {
  for (const TestHooks& hooks_wanted : with_and_without_pidfd()) {
    HooksInForce hooks(hooks_wanted);
    std::unique_ptr<Child> own = started(true);
    std::unique_ptr<Child> other = started(true);
    drop_children_of(&own->listener(), 1000000);
    CHECK(gone(own->pid()));
    CHECK(!gone(other->pid()));
    Event settled = own->told(EventType::kSettled);
    CHECK_EQ(settled.fields[kCause], static_cast<double>(EndedBy::kDrop));
    drop_children_of(&own->listener(), 1000000);
  }
}

TEST("the end of an environment waits no longer than it may, and not for detached children [P-7, P-5]") {
  for (const TestHooks& hooks_wanted : with_and_without_pidfd()) {
    HooksInForce hooks(hooks_wanted);
    std::unique_ptr<Child> detached = started(false);
    drop_children_of(&detached->listener(), 1000000);
    CHECK(!gone(detached->pid()));
    std::unique_ptr<Child> own = started(true);
    drop_children_of(&own->listener(), 0);
    CHECK_EQ(own->told(EventType::kSettled).fields[kSignal], SIGKILL);
  }
}

TEST("the host's last moment kills every owned child of every environment, and no other [P-7]") {
  for (const TestHooks& hooks_wanted : with_and_without_pidfd()) {
    HooksInForce hooks(hooks_wanted);
    std::unique_ptr<Child> one = started(true);
    std::unique_ptr<Child> two = started(true, GroupMode::kInherit);
    std::unique_ptr<Child> detached = started(false);
    kill_all_owned();
    CHECK_EQ(one->exited().fields[1], SIGKILL);
    CHECK_EQ(two->exited().fields[1], SIGKILL);
    CHECK(!gone(detached->pid()));
  }
}
