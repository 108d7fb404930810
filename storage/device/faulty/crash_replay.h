// CrashReplay: from the events of a CrashRecorder to what a machine may find that starts again
// after losing its power at any of them (RELIABILITY.md 3.1: variants V1 to V7).
//
// The model of a disk: a write that no sync has covered may be wholly, partly (by sectors of 512
// bytes) or not at all there, in any order; a torn sector may hold garbage; what lies beside the
// written range is unharmed. Growth is durable when Resize returns, shrinking when a sync has
// covered it (as FileDevice does it). A sync that failed leaves what it covered open for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/disk_image.h"

namespace latchkey {

enum class CrashVariant : uint8_t {
  kAll,       ///< V1: everything pending is there: a killed process
  kNone,      ///< V2: nothing that is pending
  kDropOne,   ///< V3: all but pending change number `index`
  kKeepOne,   ///< V3: none but pending change number `index`
  kWrites,    ///< V4: a random subset of the pending changes
  kSectors,   ///< V5: a random subset of their sectors
  kGarbage,   ///< V6: as kSectors, and one sector of them holds garbage
  kOldSizes,  ///< V7: all writes, no change of size
  kNewSizes,  ///< V7: all changes of size, no write
  kExactly,   ///< the sectors whose bit is set in `index`: all subsets when few are pending
};

const char* CrashVariantName(CrashVariant variant);
std::optional<CrashVariant> CrashVariantOf(std::string_view name);

/// One crash state of a position: with the position and the seed, all that is needed to make it
/// again.
struct CrashChoice {
  CrashVariant variant = CrashVariant::kAll;
  uint64_t index = 0;
};

struct CrashChoiceOptions {
  uint32_t random_choices = 4;      ///< of each random variant
  uint32_t max_single = 8;          ///< drop-one and keep-one: at most so many, spread evenly
  uint32_t exhaustive_sectors = 0;  ///< with at most so many pending sectors: every subset (<= 16)
};

/// Walks forward through a recording. Not thread-safe. REQUIRES: the recording is over; outlives
/// this.
class CrashReplay {
 public:
  explicit CrashReplay(const CrashRecorder& recorder);

  uint64_t position() const { return position_; }
  uint64_t end() const { return end_; }
  /// REQUIRES: position() <= `position` <= end().
  void AdvanceTo(uint64_t position);

  /// Whether the crash states of this position can differ from those of the one before.
  bool changed() const { return changed_; }
  size_t pending_changes() const { return pending_.size(); }
  size_t pending_sectors() const;

  /// What to try here, in a fixed order. Just kAll when nothing is pending.
  std::vector<CrashChoice> Choices(const CrashChoiceOptions& options) const;
  /// The disks after a crash here. `seed` with position and choice decides the rest.
  std::vector<DiskImage> Images(const CrashChoice& choice, uint64_t seed) const;

 private:
  struct Pending {
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
  static void Put(const Pending& change, DiskImage& image);
  static size_t SectorsOf(const Pending& change);
  void PutSectors(const CrashChoice& choice, uint64_t seed, std::vector<DiskImage>& images) const;
  void PutExactly(uint64_t mask, std::vector<DiskImage>& images) const;

  const CrashRecorder& recorder_;
  const uint64_t end_;
  uint64_t position_ = 0;
  bool changed_ = true;
  std::vector<DiskImage> base_;   // what is durable
  std::vector<Pending> pending_;  // in the order of submission
};

}  // namespace latchkey
