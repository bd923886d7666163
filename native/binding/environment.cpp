#include "environment.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "clock.h"
#include "live_children.h"

namespace exactspawn {
namespace {

// At the end of an environment or of the host: how long to wait for killed leaders. lib/base/limits.ts has the same.
constexpr int kExitWaitMs = 200;
constexpr int kExitRemoveMs = 1000;
// Events a call into JS: a burst of a thousand exits must not keep the loop from turning.
constexpr size_t kBatch = 16;
constexpr int kStride = 2 + kEventFields;

pid_t host = 0;

__attribute__((constructor)) void at_load() { host = getpid(); }

// The last door: a libc exit without any JS, for instance from another library's fatal error. Not in a copy of the host
// that some library forked: its pidfds name the host's children too, and exit(3) in it would end them all [P-10].
__attribute__((destructor)) void at_host_exit() {
  if (getpid() == host) kill_all_owned();
}

// What a worker thread that was ended from outside has had no turn to remove [P-7]. Blocks: nothing runs here any more.
void remove_directories(Slots<std::unique_ptr<PrivateDirectory>>* directories) {
  int64_t deadline = deadline_in(kExitRemoveMs);
  directories->each([deadline](std::unique_ptr<PrivateDirectory>& directory) {
    RemovalReport report;
    remove_private_directory(directory->root(), directory->name, deadline, &report);
  });
  *directories = {};
}

}  // namespace

void release_instance(Napi::Env, Environment* environment) { environment->release(); }

void Environment::install(Napi::Env env) {
  auto* environment = new Environment;
  environment->retain();
  env.SetInstanceData<Environment, release_instance>(environment);
}

Environment& Environment::of(const Napi::CallbackInfo& info) { return *info.Env().GetInstanceData<Environment>(); }

bool Environment::attach(Napi::Env env, Napi::Float64Array batch, Napi::Function on_events, Napi::Value on_pipe_ready) {
  if (function_ != nullptr || batch.ElementLength() < kBatch * kStride) return false;
  napi_value name;
  napi_create_string_utf8(env, "exactspawn", NAPI_AUTO_LENGTH, &name);
  if (napi_create_threadsafe_function(env, on_events, nullptr, name, 0, 1, nullptr, nullptr, this, call_js,
                                      &function_) != napi_ok) {
    return false;
  }
  napi_unref_threadsafe_function(env, function_);
  napi_create_reference(env, batch, 1, &batch_);
  batch_memory_ = batch.Data();
  if (on_pipe_ready.IsFunction()) loop = EventLoop::open(env, on_pipe_ready.As<Napi::Function>());
  // After the function and the loop, so that it runs before their own clean-up: hooks run in reverse.
  retain();
  napi_add_env_cleanup_hook(env, clean_up, this);
  return true;
}

void Environment::set_referenced(Napi::Env env, bool referenced) {
  if (function_ == nullptr) return;
  if (referenced) {
    napi_ref_threadsafe_function(env, function_);
  } else {
    napi_unref_threadsafe_function(env, function_);
  }
}

void Environment::clean_up(void* opaque) {
  auto* self = static_cast<Environment*>(opaque);
  napi_threadsafe_function function;
  Slots<ChildEntry> children;
  {
    Lock lock(self->mutex_);
    self->closed_ = true;
    self->queue_.clear();
    while (self->calling_ > 0) self->called_.wait(self->mutex_);
    function = self->function_;
    self->function_ = nullptr;
    std::swap(children, self->children_);
  }
  children.each([](ChildEntry& entry) {
    if (entry.start && !entry.life) entry.start->cancel();
  });
  drop_children_of(self, kExitWaitMs);
  // Children, starts and pipes hold the environment as their sink: kept here they would hold each other, and their
  // descriptors, for ever.
  self->pipes = {};
  self->held_fds = {};
  remove_directories(&self->directories);
  if (function != nullptr) napi_release_threadsafe_function(function, napi_tsfn_abort);
  self->release();
}

void Environment::end_children(int wait_ms) { drop_children_of(this, wait_ms); }

void Environment::emit(const Event& event) {
  {
    Lock lock(mutex_);
    if (closed_ || function_ == nullptr) return;
    queue_.push_back(event);
    if (!schedule()) return;
  }
  call();
}

// Node goes on calling a thread-safe function that is asked for while it runs, a thousand times before its loop turns:
// with starts that begin more starts nothing else would run for a tenth of a second. So it is asked again only after the
// loop has turned.
void Environment::turned() {
  {
    Lock lock(mutex_);
    scheduled_ = false;
    if (queue_.empty() || !schedule()) return;
  }
  call();
}

// Under the lock. True when the caller is to call() after it.
bool Environment::schedule() {
  if (scheduled_ || closed_ || function_ == nullptr) return false;
  scheduled_ = true;
  calling_++;
  return true;
}

// Not under the lock, which the JavaScript thread that it wakes takes first of all. The clean-up hook waits for it: a
// function that is released meanwhile aborts the host.
void Environment::call() {
  bool closing = napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking) == napi_closing;
  Lock lock(mutex_);
  if (closing) closed_ = true;
  if (--calling_ == 0) called_.wake_all();
}

void Environment::call_js(napi_env env, napi_value function, void* self, void*) {
  if (env == nullptr) return;  // the environment is ending
  static_cast<Environment*>(self)->deliver(env, function);
}

void Environment::deliver(napi_env env, napi_value function) {
  size_t count;
  {
    Lock lock(mutex_);
    if (closed_) return;
    count = std::min(queue_.size(), kBatch);
    double* out = batch_memory_;
    for (size_t i = 0; i < count; i++, out += kStride) {
      out[0] = static_cast<double>(queue_[i].type);
      out[1] = queue_[i].id;
      memcpy(out + 2, queue_[i].fields, sizeof queue_[i].fields);
    }
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(count));
  }
  napi_value argument, receiver;
  napi_create_uint32(env, static_cast<uint32_t>(count), &argument);
  napi_get_undefined(env, &receiver);
  napi_call_function(env, receiver, function, 1, &argument, nullptr);
}

void Environment::adopt(uint32_t id, Lifecycle* child) {
  Lock lock(mutex_);
  ChildEntry* entry = children_.find(id);
  if (entry == nullptr) return;
  entry->life = Ref<Lifecycle>(child);
  // A cancel finds the life from now on: the request, a copy of all arguments and variables, is no longer needed.
  entry->start = {};
}

uint32_t Environment::add_child() {
  Lock lock(mutex_);
  return children_.add({});
}

void Environment::set_start(uint32_t id, Ref<Start> start) {
  Lock lock(mutex_);
  children_.find(id)->start = std::move(start);
}

ChildEntry Environment::child(uint32_t id) {
  Lock lock(mutex_);
  ChildEntry* entry = children_.find(id);
  return entry == nullptr ? ChildEntry{} : *entry;
}

ChildEntry Environment::take_child(uint32_t id) {
  Lock lock(mutex_);
  return children_.take(id);
}

}  // namespace exactspawn
