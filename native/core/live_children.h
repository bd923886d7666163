// Every child whose end has not been told, so that the end of an environment or of the host can end them too.
#pragma once

#include "lifecycle.h"

namespace exactspawn {

// Thread: any.
void live_children_add(Lifecycle* child);
void live_children_remove(Lifecycle* child);

// Drops every child of `sink`: owned ones are killed, detached ones go on. Then waits, at most wait_ms, until the
// killed leaders have exited. Thread: any but the reactor's. Blocks: as said.
void drop_children_of(EventSink* sink, int wait_ms);

// SIGKILL to every owned child and its group, of every environment. Takes no lock that a dying thread could hold for
// long, allocates nothing. For the host's last moments.
void kill_all_owned();

}  // namespace exactspawn
