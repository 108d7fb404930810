#include "engine/txn/gc_client.h"

#include "engine/txn/settled_versions.h"

namespace latchkey {

void DoChores(GcClient& client, const Chores& chores) {
  for (const Chores::Chore& chain : chores.chains) client.FreeOverflow(chain.tree, chain.bytes);
  for (const Chores::Chore& ghost : chores.ghosts) {
    client.PurgeGhost(ghost.tree, ghost.bytes, ghost.unneeded_until);
  }
}

}  // namespace latchkey
