// One start on its way: queued, cloning, or handed over. Not a process yet.
#pragma once

#include <atomic>

#include "lifecycle.h"
#include "spawn_request.h"
#include "work_pool.h"

namespace exactspawn {

class Start final : public Counted<Start>, private Job {
 public:
  // `join` is the child whose group to enter, for GroupMode::kJoin.
  Start(uint32_t id, EventSink* sink, SpawnRequest request, LifecycleOptions options, Ref<SecretSet> secrets,
        Ref<Lifecycle> join);

  // Queues it. The sink hears kStarted or kStartFailed. Thread: any. Blocks: no. Fails: when it cannot be queued; then
  // nothing is told.
  SysError submit();

  // No start is wanted any more: one that is queued is dropped, one under way is killed as soon as it appears. Nothing
  // is told from here on, unless it was told already. Thread: any.
  void cancel();

 private:
  friend class Counted<Start>;
  ~Start() = default;
  void run() override;
  void tell_failure(const SysError& error, int killed_by);
  void hand_over(Spawned spawned);

  const uint32_t id_;
  const SinkRef sink_;
  SpawnRequest request_;
  LifecycleOptions options_;
  Ref<SecretSet> secrets_;
  Ref<Lifecycle> join_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace exactspawn
