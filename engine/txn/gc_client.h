// What the version store asks of the trees when versions are dropped.
#pragma once

#include <string_view>

#include "storage/base/ids.h"

namespace latchkey {

struct Chores;

/// The store's requests to the trees when versions are dropped. The actor that collects or rolls
/// back calls them, with no latch of the store held; so the caller of CollectAfter and Rollback
/// holds no latches. Neither throws: work that lacks memory stays undone, or is done later.
class GcClient {
 public:
  virtual ~GcClient() = default;
  /// The record of `key` may be a ghost that no snapshot needs. Latch its page exclusively, and
  /// remove the record if it is a ghost and !HasVersions(tree, key, unneeded_until). If the tree is
  /// dropped, do nothing.
  virtual void PurgeGhost(TreeId tree, std::string_view key, CommitTs unneeded_until) = 0;
  /// No reader needs the overflow chain behind `reference` (the bytes given to Install) any more.
  virtual void FreeOverflow(TreeId tree, std::string_view reference) = 0;
};

/// Does `chores` by calls of `client`. Frees chains first: a ghost may be purged only once no
/// snapshot needs a version of it. REQUIRES: no latches held.
void DoChores(GcClient& client, const Chores& chores);

}  // namespace latchkey
