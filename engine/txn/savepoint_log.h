// The savepoints of one transaction, and the states of its records when they were set.
//
// The version store keeps one old state per key and writer: the state before the transaction. While
// a savepoint is set, the first change of a key after it saves the key's state at the savepoint
// here. A rollback to the savepoint takes the changes off, newest first.
//
//   changes   c0 c1 | c2 c3 c4 | c5      each: the entry, and the state of its record before it
//   points          ^1         ^2
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/txn/version_entry.h"

namespace latchkey {

/// The state of the record of an entry's key before its first change after a savepoint.
struct SavedChange {
  VersionEntry* entry = nullptr;  ///< while the transaction runs
  TreeId tree{0};
  /// Whether the transaction had changed the record before. If so, `state` and `bytes` are its own
  /// value. If not, the entry was new or only a lock, and holds the record's state itself.
  bool was_written = false;
  RecordState state = RecordState::kAbsent;
  std::string bytes;
  uint64_t saved_before = 0;  ///< the savepoint for which the entry had been saved before; 0 = none
  Lsn as_of{0};               ///< the transaction's newest log record at the savepoint
};

/// Not thread-safe: belongs to its transaction's actor.
class SavepointLog {
 public:
  /// Sets a savepoint. `id` is above those of all earlier savepoints. `as_of`: the transaction's
  /// newest log record, 0 if there is none.
  void Set(uint64_t id, Lsn as_of) { points_.push_back({id, changes_.size(), as_of}); }
  bool Has(uint64_t id) const { return Find(id).has_value(); }

  /// Allocates the memory of one Save that copies no bytes.
  void Reserve();
  /// Called before a change of the entry's record. Saves its state, unless that was done since the
  /// newest savepoint. Returns whether it has saved it; an overflow chain in `bytes` then belongs
  /// to this log.
  bool Save(VersionEntry& entry, bool was_written, RecordState state, std::string_view bytes);

  /// The newest change since the savepoint `id`; nullptr = none is left. REQUIRES: Has(id).
  const SavedChange* NewestSince(uint64_t id) const;
  /// Forgets the newest change, once its record is restored.
  void Pop();
  /// Forgets the savepoints after `id`. REQUIRES: Has(id), no changes since.
  void DropAfter(uint64_t id);

  const std::vector<SavedChange>& changes() const { return changes_; }
  /// Memory in use, bytes.
  size_t bytes() const;

 private:
  struct Point {
    uint64_t id = 0;
    size_t first_change = 0;
    Lsn as_of{0};
  };
  std::optional<size_t> Find(uint64_t id) const;

  std::vector<Point> points_;  // ids ascend
  std::vector<SavedChange> changes_;
  size_t saved_bytes_ = 0;
};

}  // namespace latchkey
