// Private directories, on the file threads.
#include <errno.h>

#include "environment.h"
#include "exports.h"
#include "marshal.h"

namespace exactspawn {
namespace {

// Just made, so it holds what its owner could put there in that moment.
constexpr int kUnclaimedRemoveMs = 1000;

Napi::Value failures_of(Napi::Env env, const RemovalReport& report) {
  Napi::Array list = Napi::Array::New(env);
  for (const RemovalFailure& failure : report.failures) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("path", failure.path);
    entry.Set("syscall", static_cast<double>(failure.syscall));
    entry.Set("errno", failure.errnum);
    list.Set(list.Length(), entry);
  }
  return list;
}

void set_error(Napi::Env env, Napi::Object object, const DirectoryError& error) {
  if (!error) return;
  object.Set("rootProblem", static_cast<double>(error.root));
  object.Set("error", to_js(env, error.system));
}

void set_report(Napi::Env env, Napi::Object object, const RemovalReport& report) {
  object.Set("complete", report.complete());
  object.Set("deadlinePassed", report.deadline_passed);
  object.Set("failed", static_cast<double>(report.failed));
  object.Set("failures", failures_of(env, report));
}

class CreateTask final : public FileTask {
 public:
  CreateTask(std::string root, std::string prefix) : root_(std::move(root)), prefix_(std::move(prefix)) {}

  // An environment that ends while a creation runs never fetches it [P-7].
  ~CreateTask() override {
    if (!directory_) return;
    RemovalReport report;
    remove_private_directory(root_, directory_->name, deadline_in(kUnclaimedRemoveMs), &report);
  }

 private:
  void work() override {
    auto directory = std::make_unique<PrivateDirectory>();
    error_ = create_private_directory(root_, prefix_, directory.get());
    if (!error_) directory_ = std::move(directory);
  }

  Napi::Value result(Napi::Env env, Environment& environment) override {
    Napi::Object object = Napi::Object::New(env);
    set_error(env, object, error_);
    if (!error_) {
      object.Set("name", directory_->name);
      object.Set("path", directory_->path);
      object.Set("directory", environment.directories.add(std::move(directory_)));
    }
    return object;
  }

  const std::string root_, prefix_;
  std::unique_ptr<PrivateDirectory> directory_;
  DirectoryError error_;
};

class RemoveTask final : public FileTask {
 public:
  RemoveTask(std::string root, std::string name, int64_t deadline)
      : root_(std::move(root)), name_(std::move(name)), deadline_(deadline) {}

 private:
  void work() override { error_ = remove_private_directory(root_, name_, deadline_, &report_); }

  Napi::Value result(Napi::Env env, Environment&) override {
    Napi::Object object = Napi::Object::New(env);
    set_error(env, object, error_);
    set_report(env, object, report_);
    return object;
  }

  const std::string root_, name_;
  const int64_t deadline_;
  RemovalReport report_;
  DirectoryError error_;
};

class EmptyTask final : public FileTask {
 public:
  // A descriptor of its own: the directory may be removed, and its own one closed, while this runs.
  EmptyTask(const PrivateDirectory* directory, int64_t deadline) : deadline_(deadline) {
    if (directory == nullptr) {
      error_ = SysError{Stage::kNone, Syscall::kOpenat, EBADF, -1};
    } else {
      error_ = duplicate(directory->fd.get(), Stage::kNone, &fd_);
      path_ = directory->path;
    }
  }

 private:
  void work() override {
    if (!error_) empty_private_directory(fd_.get(), path_, deadline_, &report_);
  }

  Napi::Value result(Napi::Env env, Environment&) override {
    Napi::Object object = Napi::Object::New(env);
    set_error(env, object, error_);
    set_report(env, object, report_);
    return object;
  }

  const int64_t deadline_;
  UniqueFd fd_;
  std::string path_;
  RemovalReport report_;
  DirectoryError error_;
};

class SweepTask final : public FileTask {
 public:
  SweepTask(std::string root, int64_t deadline) : root_(std::move(root)), deadline_(deadline) {}

 private:
  void work() override { error_ = sweep_private_root(root_, deadline_, &report_); }

  Napi::Value result(Napi::Env env, Environment&) override {
    Napi::Object object = Napi::Object::New(env);
    set_error(env, object, error_);
    object.Set("removed", static_cast<double>(report_.removed));
    object.Set("kept", static_cast<double>(report_.kept));
    object.Set("ignored", static_cast<double>(report_.ignored));
    object.Set("left", static_cast<double>(report_.left));
    object.Set("failures", failures_of(env, report_.removal));
    return object;
  }

  const std::string root_;
  const int64_t deadline_;
  SweepReport report_;
  DirectoryError error_;
};

Napi::Value submit(const Napi::CallbackInfo& info, FileTask* task) {
  return Napi::Number::New(info.Env(), FileTask::submit(Environment::of(info), file_pool(), Ref<FileTask>(task)));
}

int64_t deadline_of(const Napi::CallbackInfo& info, size_t index) {
  return deadline_in(info[index].As<Napi::Number>().Int64Value());
}

// directoryCreate(root, prefix) -> task
Napi::Value directory_create(const Napi::CallbackInfo& info) {
  return submit(info, new CreateTask(bytes_of(info[0]), bytes_of(info[1])));
}

// directoryRemove(directory, root, name, timeoutMs) -> task. The lock goes first: the removal is its owner's own.
Napi::Value directory_remove(const Napi::CallbackInfo& info) {
  Environment::of(info).directories.take(id_argument(info));
  return submit(info, new RemoveTask(bytes_of(info[1]), bytes_of(info[2]), deadline_of(info, 3)));
}

// directoryRemoveNow(directory, root, name, timeoutMs): blocks; for the `exit` listener, after which nothing runs.
Napi::Value directory_remove_now(const Napi::CallbackInfo& info) {
  Environment::of(info).directories.take(id_argument(info));
  RemovalReport report;
  remove_private_directory(bytes_of(info[1]), bytes_of(info[2]), deadline_of(info, 3), &report);
  return info.Env().Undefined();
}

// directoryEmpty(directory, timeoutMs) -> task
Napi::Value directory_empty(const Napi::CallbackInfo& info) {
  std::unique_ptr<PrivateDirectory>* found = Environment::of(info).directories.find(id_argument(info));
  return submit(info, new EmptyTask(found == nullptr ? nullptr : found->get(), deadline_of(info, 1)));
}

// directorySweep(root, timeoutMs) -> task
Napi::Value directory_sweep(const Napi::CallbackInfo& info) {
  return submit(info, new SweepTask(bytes_of(info[0]), deadline_of(info, 1)));
}

// taskResult(task) -> its result, once
Napi::Value task_result(const Napi::CallbackInfo& info) {
  Environment& environment = Environment::of(info);
  Ref<FileTask> task = environment.tasks.take(id_argument(info));
  return task ? task->result(info.Env(), environment) : info.Env().Null();
}

}  // namespace

void export_directories(Napi::Env env, Napi::Object exports) {
  export_function(env, exports, "directoryCreate", directory_create);
  export_function(env, exports, "directoryRemove", directory_remove);
  export_function(env, exports, "directoryRemoveNow", directory_remove_now);
  export_function(env, exports, "directoryEmpty", directory_empty);
  export_function(env, exports, "directorySweep", directory_sweep);
  export_function(env, exports, "taskResult", task_result);
}

}  // namespace exactspawn
