// What this machine offers, and the switches that tests use to take some of it away.
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capabilities.h"
#include "environment.h"
#include "exports.h"
#include "marshal.h"
#include "process_table.h"
#include "test_hooks.h"

namespace exactspawn {
namespace {

class ProbeTask final : public FileTask {
 private:
  void work() override { found_ = capabilities(); }

  Napi::Value result(Napi::Env env, Environment&) override {
    Napi::Object object = Napi::Object::New(env);
    object.Set("sharedMemoryClone", found_.shared_memory_clone);
    object.Set("clone3", found_.clone3);
    object.Set("pidfd", found_.clone_pidfd);
    object.Set("pidfdGroupSignal", found_.pidfd_group_signal);
    object.Set("pidfdExitInfo", found_.pidfd_exit_info);
    object.Set("closeRange", found_.close_range);
    object.Set("memfdExec", found_.memfd_exec);
    return object;
  }

  Capabilities found_;
};

// capabilities() -> task. On a spawner thread: the probe clones.
Napi::Value probe(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(),
                           FileTask::submit(Environment::of(info), spawner_pool(), Ref<FileTask>(new ProbeTask)));
}

class MembersTask final : public FileTask {
 public:
  explicit MembersTask(pid_t pgid) : pgid_(pgid) {}

 private:
  void work() override { told_ = list_group_members(pgid_, &members_); }

  Napi::Value result(Napi::Env env, Environment&) override {
    if (!told_) return env.Null();
    Napi::Float64Array pairs = Napi::Float64Array::New(env, 2 * members_.size());
    for (size_t i = 0; i < members_.size(); i++) {
      pairs[2 * i] = members_[i].pid;
      pairs[2 * i + 1] = static_cast<double>(members_[i].started);
    }
    return pairs;
  }

  const pid_t pgid_;
  std::vector<GroupMember> members_;
  bool told_ = false;
};

// groupMembers(pgid) -> task: live members without the leader, as pairs of number and start, or null where nothing tells
Napi::Value group_members(const Napi::CallbackInfo& info) {
  Ref<FileTask> task(new MembersTask(info[0].As<Napi::Number>().Int32Value()));
  return Napi::Number::New(info.Env(), FileTask::submit(Environment::of(info), file_pool(), std::move(task)));
}

// setTestHooks({...}): process-wide, for tests only.
Napi::Value set_hooks(const Napi::CallbackInfo& info) {
  auto given = info[0].As<Napi::Object>();
  auto flag = [&given](const char* name) { return given.Get(name).ToBoolean().Value(); };
  TestHooks hooks;
  hooks.no_clone3 = flag("noClone3");
  hooks.force_fork = flag("forceFork");
  hooks.no_pidfd = flag("noPidfd");
  hooks.no_group_pidfd = flag("noGroupPidfd");
  hooks.no_exit_info = flag("noExitInfo");
  hooks.no_close_range = flag("noCloseRange");
  hooks.no_memfd_exec = flag("noMemfdExec");
  hooks.no_loop_watch = flag("noLoopWatch");
  hooks.delay_before_exec_ms = given.Has("delayBeforeExecMs") ? given.Get("delayBeforeExecMs").As<Napi::Number>().Int32Value() : 0;
  set_test_hooks(hooks);
  return info.Env().Undefined();
}

// fdStatus(fd) -> status flags (O_NONBLOCK and the access mode among them), or a negative errno
Napi::Value fd_status(const Napi::CallbackInfo& info) {
  int flags = fcntl(info[0].As<Napi::Number>().Int32Value(), F_GETFL);
  return Napi::Number::New(info.Env(), flags < 0 ? -errno : flags);
}

// limit(resource) -> [soft, hard], -1 for infinity
Napi::Value limit(const Napi::CallbackInfo& info) {
  struct rlimit own = {0, 0};
  getrlimit(static_cast<decltype(RLIMIT_NOFILE)>(info[0].As<Napi::Number>().Int32Value()), &own);
  auto value = [](rlim_t number) { return number == RLIM_INFINITY ? -1.0 : static_cast<double>(number); };
  Napi::Array array = Napi::Array::New(info.Env(), 2);
  array.Set(0u, value(own.rlim_cur));
  array.Set(1u, value(own.rlim_max));
  return array;
}

}  // namespace

void export_platform(Napi::Env env, Napi::Object exports) {
  export_function(env, exports, "capabilities", probe);
  export_function(env, exports, "groupMembers", group_members);
  export_function(env, exports, "setTestHooks", set_hooks);
  export_function(env, exports, "fdStatus", fd_status);
  export_function(env, exports, "limit", limit);
}

}  // namespace exactspawn
