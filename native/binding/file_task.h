// Blocking file system work that JS asked for: done on a pool thread, fetched by JS when the event comes.
#pragma once

#include <napi.h>

#include "event.h"
#include "ref.h"
#include "work_pool.h"

namespace exactspawn {

class Environment;

class FileTask : public Counted<FileTask>, private Job {
 public:
  virtual ~FileTask() = default;
  // Queues it; the environment keeps it under the returned number, and a kTaskDone event tells when it is done.
  static uint32_t submit(Environment& environment, WorkPool& pool, Ref<FileTask> task);

  // Thread: JS, after the event.
  virtual Napi::Value result(Napi::Env env, Environment& environment) = 0;

 protected:
  // Thread: the pool's.
  virtual void work() = 0;

 private:
  void run() final;
  uint32_t id_ = 0;
  EventSink* sink_ = nullptr;
};

}  // namespace exactspawn
