#include "test_hooks.h"

#include "sync.h"

namespace exactspawn {
namespace {

Mutex mutex;
TestHooks hooks;

}  // namespace

void set_test_hooks(const TestHooks& wanted) {
  Lock lock(mutex);
  hooks = wanted;
}

TestHooks test_hooks() {
  Lock lock(mutex);
  return hooks;
}

}  // namespace exactspawn
