// Opens what a request's descriptor map asks for: /dev/null, memfds, capture pipes. Linux and macOS.
#pragma once

#include <vector>

#include "fd_plan.h"
#include "spawn.h"
#include "spawn_request.h"

namespace exactspawn {

// Everything that the child's map refers to, held open until the child has its copies.
struct OpenSources {
  std::vector<UniqueFd> held;
  std::vector<FdMapping> map;
  std::vector<CapturePipe> captures;
};

// Fails with stage kPipe or kFile, index = the target. Thread: spawner. Blocks: for a memory copy of `bytes`.
SysError open_sources(SpawnRequest* request, OpenSources* out);

}  // namespace exactspawn
