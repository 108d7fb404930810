// CrashReplay: turns the events of a CrashRecorder into the states that a machine may find after a
// power failure at any position (RELIABILITY.md 3.1: variants V1 to V7).
//
// The model of a disk: a write that no sync has covered may be there wholly, in part (by sectors of
// 512 bytes) or not at all, and such writes may take effect in any order. A torn sector may hold
// garbage. Bytes outside the written range are unharmed. Growth is durable when Resize returns.
// Shrinking is durable when a later sync has covered it (FileDevice promises more: it syncs before
// Resize returns). After a failed sync, the writes that it should have covered stay uncertain for
// ever.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/disk_image.h"

namespace latchkey {

enum class CrashVariant : uint8_t {
  kAll,       ///< V1: all pending changes, as after a killed process
  kNone,      ///< V2: no pending change
  kDropOne,   ///< V3: all but pending change number `index`
  kKeepOne,   ///< V3: only pending change number `index`
  kWrites,    ///< V4: a random subset of the pending changes
  kSectors,   ///< V5: a random subset of the sectors of the pending changes
  kGarbage,   ///< V6: as kSectors, and one pending sector holds garbage
  kOldSizes,  ///< V7: all writes, no change of size
  kNewSizes,  ///< V7: all changes of size, no write
  kExactly,   ///< the sectors whose bit is set in `index`: all subsets when few are pending
};

const char* CrashVariantName(CrashVariant variant);
std::optional<CrashVariant> CrashVariantOf(std::string_view name);

/// One crash state of a position. Position, choice and seed determine the state.
struct CrashChoice {
  CrashVariant variant = CrashVariant::kAll;
  uint64_t index = 0;
};

struct CrashChoiceOptions {
  uint32_t random_choices = 4;      ///< of each random variant
  uint32_t max_single = 8;          ///< most choices of drop-one and of keep-one, spread evenly
  uint32_t exhaustive_sectors = 0;  ///< every subset, if at most so many sectors pend (<= 16)
};

/// Goes forward through a recording. Not thread-safe. REQUIRES: the recorder records no more, and
/// outlives this.
class CrashReplay {
 public:
  explicit CrashReplay(const CrashRecorder& recorder);
  /// Replays `events`, which outlive this, on disks that held `initial` before. A kResizeBegun
  /// followed by a kWriteCompleted, instead of a kResizeEnded, is a resize that waits for a sync.
  CrashReplay(std::vector<DiskImage> initial, std::span<const DiskEvent> events);

  uint64_t position() const { return position_; }
  uint64_t end() const { return end_; }
  /// REQUIRES: position() <= `position` <= end().
  void AdvanceTo(uint64_t position);

  /// Whether the crash states of this position can differ from those of the previous one.
  bool changed() const { return changed_; }
  size_t pending_changes() const { return pending_.size(); }
  size_t pending_sectors() const;
  /// What is pending, in its order: kWriteSubmitted and kResizeBegun.
  std::vector<DiskEvent> Pending() const;

  /// The choices to try here, in a fixed order. Only kAll when nothing is pending.
  std::vector<CrashChoice> Choices(const CrashChoiceOptions& options) const;
  /// The disks after a crash here, determined by position, choice and `seed`.
  std::vector<DiskImage> Images(const CrashChoice& choice, uint64_t seed) const;
  /// The disks after one of Choices({}), drawn by `rng`: first the variant, then the choice.
  std::vector<DiskImage> SomeImages(Rng& rng) const;

 private:
  struct Change {
    uint64_t begun = 0;
    uint32_t disk = 0;
    bool is_resize = false;
    bool completed = false;
    bool limbo = false;  // a sync that should have covered it failed
    uint64_t completed_at = 0;
    uint64_t offset = 0;  // or the new size
    DiskBytes bytes{};
  };

  void Apply(const DiskEvent& event, uint64_t index);
  void Complete(uint64_t begun, uint64_t index);
  void EndResize(uint64_t begun, uint64_t index);
  void EndSync(uint32_t disk, uint64_t begun, bool ok);
  static void Put(const Change& change, DiskImage& image);
  static size_t SectorsOf(const Change& change);
  void PutSectors(const CrashChoice& choice, uint64_t seed, std::vector<DiskImage>& images) const;
  void PutExactly(uint64_t mask, std::vector<DiskImage>& images) const;

  const std::span<const DiskEvent> events_;
  const uint64_t end_;
  uint64_t position_ = 0;
  bool changed_ = true;
  std::vector<DiskImage> base_;   // the durable content
  std::vector<Change> pending_;  // in the order of submission
};

}  // namespace latchkey
