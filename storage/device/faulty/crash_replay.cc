#include "storage/device/faulty/crash_replay.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"

namespace latchkey {
namespace {

constexpr std::array<std::pair<CrashVariant, std::string_view>, 10> kVariants = {{
    {CrashVariant::kAll, "all"},
    {CrashVariant::kNone, "none"},
    {CrashVariant::kDropOne, "drop-one"},
    {CrashVariant::kKeepOne, "keep-one"},
    {CrashVariant::kWrites, "writes"},
    {CrashVariant::kSectors, "sectors"},
    {CrashVariant::kGarbage, "garbage"},
    {CrashVariant::kOldSizes, "old-sizes"},
    {CrashVariant::kNewSizes, "new-sizes"},
    {CrashVariant::kExactly, "exactly"},
}};

constexpr uint32_t kMaxExhaustive = 16;

void PutGarbage(Rng& rng, uint64_t offset, DiskImage& image) {
  std::array<std::byte, DiskImage::kSector> garbage;
  for (std::byte& b : garbage) b = std::byte(rng.Next() >> 32);
  image.Write(offset, garbage);
}

std::vector<DiskImage> InitialImages(const CrashRecorder& recorder) {
  std::vector<DiskImage> images;
  for (uint32_t disk = 0; disk < recorder.disks(); ++disk) {
    images.push_back(recorder.initial(disk));
  }
  return images;
}

}  // namespace

const char* CrashVariantName(CrashVariant variant) {
  return kVariants[static_cast<size_t>(variant)].second.data();
}

std::optional<CrashVariant> CrashVariantOf(std::string_view name) {
  for (const auto& [variant, known] : kVariants) {
    if (known == name) return variant;
  }
  return std::nullopt;
}

CrashReplay::CrashReplay(const CrashRecorder& recorder)
    : CrashReplay(InitialImages(recorder), recorder.events()) {}

CrashReplay::CrashReplay(std::vector<DiskImage> initial, std::span<const DiskEvent> events)
    : events_(events), end_(events.size()), base_(std::move(initial)) {}

void CrashReplay::AdvanceTo(uint64_t position) {
  LATCHKEY_CHECK(position >= position_ && position <= end_);
  changed_ = changed_ && position == position_;
  for (; position_ < position; ++position_) Apply(events_[position_], position_);
}

void CrashReplay::Apply(const DiskEvent& event, uint64_t index) {
  switch (event.kind) {
    case DiskEvent::Kind::kWriteSubmitted:
      pending_.push_back(
          {.begun = index, .disk = event.disk, .offset = event.offset, .bytes = event.bytes});
      changed_ = true;
      break;
    case DiskEvent::Kind::kResizeBegun:
      pending_.push_back(
          {.begun = index, .disk = event.disk, .is_resize = true, .offset = event.offset});
      changed_ = true;
      break;
    case DiskEvent::Kind::kWriteCompleted:
      Complete(event.begun, index);
      break;
    case DiskEvent::Kind::kWriteFailed:
      for (Change& change : pending_) {
        if (change.begun == event.begun) change.bytes = event.bytes;
      }
      Complete(event.begun, index);
      changed_ = true;
      break;
    case DiskEvent::Kind::kResizeEnded:
      EndResize(event.begun, index);
      break;
    case DiskEvent::Kind::kSyncBegun:
      break;
    case DiskEvent::Kind::kSyncEnded:
      EndSync(event.disk, event.begun, true);
      break;
    case DiskEvent::Kind::kSyncFailed:
      EndSync(event.disk, event.begun, false);
      break;
  }
}

void CrashReplay::Complete(uint64_t begun, uint64_t index) {
  for (Change& change : pending_) {
    if (change.begun != begun) continue;
    change.completed = true;
    change.completed_at = index;
  }
}

void CrashReplay::EndResize(uint64_t begun, uint64_t index) {
  Complete(begun, index);
  const auto change = std::find_if(pending_.begin(), pending_.end(),
                                   [&](const Change& p) { return p.begun == begun; });
  LATCHKEY_CHECK(change != pending_.end());
  const uint32_t disk = change->disk;
  uint64_t size_before = base_[disk].size();
  bool shrinking_waits = false;
  for (auto earlier = pending_.begin(); earlier != change; ++earlier) {
    if (!earlier->is_resize || earlier->disk != disk) continue;
    size_before = earlier->offset;
    shrinking_waits = true;
  }
  if (change->offset < size_before) return;  // shrinking waits for a sync
  // Growth syncs. If an unsynced shrink is pending, apply it and everything before it first.
  if (shrinking_waits) return EndSync(disk, index + 1, true);
  Put(*change, base_[disk]);
  pending_.erase(change);
  changed_ = true;
}

void CrashReplay::EndSync(uint32_t disk, uint64_t begun, bool ok) {
  const auto covered = [&](const Change& change) {
    return change.disk == disk && change.completed && change.completed_at < begun && !change.limbo;
  };
  for (Change& change : pending_) {
    if (!covered(change)) continue;
    changed_ = true;
    if (ok) Put(change, base_[disk]);
  }
  if (ok) {
    std::erase_if(pending_, covered);
  } else {
    for (Change& change : pending_) change.limbo = change.limbo || covered(change);
  }
}

void CrashReplay::Put(const Change& change, DiskImage& image) {
  if (change.is_resize) {
    image.Resize(change.offset);
  } else {
    image.Write(change.offset, *change.bytes);
  }
}

size_t CrashReplay::SectorsOf(const Change& change) {
  return change.is_resize ? 1 : change.bytes->size() / DiskImage::kSector;
}

size_t CrashReplay::pending_sectors() const {
  size_t sectors = 0;
  for (const Change& change : pending_) sectors += SectorsOf(change);
  return sectors;
}

std::vector<DiskEvent> CrashReplay::Pending() const {
  std::vector<DiskEvent> events;
  for (const Change& change : pending_) {
    events.push_back({.kind = change.is_resize ? DiskEvent::Kind::kResizeBegun
                                               : DiskEvent::Kind::kWriteSubmitted,
                      .disk = change.disk,
                      .offset = change.offset,
                      .bytes = change.bytes});
  }
  return events;
}

std::vector<CrashChoice> CrashReplay::Choices(const CrashChoiceOptions& options) const {
  std::vector<CrashChoice> choices = {{CrashVariant::kAll, 0}};
  if (pending_.empty()) return choices;
  choices.push_back({CrashVariant::kNone, 0});
  const size_t sectors = pending_sectors();
  if (sectors <= std::min(options.exhaustive_sectors, kMaxExhaustive)) {
    for (uint64_t mask = 1; mask + 1 < uint64_t{1} << sectors; ++mask) {
      choices.push_back({CrashVariant::kExactly, mask});
    }
  } else {
    const size_t single = std::min<size_t>(options.max_single, pending_.size());
    for (size_t i = 0; i < single && pending_.size() > 1; ++i) {
      choices.push_back({CrashVariant::kDropOne, i * pending_.size() / single});
      choices.push_back({CrashVariant::kKeepOne, i * pending_.size() / single});
    }
    for (uint64_t i = 0; i < options.random_choices; ++i) {
      if (pending_.size() > 2) choices.push_back({CrashVariant::kWrites, i});
      if (sectors > 1) choices.push_back({CrashVariant::kSectors, i});
    }
  }
  for (uint64_t i = 0; i < options.random_choices; ++i) {
    choices.push_back({CrashVariant::kGarbage, i});
  }
  if (std::any_of(pending_.begin(), pending_.end(), [](const Change& p) { return p.is_resize; })) {
    choices.push_back({CrashVariant::kOldSizes, 0});
    choices.push_back({CrashVariant::kNewSizes, 0});
  }
  return choices;
}

std::vector<DiskImage> CrashReplay::Images(const CrashChoice& choice, uint64_t seed) const {
  std::vector<DiskImage> images = base_;
  if (choice.variant == CrashVariant::kExactly) {
    PutExactly(choice.index, images);
    return images;
  }
  if (choice.variant == CrashVariant::kSectors || choice.variant == CrashVariant::kGarbage) {
    PutSectors(choice, seed, images);
    return images;
  }
  Rng rng(MixHash(seed + MixHash(position_ + 1)) + choice.index * 16 +
          static_cast<uint64_t>(choice.variant));
  for (size_t i = 0; i < pending_.size(); ++i) {
    bool kept = false;
    switch (choice.variant) {
      case CrashVariant::kAll:
        kept = true;
        break;
      case CrashVariant::kDropOne:
        kept = i != choice.index;
        break;
      case CrashVariant::kKeepOne:
        kept = i == choice.index;
        break;
      case CrashVariant::kWrites:
        kept = rng.Below(2) == 0;
        break;
      case CrashVariant::kOldSizes:
        kept = !pending_[i].is_resize;
        break;
      case CrashVariant::kNewSizes:
        kept = pending_[i].is_resize;
        break;
      default:
        break;
    }
    if (kept) Put(pending_[i], images[pending_[i].disk]);
  }
  return images;
}

std::vector<DiskImage> CrashReplay::SomeImages(Rng& rng) const {
  std::vector<CrashChoice> choices = Choices({});
  std::set<CrashVariant> variants;
  for (const CrashChoice& choice : choices) variants.insert(choice.variant);
  const auto drawn = static_cast<ptrdiff_t>(rng.Below(variants.size()));
  const CrashVariant variant = *std::next(variants.begin(), drawn);
  std::erase_if(choices, [&](const CrashChoice& choice) { return choice.variant != variant; });
  const CrashChoice& choice = choices[rng.Below(choices.size())];
  return Images(choice, rng.Next());
}

void CrashReplay::PutSectors(const CrashChoice& choice, uint64_t seed,
                             std::vector<DiskImage>& images) const {
  Rng rng(MixHash(seed + MixHash(position_ + 1)) + choice.index * 16 +
          static_cast<uint64_t>(choice.variant));
  // In half of the states half of the sectors are there; in the others most, or few.
  const uint64_t kept_of_eight = rng.Below(2) == 0 ? 4 : rng.Below(2) == 0 ? 7 : 1;
  for (const Change& change : pending_) {
    if (change.is_resize) {
      if (rng.Below(2) == 0) Put(change, images[change.disk]);
      continue;
    }
    const std::span<const std::byte> bytes(*change.bytes);
    for (size_t at = 0; at < bytes.size(); at += DiskImage::kSector) {
      if (rng.Below(8) >= kept_of_eight) continue;
      images[change.disk].Write(change.offset + at, bytes.subspan(at, DiskImage::kSector));
    }
  }
  if (choice.variant != CrashVariant::kGarbage) return;
  const Change& torn = pending_[rng.Below(pending_.size())];
  if (torn.is_resize) return;
  const uint64_t sector = rng.Below(SectorsOf(torn));
  PutGarbage(rng, torn.offset + sector * DiskImage::kSector, images[torn.disk]);
}

void CrashReplay::PutExactly(uint64_t mask, std::vector<DiskImage>& images) const {
  for (const Change& change : pending_) {
    for (size_t i = 0; i < SectorsOf(change); ++i, mask >>= 1) {
      if ((mask & 1) == 0) continue;
      if (change.is_resize) {
        Put(change, images[change.disk]);
      } else {
        const size_t at = i * DiskImage::kSector;
        images[change.disk].Write(
            change.offset + at,
            std::span<const std::byte>(*change.bytes).subspan(at, DiskImage::kSector));
      }
    }
  }
}

}  // namespace latchkey
