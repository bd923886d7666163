#include "file_task.h"

#include "environment.h"

namespace exactspawn {

uint32_t FileTask::submit(Environment& environment, WorkPool& pool, Ref<FileTask> task) {
  task->id_ = environment.tasks.add(task);
  task->sink_ = &environment;
  environment.retain();
  task->retain();
  // Without a thread to be had it is done here and now: late is worse than blocking for a moment.
  if (pool.submit(task.get())) task->run();
  return task->id_;
}

void FileTask::run() {
  work();
  sink_->emit({EventType::kTaskDone, id_, {}});
  sink_->release_sink();
  release();
}

}  // namespace exactspawn
