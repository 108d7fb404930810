#include "tools/campaign/corruption/corruption_damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "layout/geometry.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr std::array<const char*, kDamageKinds> kNames = {
    "flip",       "zeros",        "ones",         "swap",       "copy",
    "lost-write", "older-page",   "foreign",      "shift-up",   "shift-down",
    "truncate",   "extend",       "older-tail",   "older-head", "foreign-tail",
    "older-file", "foreign-file", "missing-file", "older-image"};

using Bytes = std::vector<std::byte>;

/// The unit in which a disk is damaged.
uint64_t UnitOf(uint32_t disk) {
  return disk == kDataDisk ? DiskImage::kBlock : DiskImage::kSector;
}

bool IsZero(const std::byte* bytes, size_t size) {
  return std::all_of(bytes, bytes + size, [](std::byte b) { return b == std::byte{0}; });
}

std::vector<uint64_t> UnitsInUse(const Bytes& bytes, uint64_t unit) {
  std::vector<uint64_t> units;
  for (uint64_t at = 0; at + unit <= bytes.size(); at += unit) {
    if (!IsZero(bytes.data() + at, unit)) units.push_back(at);
  }
  return units;
}

Bytes ReadUnit(const DiskImage& disk, uint64_t offset, uint64_t size) {
  Bytes bytes(size);
  const uint64_t inside = offset >= disk.size() ? 0 : std::min(size, disk.size() - offset);
  if (inside > 0) disk.Read(offset, std::span(bytes).first(inside));
  return bytes;
}

uint64_t NextInUse(const DiskImage& disk, uint64_t offset, uint64_t unit) {
  for (uint64_t at = offset + unit;; at += unit) {
    if (at + unit > disk.size()) at = 0;
    const Bytes bytes = ReadUnit(disk, at, unit);
    if (at == offset || !IsZero(bytes.data(), unit)) return at;
  }
}

void Exchange(DiskImage& disk, uint64_t offset, uint64_t unit, bool both) {
  const uint64_t other = NextInUse(disk, offset, unit);
  const Bytes here = ReadUnit(disk, offset, unit), there = ReadUnit(disk, other, unit);
  disk.Write(offset, there);
  if (both) disk.Write(other, here);
}

void Shift(DiskImage& disk, uint64_t offset, uint64_t unit, bool up) {
  const uint64_t from = up ? (offset < DiskImage::kSector ? 0 : offset - DiskImage::kSector)
                           : offset + DiskImage::kSector;
  disk.Write(offset, ReadUnit(disk, from, unit));
}

PageHeader HeaderAt(const DiskImage& disk, uint64_t offset) {
  return PageHeaderOf(ReadUnit(disk, offset, DiskImage::kBlock));
}

/// Replaces the page at `offset` by another intact version: one from the same disk (appending
/// layouts leave old versions behind), or one from the earlier image.
void PutOlderPage(const CorruptionImage& image, DiskImage& disk, uint64_t offset) {
  const PageHeader now = HeaderAt(disk, offset);
  const DiskImage* sources[] = {&image.disks[kDataDisk], &image.older[kDataDisk]};
  for (const DiskImage* source : sources) {
    for (uint64_t at = kSuperblocksBytes; at + DiskImage::kBlock <= source->size();
         at += DiskImage::kBlock) {
      const PageHeader found = HeaderAt(*source, at);
      const bool older = found.page_id == now.page_id && found.page_type == now.page_type &&
                         found.write_sequence < now.write_sequence;
      if (!older) continue;
      disk.Write(offset, ReadUnit(*source, at, DiskImage::kBlock));
      return;
    }
  }
}

void Extend(DiskImage& disk, uint64_t bytes, bool garbage) {
  const uint64_t old_size = disk.size();
  disk.Resize(old_size + bytes);
  if (!garbage) return;
  Rng rng(bytes);
  Bytes noise(bytes);
  for (std::byte& b : noise) b = std::byte(rng.Next() >> 56);
  disk.Write(old_size, noise);
}

void TakeFrom(const DiskImage& source, uint64_t begin, uint64_t end, DiskImage& disk) {
  if (begin < end) disk.Write(begin, ReadUnit(source, begin, end - begin));
}

void DoToUnit(const CorruptionImage& image, const Damage& damage, DiskImage& disk) {
  const uint64_t unit = UnitOf(damage.disk), offset = damage.offset;
  const DiskImage& older = image.older[damage.disk];
  const DiskImage& foreign = image.foreign[damage.disk];
  switch (damage.kind) {
    case DamageKind::kZeros:
      return disk.Write(offset, Bytes(unit));
    case DamageKind::kOnes:
      return disk.Write(offset, Bytes(unit, std::byte{0xff}));
    case DamageKind::kSwap:
    case DamageKind::kCopy:
      return Exchange(disk, offset, unit, damage.kind == DamageKind::kSwap);
    case DamageKind::kLostWrite:
      return disk.Write(offset, ReadUnit(older, offset, unit));
    case DamageKind::kOlderPage:
      return PutOlderPage(image, disk, offset);
    case DamageKind::kForeign:
      return disk.Write(offset, ReadUnit(foreign, offset, unit));
    case DamageKind::kShiftUp:
    case DamageKind::kShiftDown:
      return Shift(disk, offset, unit, damage.kind == DamageKind::kShiftUp);
    default:
      return;
  }
}

