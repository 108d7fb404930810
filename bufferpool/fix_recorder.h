// The trace point of the pool (thesis 3.2.2, Figure 3.7): each fix of a page is reported to a
// recorder, if there is one. A pool without a recorder tests one pointer of the actor per fix.
#pragma once

#include <cstdint>

#include "storage/base/ids.h"

namespace latchkey {

/// What happened to a page (Table 3.3). An unfix is reported only if the page was modified: no other
/// unfix tells more than its fix.
enum class FixKind : uint8_t {
  kShared,     ///< fixed for reading, optimistic fixes included
  kExclusive,  ///< fixed for modification
  kNew,        ///< fixed exclusively; the page is new, or its content is not read
  kUpgrade,    ///< no fix: one that was reported as shared became exclusive
  kModified,   ///< no fix: an exclusive one ended, and it has modified the page
};
inline constexpr uint8_t kFixKinds = 5;
/// Whether the pool counts `kind` as a fix.
constexpr bool IsFix(FixKind kind) { return kind <= FixKind::kNew; }

struct FixEvent {
  PageId page = kInvalidPageId;
  PageId tree = kInvalidPageId;  ///< root of the tree in which the actor works: PoolActor::tree
  uint8_t page_type = 0;         ///< PageType; 0 in kNew, where it is not known yet
  FixKind kind = FixKind::kShared;
  bool missed = false;  ///< the fix is a miss as the pool counts them
};

/// Receives the fixes of a pool. It waits for nothing, takes no latch and throws nothing, because
/// its caller may hold latches.
class FixRecorder {
 public:
  virtual ~FixRecorder() = default;
  /// Called by the actor with the index `actor`, after the page is fixed or before it is unfixed.
  /// All actors may call it at once.
  virtual void Record(uint32_t actor, const FixEvent& event) = 0;
};

}  // namespace latchkey
