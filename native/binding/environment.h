// All that one Node environment (the main thread, or one worker) has with us: the children it started, its pipes and
// directories, and the one way back into its JS thread.
#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "event_loop.h"
#include "file_task.h"
#include "host_pipe.h"
#include "lifecycle.h"
#include "private_dir.h"
#include "slots.h"
#include "start.h"

namespace exactspawn {

// A child from the call to its end: first a start, then a life.
struct ChildEntry {
  Ref<Start> start;
  Ref<Lifecycle> life;
};

class Environment final : public Counted<Environment>, public EventSink {
 public:
  static void install(Napi::Env env);
  static Environment& of(const Napi::CallbackInfo& info);

  // Takes the array into which batches of events are written, and the JS function that is told how many are there; and,
  // where the event loop may be asked, the one that hears of ready pipes from it. Once. Thread: JS.
  bool attach(Napi::Env env, Napi::Float64Array batch, Napi::Function on_events, Napi::Value on_pipe_ready);
  // Whether a pending event keeps the event loop alive. Thread: JS.
  void set_referenced(Napi::Env env, bool referenced);

  // The event loop has gone on since the last batch: the next one may come. Thread: JS.
  void turned();

  // EventSink. Thread: any. After the environment has ended they do nothing.
  void emit(const Event& event) override;
  void adopt(uint32_t id, Lifecycle* child) override;
  void retain_sink() override { retain(); }
  void release_sink() override { release(); }

  // Thread: JS, but for the lock that adopt shares.
  uint32_t add_child();
  void set_start(uint32_t id, Ref<Start> start);
  ChildEntry child(uint32_t id);
  ChildEntry take_child(uint32_t id);

  // Thread: JS only.
  EventLoop* loop = nullptr;  // null: the reactor watches pipes
  Slots<std::unique_ptr<HostPipe>> pipes;
  // For starts that are not made yet; a worker that ends before them takes these along.
  Slots<std::unique_ptr<UniqueFd>> held_fds;
  uint32_t hold(UniqueFd fd) { return held_fds.add(std::make_unique<UniqueFd>(std::move(fd))); }
  Slots<std::unique_ptr<PrivateDirectory>> directories;
  Slots<Ref<FileTask>> tasks;

  // The `exit` listener's door: ends every owned child and waits, at most wait_ms, for the leaders.
  void end_children(int wait_ms);

 private:
  friend class Counted<Environment>;
  Environment() = default;
  ~Environment() = default;
  static void clean_up(void* self);
  static void call_js(napi_env env, napi_value function, void* self, void* data);
  void deliver(napi_env env, napi_value function);
  bool schedule();
  void call();

  Mutex mutex_;
  Condition called_;
  Slots<ChildEntry> children_;
  bool closed_ = false;
  bool scheduled_ = false;  // from the call that asks for JavaScript until the loop has turned after its batch
  napi_threadsafe_function function_ = nullptr;
  int calling_ = 0;  // threads that are asking for JavaScript right now
  // JS thread: where the function finds a batch. The reference keeps the memory.
  napi_ref batch_ = nullptr;
  double* batch_memory_ = nullptr;
  std::vector<Event> queue_;
};

}  // namespace exactspawn