void Do(const CorruptionImage& image, const Damage& damage, DiskImage& disk) {
  const DiskImage& older = image.older[damage.disk];
  const DiskImage& foreign = image.foreign[damage.disk];
  switch (damage.kind) {
    case DamageKind::kFlip:
      return disk.FlipBit(damage.offset, damage.bit);
    case DamageKind::kTruncate:
      return disk.Resize(damage.offset);
    case DamageKind::kExtend:
      return Extend(disk, damage.offset, damage.bit != 0);
    case DamageKind::kOlderTail:
      return TakeFrom(older, damage.offset, disk.size(), disk);
    case DamageKind::kOlderHead:
      return TakeFrom(older, 0, damage.offset, disk);
    case DamageKind::kForeignTail:
      return TakeFrom(foreign, damage.offset, disk.size(), disk);
    case DamageKind::kOlderFile:
      disk = older;
      return;
    case DamageKind::kForeignFile:
      disk = foreign;
      return;
    case DamageKind::kMissingFile:
      disk = DiskImage();
      return;
    default:
      return DoToUnit(image, damage, disk);
  }
}

template <typename Number>
bool ParseField(std::string_view* rest, Number* value) {
  const std::string_view field = rest->substr(0, rest->find(':'));
  rest->remove_prefix(std::min(rest->size(), field.size() + 1));
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), *value);
  return error == std::errc() && end == field.data() + field.size();
}

/// Chooses `wanted` numbers of [begin, begin + size), one in each of `wanted` equal parts.
void ChooseSpread(uint64_t begin, uint64_t size, uint64_t wanted, Rng& rng,
                  std::vector<uint64_t>* chosen) {
  for (uint64_t i = 0; i < wanted; ++i) {
    const uint64_t from = size * i / wanted, to = size * (i + 1) / wanted;
    chosen->push_back(begin + from + rng.Below(to - from));
  }
}

}  // namespace

