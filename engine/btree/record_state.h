// The state of a key's record: one type for leaves, versions, undo and the log.
//
// Three formats store it, each in its own encoding. Only their code converts:
//
//   FORMAT             ENCODING                      CONVERTED BY
//   a leaf's record    flags of its slot             StateOf and FlagsOf below; absent = no record
//   a log record       the number, 3 bits            log/log_record.cc
//   a spilled version  the number, 1 byte            txn/version_run.cc
#pragma once

#include <cstdint>

#include "engine/btree/node_format.h"

namespace latchkey {

/// The numbers are part of two formats (see above): new states get new numbers.
enum class RecordState : uint8_t {
  kAbsent = 0,    ///< no record in the leaf
  kGhost = 1,     ///< a ghost: deleted, the record not yet purged
  kValue = 2,     ///< a value in the leaf
  kOverflow = 3,  ///< a value in an overflow chain
};

/// Whether the key has a value.
constexpr bool HasValue(RecordState state) { return state >= RecordState::kValue; }

/// The state of a record with these flags. Unknown flags, which an optimistic reader may meet,
/// count for nothing.
constexpr RecordState StateOf(RecordFlags flags) {
  constexpr RecordState kStates[] = {RecordState::kValue, RecordState::kGhost,
                                     RecordState::kOverflow, RecordState::kGhost};
  static_assert((kGhost | kOverflow) == 3);
  return kStates[flags & (kGhost | kOverflow)];
}

/// The flags of a record in this state. REQUIRES: `state` is not kAbsent.
constexpr RecordFlags FlagsOf(RecordState state) {
  constexpr RecordFlags kFlags[] = {0, kGhost, 0, kOverflow};
  return kFlags[static_cast<uint8_t>(state)];
}

static_assert(StateOf(FlagsOf(RecordState::kGhost)) == RecordState::kGhost &&
              StateOf(FlagsOf(RecordState::kValue)) == RecordState::kValue &&
              StateOf(FlagsOf(RecordState::kOverflow)) == RecordState::kOverflow);

}  // namespace latchkey
