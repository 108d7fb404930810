// The words of a change of one record: what it does, what was there before, how it is undone.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/btree/record_state.h"
#include "storage/base/ids.h"

namespace latchkey {

/// The effect of a write on the record of its key. To add one: say in VersionWriter::AddEntry and
/// UpdateOwnEntry what it leaves on the page, add a section to version_store_test.cc, and add it as an
/// operation to the replay in version_store_random_test.cc.
enum class Change : uint8_t {
  kPut,     ///< afterwards the page holds a value
  kDelete,  ///< afterwards the page holds a ghost
  kLock,    ///< the page is unchanged: the key is only locked
};

/// The state of a record before a write. `bytes`: the value, the reference of its overflow chain,
/// or empty.
struct OldVersion {
  RecordState state = RecordState::kAbsent;
  std::string_view bytes;
};

/// One step of a rollback: the state to which the record of `key` returns.
struct Undo {
  TreeId tree;
  std::string_view key;
  OldVersion old;
  /// The transaction's log record at which the state was current: that of SetSavepoint, or 0 =
  /// before the transaction's first record.
  Lsn as_of{0};
};

}  // namespace latchkey