const char* DamageKindName(DamageKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::string Damage::Name() const {
  return fmt::format("{}:{}:{}:{}", DamageKindName(kind), disk, offset, bit);
}

std::optional<Damage> DamageOf(std::string_view name) {
  const std::string_view kind = name.substr(0, name.find(':'));
  const auto known = std::find(kNames.begin(), kNames.end(), kind);
  if (known == kNames.end() || kind.size() == name.size()) return std::nullopt;
  Damage damage{.kind = static_cast<DamageKind>(known - kNames.begin())};
  std::string_view rest = name.substr(kind.size() + 1);
  if (!ParseField(&rest, &damage.disk) || !ParseField(&rest, &damage.offset) ||
      !ParseField(&rest, &damage.bit) || !rest.empty() || damage.disk >= kImageDisks ||
      damage.bit > 7) {
    return std::nullopt;
  }
  return damage;
}

std::vector<DiskImage> Damaged(const CorruptionImage& image, const Damage& damage) {
  if (damage.kind == DamageKind::kOlderImage) return image.older;
  std::vector<DiskImage> disks = image.disks;
  Do(image, damage, disks[damage.disk]);
  return disks;
}

bool IsInLastGroup(const CorruptionImage& image, const Damage& damage) {
  if (damage.disk != kLogDisk || damage.kind > DamageKind::kShiftDown) return false;
  const uint64_t size = damage.kind == DamageKind::kFlip ? 1 : DiskImage::kSector;
  return std::any_of(image.last_group.begin(), image.last_group.end(), [&](const ByteRange& r) {
    return damage.offset >= r.begin && damage.offset + size <= r.end;
  });
}

std::optional<GroupName> NewestGroupLeft(const CorruptionImage& image, const Damage& damage) {
  const bool replaces =
      damage.kind == DamageKind::kOlderTail || damage.kind == DamageKind::kOlderHead ||
      damage.kind == DamageKind::kOlderFile || damage.kind == DamageKind::kForeignTail;
  if (damage.disk != kLogDisk || !replaces) return std::nullopt;
  const GroupName left = NewestGroup(Damaged(image, damage)[kLogDisk]);
  return left < NewestGroup(image.disks[kLogDisk]) ? std::optional(left) : std::nullopt;
}

DamageList::DamageList(const CorruptionImage& image, uint32_t bits) : bits_(bits) {
  for (uint32_t disk = 0; disk < kImageDisks; ++disk) {
    const Bytes bytes = image.disks[disk].Bytes();
    const uint64_t unit = UnitOf(disk);
    AddUnits(disk, UnitsInUse(bytes, unit));
    AddLengths(disk, bytes.size());
    AddSplices(disk, bytes.size());
    first_flip_of_[disk] = flips_;
    for (uint64_t at = 0; at + unit <= bytes.size(); at += unit) {
      if (IsZero(bytes.data() + at, unit)) {
        AddFlips(disk, at, DiskImage::kSector, unit / DiskImage::kSector);
      } else {
        AddFlips(disk, at, 1, unit);
      }
    }
    flips_of_[disk] = flips_ - first_flip_of_[disk];
  }
}

void DamageList::AddFlips(uint32_t disk, uint64_t begin, uint64_t stride, uint64_t bytes) {
  if (!ranges_.empty() && ranges_.back().disk == disk && ranges_.back().stride == stride &&
      ranges_.back().begin + ranges_.back().bytes * stride == begin) {
    ranges_.back().bytes += bytes;
  } else {
    ranges_.push_back(
        {.disk = disk, .begin = begin, .stride = stride, .bytes = bytes, .first = flips_});
  }
  flips_ += bytes * bits_;
}

void DamageList::AddUnits(uint32_t disk, const std::vector<uint64_t>& units) {
  for (const uint64_t offset : units) {
    for (const DamageKind kind : {DamageKind::kZeros, DamageKind::kOnes, DamageKind::kSwap,
                                  DamageKind::kCopy, DamageKind::kLostWrite, DamageKind::kForeign,
                                  DamageKind::kShiftUp, DamageKind::kShiftDown}) {
      single_.push_back({.kind = kind, .disk = disk, .offset = offset});
    }
    if (disk == kDataDisk && offset >= kHeaderAreaBytes) {
      single_.push_back({.kind = DamageKind::kOlderPage, .disk = disk, .offset = offset});
    }
  }
}

void DamageList::AddLengths(uint32_t disk, uint64_t size) {
  for (uint64_t at = 0; at < size; at += DiskImage::kSector) {
    single_.push_back({.kind = DamageKind::kTruncate, .disk = disk, .offset = at});
  }
  for (const uint64_t more : {512, 4096, 8192, 65536, 1 << 20}) {
    for (const uint8_t garbage : {0, 1}) {
      single_.push_back(
          {.kind = DamageKind::kExtend, .bit = garbage, .disk = disk, .offset = more});
    }
  }
}

void DamageList::AddSplices(uint32_t disk, uint64_t size) {
  for (const DamageKind kind :
       {DamageKind::kOlderFile, DamageKind::kForeignFile, DamageKind::kMissingFile}) {
    single_.push_back({.kind = kind, .disk = disk});
  }
  const uint64_t step = disk == kDataDisk ? uint64_t{64} << 10 : DiskImage::kSector;
  for (uint64_t at = step; at < size; at += step) {
    for (const DamageKind kind :
         {DamageKind::kOlderTail, DamageKind::kOlderHead, DamageKind::kForeignTail}) {
      single_.push_back({.kind = kind, .disk = disk, .offset = at});
    }
  }
}

Damage DamageList::at(uint64_t index) const {
  if (index < single_.size()) return single_[index];
  const uint64_t flip = index - single_.size();
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), flip,
                       [](uint64_t i, const FlipRange& range) { return i < range.first; });
  const FlipRange& range = *std::prev(behind);
  const uint64_t within = flip - range.first;
  Damage damage{.kind = DamageKind::kFlip, .disk = range.disk};
  damage.offset = range.begin + within / bits_ * range.stride;
  damage.bit = static_cast<uint8_t>(bits_ == 8 ? within % 8 : MixHash(damage.offset) % 8);
  return damage;
}

std::vector<uint64_t> DamageList::Choose(uint64_t wanted, uint64_t seed) const {
  wanted = wanted == 0 ? size() : std::min(wanted, size());
  const uint64_t flips_at_least = wanted - std::min<uint64_t>(wanted, single_.size());
  uint64_t flips = std::min(flips_, std::max(wanted - wanted / 2, flips_at_least));
  Rng rng(seed);
  std::vector<uint64_t> chosen;
  chosen.reserve(wanted);
  ChooseSpread(0, single_.size(), wanted - flips, rng, &chosen);
  // Log and journal are smaller than the data file and hold as much that matters.
  std::array<uint32_t, kImageDisks> by_size = {kDataDisk, kLogDisk, kJournalDisk};
  std::ranges::sort(by_size, {}, [this](uint32_t disk) { return flips_of_[disk]; });
  uint64_t disks = kImageDisks;
  for (const uint32_t disk : by_size) {
    const uint64_t share = std::min(flips_of_[disk], flips / disks--);
    ChooseSpread(single_.size() + first_flip_of_[disk], flips_of_[disk], share, rng, &chosen);
    flips -= share;
  }
  return chosen;
}

}  // namespace latchkey
