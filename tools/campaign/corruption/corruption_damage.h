// The damages of the corruption campaign, one at a time: every byte, every unit (a page of the data
// file, a block of log and journal), every length (RELIABILITY.md 3.6).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/device/faulty/disk_image.h"
#include "tools/campaign/corruption/corruption_image.h"

namespace latchkey {

enum class DamageKind : uint8_t {
  kFlip,         ///< one bit
  kZeros,        ///< a unit of zeros
  kOnes,         ///< a unit of ones
  kSwap,         ///< the unit and the next one in use exchanged: two misdirected writes
  kCopy,         ///< the unit holds the content of the next one: a misdirected write
  kLostWrite,    ///< the unit as it was earlier in the same run
  kOlderPage,    ///< an older version of the same page, if the disk still has one
  kForeign,      ///< the unit of another database with the same history
  kShiftUp,      ///< the unit moved one sector forward
  kShiftDown,    ///< the unit moved one sector back
  kTruncate,     ///< the file ends there
  kExtend,       ///< extended by `offset` bytes; `bit` 0: zeros, 1: garbage
  kOlderTail,    ///< from there on, an earlier state of the same run
  kOlderHead,    ///< up to there, an earlier state
  kForeignTail,  ///< from there on of another database
  kOlderFile,    ///< the whole file in an earlier state
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

  /// KIND:DISK:OFFSET:BIT, the argument of --damage.
  std::string Name() const;
};
/// nullopt: no damage has this name.
std::optional<Damage> DamageOf(std::string_view name);

/// The disks of `image` after the damage.
std::vector<DiskImage> Damaged(const CorruptionImage& image, const Damage& damage);
/// Whether the whole damage lies within the last group of the log.
bool IsInLastGroup(const CorruptionImage& image, const Damage& damage);
/// The newest whole group that remains, if the damage replaces so much of the log that its own
/// newest group is lost. nullopt: the damage does not.
std::optional<GroupName> NewestGroupLeft(const CorruptionImage& image, const Damage& damage);

/// All damages of one image. Immutable.
class DamageList {
 public:
  /// `bits`: number of bits flipped of every byte in use, 1 (a seeded one) or 8. In blocks of zeros
  /// one byte of each sector is flipped.
  DamageList(const CorruptionImage& image, uint32_t bits);

  uint64_t size() const { return single_.size() + flips_; }
  /// REQUIRES: `index` < size(). Flips come last.
  Damage at(uint64_t index) const;
  /// A seeded choice of `wanted` damages, spread over the list and over the files; at least half of
  /// them are flips. All damages if `wanted` is 0 or at least size().
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
