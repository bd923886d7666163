// The host's ends of protocol pipes, and descriptors that are held for a start.
#include <errno.h>

#include "environment.h"
#include "exports.h"
#include "loop_watch.h"
#include "marshal.h"
#include "reactor_watch.h"
#include "test_hooks.h"

namespace exactspawn {
namespace {

// createPipe(childReads) -> {host, fd, endpoint, loopWatched}, or an error
Napi::Value create_pipe(const Napi::CallbackInfo& info) {
  Environment& environment = Environment::of(info);
  bool child_reads = info[0].As<Napi::Boolean>().Value();
  Pipe pipe;
  SysError error = make_pipe(&pipe);
  UniqueFd& host = child_reads ? pipe.write_end : pipe.read_end;
  UniqueFd& child = child_reads ? pipe.read_end : pipe.write_end;
  if (!error) error = set_nonblocking(host.get(), true);
  if (error) return to_js(info.Env(), error);
  int number = host.get();
  // The number is needed before the object; the slot is filled in right after.
  uint32_t id = environment.pipes.add({});
  bool by_loop = environment.loop != nullptr && !test_hooks().no_loop_watch;
  PipeWatch* watch = by_loop ? static_cast<PipeWatch*>(new LoopWatch(id, environment.loop, number))
                             : new ReactorWatch(id, &environment, number);
  *environment.pipes.find(id) = std::make_unique<HostPipe>(std::move(host), watch);
  uint32_t endpoint = environment.hold(std::move(child));
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("host", id);
  object.Set("fd", number);
  object.Set("endpoint", endpoint);
  object.Set("loopWatched", by_loop);
  return object;
}

HostPipe* pipe_of(const Napi::CallbackInfo& info) {
  std::unique_ptr<HostPipe>* pipe = Environment::of(info).pipes.find(id_argument(info));
  return pipe == nullptr ? nullptr : pipe->get();
}

// pipeRead(id, into) -> bytes read, 0 at the end, or a negative errno (-EAGAIN: wait)
Napi::Value pipe_read(const Napi::CallbackInfo& info) {
  HostPipe* pipe = pipe_of(info);
  if (pipe == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  // The engine's own memory: an external buffer is refused where the engine has a memory cage [B103].
  auto into = info[1].As<Napi::Uint8Array>();
  return Napi::Number::New(info.Env(), static_cast<double>(pipe->read(into.Data(), into.ByteLength())));
}

// pipeWrite(id, bytes, offset) -> bytes written, or a negative errno (-EAGAIN: wait)
Napi::Value pipe_write(const Napi::CallbackInfo& info) {
  HostPipe* pipe = pipe_of(info);
  if (pipe == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  auto bytes = info[1].As<Napi::Uint8Array>();
  size_t offset = static_cast<size_t>(info[2].As<Napi::Number>().DoubleValue());
  long size = pipe->write(bytes.Data() + offset, bytes.ByteLength() - offset);
  return Napi::Number::New(info.Env(), static_cast<double>(size));
}

// pipeArm(id, interest) -> errno
Napi::Value pipe_arm(const Napi::CallbackInfo& info) {
  HostPipe* pipe = pipe_of(info);
  int failed = pipe != nullptr ? pipe->arm(info[1].As<Napi::Number>().Uint32Value()).errnum : EBADF;
  return Napi::Number::New(info.Env(), failed);
}

// pipeDisarm(id, interest)
Napi::Value pipe_disarm(const Napi::CallbackInfo& info) {
  HostPipe* pipe = pipe_of(info);
  if (pipe != nullptr) pipe->disarm(info[1].As<Napi::Number>().Uint32Value());
  return info.Env().Undefined();
}

// pipeTake(id) -> the number, now the caller's
Napi::Value pipe_take(const Napi::CallbackInfo& info) {
  std::unique_ptr<HostPipe> pipe = Environment::of(info).pipes.take(id_argument(info));
  return Napi::Number::New(info.Env(), pipe == nullptr ? -1 : pipe->take());
}

// pipeClose(id)
Napi::Value pipe_close(const Napi::CallbackInfo& info) {
  Environment::of(info).pipes.take(id_argument(info));
  return info.Env().Undefined();
}

// holdFd(fd) -> the number of a copy that is held for a start, or a negative errno
Napi::Value hold_fd(const Napi::CallbackInfo& info) {
  UniqueFd copy;
  SysError error = duplicate(info[0].As<Napi::Number>().Int32Value(), Stage::kFile, &copy);
  if (error) return Napi::Number::New(info.Env(), -error.errnum);
  return Napi::Number::New(info.Env(), Environment::of(info).hold(std::move(copy)));
}

// dropFd(id): closes what is held and no start wants.
Napi::Value drop_fd(const Napi::CallbackInfo& info) {
  Environment::of(info).held_fds.take(id_argument(info));
  return info.Env().Undefined();
}

}  // namespace

void export_pipes(Napi::Env env, Napi::Object exports) {
  export_function(env, exports, "createPipe", create_pipe);
  export_function(env, exports, "pipeRead", pipe_read);
  export_function(env, exports, "pipeWrite", pipe_write);
  export_function(env, exports, "pipeArm", pipe_arm);
  export_function(env, exports, "pipeDisarm", pipe_disarm);
  export_function(env, exports, "pipeTake", pipe_take);
  export_function(env, exports, "pipeClose", pipe_close);
  export_function(env, exports, "holdFd", hold_fd);
  export_function(env, exports, "dropFd", drop_fd);
}

}  // namespace exactspawn
