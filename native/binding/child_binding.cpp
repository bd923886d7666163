// Starting, signalling and watching children.
#include <errno.h>
#include <fcntl.h>

#include <algorithm>

#include "environment.h"
#include "exports.h"
#include "marshal.h"
#include "test_hooks.h"

namespace exactspawn {
namespace {

// How lib/process/fd-map.ts packs one entry: target, kind, two operands.
constexpr size_t kEntry = 4;
enum PackedKind { kPackedNull, kPackedCopiedFd, kPackedOpenedFd, kPackedEndpoint, kPackedBytes, kPackedCapture, kPackedSameAs };

// Opened with O_NONBLOCK so that the open could not hang; the program gets an ordinary description.
SysError adopt_opened_fd(int fd, UniqueFd* out) {
  out->reset(fd);
  if (SysError error = lift_above_stdio(out, Stage::kFile)) return error;
  return set_nonblocking(out->get(), false);
}

SysError read_sources(Environment& environment, const Fields& fields, SpawnRequest* request) {
  std::vector<double> packed = fields.numbers("fds");
  std::vector<std::string> bytes = fields.byte_list("bytes");
  SysError first;
  for (size_t at = 0; at + kEntry <= packed.size(); at += kEntry) {
    FdSource source;
    source.target = static_cast<int>(packed[at]);
    double a = packed[at + 2], b = packed[at + 3];
    SysError error;
    switch (static_cast<PackedKind>(packed[at + 1])) {
      case kPackedNull:
        break;
      case kPackedCopiedFd:
        source.kind = FdSourceKind::kDescriptor;
        source.fd.reset(static_cast<int>(a));
        break;
      case kPackedOpenedFd:
        source.kind = FdSourceKind::kDescriptor;
        error = adopt_opened_fd(static_cast<int>(a), &source.fd);
        error.index = error ? source.target : -1;
        break;
      case kPackedEndpoint: {
        source.kind = FdSourceKind::kDescriptor;
        std::unique_ptr<UniqueFd> endpoint = environment.endpoints.take(static_cast<uint32_t>(a));
        if (endpoint != nullptr) source.fd = std::move(*endpoint);
        break;
      }
      case kPackedBytes:
        source.kind = FdSourceKind::kBytes;
        source.bytes = std::move(bytes[static_cast<size_t>(a)]);
        break;
      case kPackedCapture:
        source.kind = FdSourceKind::kCapture;
        source.head_bytes = static_cast<uint64_t>(a);
        source.tail_bytes = static_cast<uint64_t>(b);
        break;
      case kPackedSameAs:
        source.kind = FdSourceKind::kSameAs;
        source.same_as = static_cast<int>(a);
        break;
    }
    // The rest is still taken over, so that every endpoint and opened file is consumed and closed with the request.
    if (error && !first) first = error;
    request->fds.push_back(std::move(source));
  }
  return first;
}

void read_controls(const Fields& fields, SpawnRequest* request) {
  request->umask = static_cast<int>(fields.number("umask", -1));
  request->group = static_cast<GroupMode>(static_cast<int>(fields.number("group")));
  request->has_nice = fields.has("nice");
  request->nice = static_cast<int>(fields.number("nice"));
  for (double cpu : fields.numbers("affinity")) {
    size_t bits = sizeof(unsigned long) * 8, index = static_cast<size_t>(cpu);
    if (request->affinity.size() <= index / bits) request->affinity.resize(index / bits + 1);
    request->affinity[index / bits] |= 1UL << (index % bits);
  }
  std::vector<double> limits = fields.numbers("limits");
  for (size_t at = 0; at + 3 <= limits.size(); at += 3) {
    // -1 stands for "infinity", which no double holds.
    auto value = [](double number) { return number < 0 ? UINT64_MAX : static_cast<uint64_t>(number); };
    request->limits.push_back({static_cast<int>(limits[at]), value(limits[at + 1]), value(limits[at + 2])});
  }
  request->inherit_nofile = fields.flag("inheritNofile");
  request->has_groups = fields.has("groups");
  for (double group : fields.numbers("groups")) request->groups.push_back(static_cast<uint32_t>(group));
  request->has_gid = fields.has("gid");
  request->gid = static_cast<uint32_t>(fields.number("gid"));
  request->has_uid = fields.has("uid");
  request->uid = static_cast<uint32_t>(fields.number("uid"));
  request->no_new_privs = fields.flag("noNewPrivs");
  request->parent_death_signal = fields.flag("owned");
  request->guard = fields.flag("guard");
  request->cgroup_leaf = fields.bytes("cgroupLeaf");
}

LifecycleOptions read_lifecycle(const Fields& fields) {
  LifecycleOptions options;
  options.owned = fields.flag("owned");
  options.keep_leftovers = fields.flag("keepLeftovers");
  options.drain_ms = static_cast<int64_t>(fields.number("drainMs"));
  options.timeout_ms = static_cast<int64_t>(fields.number("timeoutMs", -1));
  options.timeout_ladder = {static_cast<int>(fields.number("firstSignal")),
                            static_cast<int64_t>(fields.number("graceMs")),
                            static_cast<int64_t>(fields.number("killDeadlineMs"))};
  return options;
}

// spawn(request) -> the child's number, or an error that came before anything was queued.
Napi::Value spawn_child(const Napi::CallbackInfo& info) {
  Environment& environment = Environment::of(info);
  Fields fields(info[0]);
  SpawnRequest request;
  SysError error = read_sources(environment, fields, &request);
  if (error) return to_js(info.Env(), error);
  request.candidates = fields.strings("candidates");
  request.args = fields.block("args");
  request.env = fields.block("env");
  request.has_cwd = fields.has("cwd");
  request.cwd = fields.bytes("cwd");
  read_controls(fields, &request);
  request.delay_before_exec_ms = test_hooks().delay_before_exec_ms;
  Ref<Lifecycle> join;
  if (fields.has("join")) {
    join = environment.child(static_cast<uint32_t>(fields.number("join"))).life;
    if (!join) return to_js(info.Env(), {Stage::kSetpgid, Syscall::kSetpgid, ESRCH, -1});
  }
  uint32_t id = environment.add_child();
  Ref<Start> start(new Start(id, &environment, std::move(request), read_lifecycle(fields),
                             SecretSet::make(fields.byte_list("secrets")), std::move(join)));
  environment.set_start(id, start);
  error = start->submit();
  if (error) {
    environment.take_child(id);
    return to_js(info.Env(), error);
  }
  return Napi::Number::New(info.Env(), id);
}

// cancelStart(id): nobody wants it any more, whatever has become of it. Cancelled first and taken out then: a child that
// appears in between finds either the mark or, by way of the entry, us.
Napi::Value cancel_start(const Napi::CallbackInfo& info) {
  Environment& environment = Environment::of(info);
  Ref<Start> start = environment.child(id_argument(info)).start;
  if (start) start->cancel();
  Ref<Lifecycle> life = environment.take_child(id_argument(info)).life;
  if (life) life->kill(EndedBy::kAbort);
  return info.Env().Undefined();
}

// forget(id): JS has all it wants of it.
Napi::Value forget_child(const Napi::CallbackInfo& info) {
  Environment::of(info).take_child(id_argument(info));
  return info.Env().Undefined();
}

// drop(id): the handle is gone.
Napi::Value drop_child(const Napi::CallbackInfo& info) {
  ChildEntry entry = Environment::of(info).take_child(id_argument(info));
  if (entry.life) entry.life->drop();
  return info.Env().Undefined();
}

// dispose(id): as drop, but its end is still told.
Napi::Value dispose_child(const Napi::CallbackInfo& info) {
  Ref<Lifecycle> child = Environment::of(info).child(id_argument(info)).life;
  if (child) child->drop();
  return info.Env().Undefined();
}

// setWaiting(id, flag)
Napi::Value set_waiting(const Napi::CallbackInfo& info) {
  Ref<Lifecycle> child = Environment::of(info).child(id_argument(info)).life;
  if (child) child->set_waiting(info[1].As<Napi::Boolean>().Value());
  return info.Env().Undefined();
}

Napi::Value errno_value(Napi::Env env, int errnum) { return Napi::Number::New(env, errnum); }

// signal(id, signo, toGroup) -> errno
Napi::Value signal_child(const Napi::CallbackInfo& info) {
  Ref<Lifecycle> child = Environment::of(info).child(id_argument(info)).life;
  if (!child) return errno_value(info.Env(), ESRCH);
  int signal = info[1].As<Napi::Number>().Int32Value();
  bool to_group = info[2].As<Napi::Boolean>().Value();
  return errno_value(info.Env(), to_group ? child->signal_group(signal) : child->signal_leader(signal));
}

// kill(id, cause) -> errno
Napi::Value kill_child(const Napi::CallbackInfo& info) {
  Ref<Lifecycle> child = Environment::of(info).child(id_argument(info)).life;
  if (!child) return errno_value(info.Env(), ESRCH);
  return errno_value(info.Env(), child->kill(static_cast<EndedBy>(info[1].As<Napi::Number>().Int32Value())));
}

// end(id, cause, firstSignal, graceMs, killDeadlineMs)
Napi::Value end_child(const Napi::CallbackInfo& info) {
  Ref<Lifecycle> child = Environment::of(info).child(id_argument(info)).life;
  if (!child) return info.Env().Undefined();
  child->end(static_cast<EndedBy>(info[1].As<Napi::Number>().Int32Value()),
             {info[2].As<Napi::Number>().Int32Value(), info[3].As<Napi::Number>().Int64Value(),
              info[4].As<Napi::Number>().Int64Value()});
  return info.Env().Undefined();
}

// peek(id) -> [code, signal, coreDumped, known], or null while it runs
Napi::Value peek_child(const Napi::CallbackInfo& info) {
  Ref<Lifecycle> child = Environment::of(info).child(id_argument(info)).life;
  if (!child || !child->process()->peek()) return info.Env().Null();
  ExitStatus status = child->process()->status();
  Napi::Array array = Napi::Array::New(info.Env(), 4);
  array.Set(0u, status.code);
  array.Set(1u, status.signal);
  array.Set(2u, status.core_dumped ? 1 : 0);
  array.Set(3u, status.known ? 1 : 0);
  return array;
}

// log(id, target) -> {bytes, headSize, total, omitted, complete}, or null
Napi::Value copy_log(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Ref<Lifecycle> child = Environment::of(info).child(id_argument(info)).life;
  LogCopy log;
  if (!child || !child->copy_log(info[1].As<Napi::Number>().Int32Value(), &log)) return env.Null();
  Napi::Object object = Napi::Object::New(env);
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, log.bytes.size());
  if (buffer.IsEmpty()) return env.Null();
  std::copy(log.bytes.begin(), log.bytes.end(), static_cast<uint8_t*>(buffer.Data()));
  object.Set("bytes", Napi::Uint8Array::New(env, log.bytes.size(), buffer, 0));
  object.Set("headSize", static_cast<double>(log.head_size));
  object.Set("total", static_cast<double>(log.total));
  object.Set("omitted", static_cast<double>(log.omitted));
  object.Set("complete", log.complete);
  return object;
}

// attach(onEvents)
Napi::Value attach(const Napi::CallbackInfo& info) {
  bool attached = Environment::of(info).attach(info.Env(), info[0].As<Napi::Function>());
  return Napi::Boolean::New(info.Env(), attached);
}

// turned()
Napi::Value turned(const Napi::CallbackInfo& info) {
  Environment::of(info).turned();
  return info.Env().Undefined();
}

// setReferenced(flag)
Napi::Value set_referenced(const Napi::CallbackInfo& info) {
  Environment::of(info).set_referenced(info.Env(), info[0].As<Napi::Boolean>().Value());
  return info.Env().Undefined();
}

// endChildren(waitMs)
Napi::Value end_children(const Napi::CallbackInfo& info) {
  Environment::of(info).end_children(info[0].As<Napi::Number>().Int32Value());
  return info.Env().Undefined();
}

}  // namespace

void export_children(Napi::Env env, Napi::Object exports) {
  export_function(env, exports, "attach", attach);
  export_function(env, exports, "setReferenced", set_referenced);
  export_function(env, exports, "turned", turned);
  export_function(env, exports, "spawn", spawn_child);
  export_function(env, exports, "cancelStart", cancel_start);
  export_function(env, exports, "forget", forget_child);
  export_function(env, exports, "drop", drop_child);
  export_function(env, exports, "dispose", dispose_child);
  export_function(env, exports, "setWaiting", set_waiting);
  export_function(env, exports, "signal", signal_child);
  export_function(env, exports, "kill", kill_child);
  export_function(env, exports, "end", end_child);
  export_function(env, exports, "peek", peek_child);
  export_function(env, exports, "log", copy_log);
  export_function(env, exports, "endChildren", end_children);
}

}  // namespace exactspawn
