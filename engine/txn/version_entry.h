// One old version of one key. While its writer runs, it is also the key's write lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/btree/record_state.h"
#include "storage/base/ids.h"

namespace latchkey {

struct WriteRecord;

/// Lives in its writer's arena. The key's bytes follow the entry.
struct VersionEntry {
  // Guarded by the latch of the entry's bucket.
  VersionEntry* newer = nullptr;  ///< towards the head of the bucket; nullptr at the head
  VersionEntry* older = nullptr;
  const char* old_bytes = nullptr;
  uint32_t old_size = 0;
  RecordState old_state = RecordState::kAbsent;
  bool lock_only = false;  ///< the record was not changed; readers skip the entry

  // Used by the writer alone, and after its end by the collector alone.
  bool leaves_ghost = false;    ///< the page holds a ghost after this write
  bool restore_failed = false;  ///< the rollback could not restore the old state
  uint64_t saved_for = 0;       ///< the newest savepoint for which it was saved; 0 = none

  // Constant.
  uint16_t key_size = 0;
  bool settled = false;  ///< not constant: guarded by the bucket's latch; no longer linked
  TreeId tree{0};
  uint64_t hash = 0;
  WriteRecord* writer = nullptr;
  VersionEntry* next_of_writer = nullptr;  ///< the writer's entry before this one

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_size}; }
  std::string_view old() const { return {old_bytes, old_size}; }
};
static_assert(sizeof(VersionEntry) <= 80);

}  // namespace latchkey
