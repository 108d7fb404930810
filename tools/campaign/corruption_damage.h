// What the corruption campaign does to an image, one damage at a time: every byte, every unit (a
// page of the data file, a block of log and journal), every length (RELIABILITY.md 3.6).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/device/faulty/disk_image.h"
#include "tools/campaign/corruption_image.h"

namespace latchkey {

enum class DamageKind : uint8_t {
  kFlip,         ///< one bit
  kZeros,        ///< a unit of zeros
  kOnes,         ///< a unit of ones
  kSwap,         ///< the unit and the next one that is in use exchanged: two misdirected writes
  kCopy,         ///< the unit holds what belongs to the next one: a misdirected write
  kLostWrite,    ///< the unit as it was earlier in the same run
  kOlderPage,    ///< an older version of the same page, wherever one still lies
  kForeign,      ///< the unit of another database that has done the same
  kShiftUp,      ///< the unit one sector further
  kShiftDown,    ///< the unit one sector back
  kTruncate,     ///< the file ends there
  kExtend,       ///< `bit` 0: by zeros, 1: by garbage, as many bytes as `offset` says
  kOlderTail,    ///< from there on as it was earlier in the same run
  kOlderHead,    ///< up to there as it was earlier
  kForeignTail,  ///< from there on of another database
  kOlderFile,    ///< the whole file as it was earlier
  kForeignFile,  ///< the whole file of another database
  kMissingFile,  ///< an empty file
  kOlderImage,   ///< all files as they were earlier: sound, and wrong. Never in a list: a test of
                 ///< the judge.
};
inline constexpr size_t kDamageKinds = static_cast<size_t>(DamageKind::kOlderImage) + 1;
const char* DamageKindName(DamageKind kind);

struct Damage {
  DamageKind kind = DamageKind::kFlip;
  uint8_t bit = 0;
  uint32_t disk = 0;
  uint64_t offset = 0;

  /// KIND:DISK:OFFSET:BIT, as --damage takes it.
  std::string Name() const;
};
/// nullopt: no damage is called so.
std::optional<Damage> DamageOf(std::string_view name);

/// The disks of `image` with the damage done to them.
std::vector<DiskImage> Damaged(const CorruptionImage& image, const Damage& damage);
/// Whether the damage lies within the last group of the log, wholly.
bool IsInLastGroup(const CorruptionImage& image, const Damage& damage);
/// The newest group that is left whole when the damage replaces so much of the log that this is not
/// the one that was; nullopt: no such damage.
std::optional<GroupName> NewestGroupLeft(const CorruptionImage& image, const Damage& damage);

/// Every damage of one image; immutable.
class DamageList {
 public:
  /// `bits`: of every byte in use 1 (a seeded one) or all 8 are flipped. Bytes of blocks that hold
  /// nothing but zeros: one in a sector.
  DamageList(const CorruptionImage& image, uint32_t bits);

  uint64_t size() const { return single_.size() + flips_; }
  /// `index` below size(). Flips come last.
  Damage at(uint64_t index) const;
  /// A seeded choice of `wanted` of them, at least half of them flips, spread over the list and
  /// over the files: all when `wanted` is 0 or no smaller than size().
  std::vector<uint64_t> Choose(uint64_t wanted, uint64_t seed) const;

 private:
  struct FlipRange {
    uint32_t disk = 0;
    uint64_t begin = 0, stride = 1, bytes = 0;
    uint64_t first = 0;  // number of its first flip
  };
  void AddFlips(uint32_t disk, uint64_t begin, uint64_t stride, uint64_t bytes);
  void AddUnits(uint32_t disk, const std::vector<uint64_t>& units);
  void AddLengths(uint32_t disk, uint64_t size);
  void AddSplices(uint32_t disk, uint64_t size);

  const uint32_t bits_;
  std::vector<Damage> single_;
  std::vector<FlipRange> ranges_;
  uint64_t flips_ = 0;
  std::array<uint64_t, kImageDisks> first_flip_of_{}, flips_of_{};
};

}  // namespace latchkey
