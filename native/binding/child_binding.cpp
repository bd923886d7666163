// Starting, signalling and watching children.
#include <errno.h>
#include <fcntl.h>

#include <algorithm>

#include "environment.h"
#include "exports.h"
#include "marshal.h"
#include "test_hooks.h"
#include "unpacker.h"

namespace exactspawn {
namespace {

// One entry of a descriptor map: target, kind, then what that kind has.
enum PackedKind { kPackedNull, kPackedHeld, kPackedHeldFile, kPackedBytes, kPackedCapture, kPackedSameAs };

UniqueFd take_held(Environment& environment, uint32_t id) {
  std::unique_ptr<UniqueFd> held = environment.held_fds.take(id);
  return held == nullptr ? UniqueFd() : std::move(*held);
}

SysError read_source(Environment& environment, Unpacker& packed, FdSource* source) {
  source->target = packed.integer<int>();
  auto kind = packed.integer<PackedKind>();
  switch (kind) {
    case kPackedNull:
      break;
    case kPackedHeld:
      source->kind = FdSourceKind::kDescriptor;
      source->fd = take_held(environment, packed.integer<uint32_t>());
      break;
    case kPackedHeldFile: {
      source->kind = FdSourceKind::kDescriptor;
      source->fd = take_held(environment, packed.integer<uint32_t>());
      // Opened with O_NONBLOCK so that the open could not hang; the program gets an ordinary description.
      SysError error = set_nonblocking(source->fd.get(), false);
      error.index = error ? source->target : -1;
      return error;
    }
    case kPackedBytes:
      source->kind = FdSourceKind::kBytes;
      source->bytes = packed.bytes();
      break;
    case kPackedCapture:
      source->kind = FdSourceKind::kCapture;
      source->head_bytes = packed.integer<uint64_t>();
      source->tail_bytes = packed.integer<uint64_t>();
      break;
    case kPackedSameAs:
      source->kind = FdSourceKind::kSameAs;
      source->same_as = packed.integer<int>();
      break;
  }
  return {};
}

SysError read_sources(Environment& environment, Unpacker& packed, SpawnRequest* request) {
  SysError first;
  auto count = packed.integer<size_t>();
  for (size_t i = 0; i < count && !packed.overrun(); i++) {
    FdSource source;
    SysError error = read_source(environment, packed, &source);
    // The rest is still taken over, so that all that is held for this start is closed with the request.
    if (error && !first) first = error;
    request->fds.push_back(std::move(source));
  }
  return first;
}

void read_program(Unpacker& packed, SpawnRequest* request) {
  request->candidates = packed.string_list();
  request->args = packed.strings();
  request->env = packed.strings();
  request->has_cwd = packed.optional(&request->cwd);
}

void read_limits(Unpacker& packed, SpawnRequest* request) {
  // -1 stands for "infinity", which no double holds.
  auto value = [](double number) { return number < 0 ? UINT64_MAX : static_cast<uint64_t>(number); };
  auto count = packed.integer<size_t>();
  for (size_t i = 0; i < count && !packed.overrun(); i++) {
    LimitRequest limit;
    limit.resource = packed.integer<int>();
    limit.soft = value(packed.number());
    limit.hard = value(packed.number());
    request->limits.push_back(limit);
  }
  request->inherit_nofile = packed.flag();
}

void read_affinity(Unpacker& packed, SpawnRequest* request) {
  std::vector<double> processors;
  packed.optional(&processors);
  for (double processor : processors) {
    size_t bits = sizeof(unsigned long) * 8, index = static_cast<size_t>(processor);
    if (request->affinity.size() <= index / bits) request->affinity.resize(index / bits + 1);
    request->affinity[index / bits] |= 1UL << (index % bits);
  }
}

void read_controls(Unpacker& packed, SpawnRequest* request) {
  request->umask = packed.integer<int>();
  request->group = packed.integer<GroupMode>();
  read_limits(packed, request);
  request->has_nice = packed.optional(&request->nice);
  read_affinity(packed, request);
  request->has_uid = packed.optional(&request->uid);
  request->has_gid = packed.optional(&request->gid);
  std::vector<double> groups;
  request->has_groups = packed.optional(&groups);
  for (double group : groups) request->groups.push_back(static_cast<uint32_t>(group));
  request->no_new_privs = packed.flag();
  request->guard = packed.flag();
  packed.optional(&request->cgroup_leaf);
}

LifecycleOptions read_lifecycle(Unpacker& packed) {
  LifecycleOptions options;
  options.owned = packed.flag();
  options.keep_leftovers = packed.flag();
  options.drain_ms = packed.integer<int64_t>();
  packed.optional(&options.timeout_ms);
  options.timeout_ladder.first_signal = packed.integer<int>();
  options.timeout_ladder.grace_ms = packed.integer<int64_t>();
  options.timeout_ladder.kill_deadline_ms = packed.integer<int64_t>();
  return options;
}

// spawn(numbers, bytes): what lib/process/packed-start.ts laid -> the child's number, or an error that came before
// anything was queued.
Napi::Value spawn_child(const Napi::CallbackInfo& info) {
  Environment& environment = Environment::of(info);
  Unpacker packed(info[0], info[1]);
  SpawnRequest request;
  SysError error = read_sources(environment, packed, &request);
  read_program(packed, &request);
  read_controls(packed, &request);
  LifecycleOptions options = read_lifecycle(packed);
  std::vector<std::string> secrets = packed.byte_list();
  uint32_t leader = 0;
  bool joins = packed.optional(&leader);
  if (packed.overrun()) {
    Napi::Error::New(info.Env(), "a start was packed in another order than it is read").ThrowAsJavaScriptException();
    return {};
  }
  if (error) return to_js(info.Env(), error);
  request.parent_death_signal = options.owned;
  request.delay_before_exec_ms = test_hooks().delay_before_exec_ms;
  Ref<Lifecycle> join;
  if (joins) {
    join = environment.child(leader).life;
    if (!join) return to_js(info.Env(), {Stage::kSetpgid, Syscall::kSetpgid, ESRCH, -1});
  }
  uint32_t id = environment.add_child();
  Ref<Start> start(new Start(id, &environment, std::move(request), std::move(options),
                             SecretSet::make(std::move(secrets)), std::move(join)));
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

// log(id, target, facts) -> bytes, or null. facts: [head size, total, omitted, complete]
Napi::Value copy_log(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Ref<Lifecycle> child = Environment::of(info).child(id_argument(info)).life;
  LogCopy log;
  if (!child || !child->copy_log(info[1].As<Napi::Number>().Int32Value(), &log)) return env.Null();
  double* facts = info[2].As<Napi::Float64Array>().Data();
  facts[0] = static_cast<double>(log.head_size);
  facts[1] = static_cast<double>(log.total);
  facts[2] = static_cast<double>(log.omitted);
  facts[3] = log.complete ? 1 : 0;
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, log.bytes.size());
  if (buffer.IsEmpty()) return env.Null();
  std::copy(log.bytes.begin(), log.bytes.end(), static_cast<uint8_t*>(buffer.Data()));
  return Napi::Uint8Array::New(env, log.bytes.size(), buffer, 0);
}

// attach(batch, onEvents, onPipeReady | null)
Napi::Value attach(const Napi::CallbackInfo& info) {
  auto batch = info[0].As<Napi::Float64Array>();
  bool attached = Environment::of(info).attach(info.Env(), batch, info[1].As<Napi::Function>(), info[2]);
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
