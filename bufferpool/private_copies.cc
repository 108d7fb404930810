#include "bufferpool/private_copies.h"

#include <algorithm>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/reserved_memory.h"

namespace latchkey {
namespace {

constexpr uint32_t kFirstFrame = 1;

FrameId FrameOf(uint32_t slot) { return FrameId{kFirstFrame + slot}; }

}  // namespace

ActorCopies::ActorCopies(const ReplacementChoice& replacement, uint32_t page_size,
                         std::byte* memory, uint32_t limit, uint32_t most, uint64_t seed)
    : page_size_(page_size),
      memory_(memory),
      limit_(limit),
      reference_bytes_(size_t{most} + kFirstFrame),
      algorithm_(replacement.Make(ReplacementConfig{.first_frame = kFirstFrame,
                                                    .frame_capacity = limit,
                                                    .reference_bytes = reference_bytes_.data(),
                                                    .seed = seed})),
      copies_(limit) {
  free_.reserve(limit);
  for (Slot slot = limit; slot > 0; --slot) free_.push_back(slot - 1);
  slot_of_.reserve(2 * size_t{limit});
}

const std::byte* ActorCopies::Find(PageId page, uint64_t version, bool is_hit) {
  const auto found = slot_of_.find(Raw(page));
  if (found == slot_of_.end()) return nullptr;
  const Slot slot = found->second;
  if (copies_[slot].version != version) {
    Drop(slot);
    return nullptr;
  }
  if (is_hit) {
    if (const auto most_hits = algorithm_->most_counted_hits()) {
      reference_bytes_[Raw(FrameOf(slot))].AddHit(*most_hits);
    } else {
      algorithm_->OnHit(FrameOf(slot));
    }
  }
  return DataOf(slot);
}

std::byte* ActorCopies::TakeFrame(PageId incoming, uint32_t limit) {
  if (limit != limit_) ApplyLimit(limit);
  if (free_.empty()) {
    const FrameId victim = algorithm_->Victim(incoming, [](FrameId) { return true; });
    LATCHKEY_CHECK(victim != kNoFrame);
    const Slot slot = Raw(victim) - kFirstFrame;
    slot_of_.erase(Raw(copies_[slot].page));
    copies_[slot] = {};
    free_.push_back(slot);
  }
  return DataOf(free_.back());
}

void ActorCopies::Keep(PageId page, uint64_t version) {
  const Slot slot = free_.back();
  LATCHKEY_CHECK(slot_of_.emplace(Raw(page), slot).second);
  free_.pop_back();
  copies_[slot] = {page, version};
  reference_bytes_[Raw(FrameOf(slot))].Reset(/*unused=*/false);
  algorithm_->OnLoad(FrameOf(slot), page, LoadKind::kDemand);
}

void ActorCopies::Drop(Slot slot) {
  algorithm_->OnRemove(FrameOf(slot));
  slot_of_.erase(Raw(copies_[slot].page));
  copies_[slot] = {};
  free_.push_back(slot);
}

void ActorCopies::ApplyLimit(uint32_t limit) {
  free_.reserve(limit);
  for (Slot slot = limit; slot < limit_; ++slot) {
    if (copies_[slot].page != kInvalidPageId) Drop(slot);
  }
  std::erase_if(free_, [&](Slot slot) { return slot >= limit; });
  if (limit < limit_) DiscardMemory(DataOf(limit), size_t{limit_ - limit} * page_size_);
  copies_.resize(limit);
  algorithm_->Resize(limit);
  for (Slot slot = limit; slot > limit_; --slot) free_.push_back(slot - 1);
  limit_ = limit;
}

PrivateCopies::PrivateCopies(const PrivateCopiesPlan& plan, const ReplacementChoice& replacement,
                             uint32_t page_size, uint32_t shared_frames,
                             uint32_t most_shared_frames)
    : plan_(plan),
      replacement_(replacement),
      page_size_(page_size),
      most_(plan.FramesOfActor(most_shared_frames)),
      memory_(static_cast<std::byte*>(ReserveMemory(reserved_bytes(), MemoryAdvice::kNone))),
      limit_(plan.FramesOfActor(shared_frames)),
      parts_(plan.actors),
      by_actor_(Runtime::kMaxActors) {}

PrivateCopies::~PrivateCopies() { ReleaseMemory(memory_, reserved_bytes()); }

ActorCopies* PrivateCopies::Add(uint32_t actor) {
  uint32_t part = taken_.load(std::memory_order_relaxed);
  do {
    if (part >= plan_.actors) return nullptr;
  } while (!taken_.compare_exchange_weak(part, part + 1, std::memory_order_relaxed));
  parts_[part] = std::make_unique<ActorCopies>(replacement_, page_size_,
                                               memory_ + size_t{part} * most_ * page_size_,
                                               frames_of_actor(), most_, MixHash(part + 1));
  by_actor_[actor].store(parts_[part].get(), std::memory_order_release);
  return parts_[part].get();
}

void PrivateCopies::Resize(uint32_t shared_frames) {
  const uint64_t fewest = PrivateCopiesPlan::FewestFrames(replacement_);
  limit_.store(std::max(plan_.FramesOfActor(shared_frames), static_cast<uint32_t>(fewest)),
               std::memory_order_relaxed);
}

uint64_t PrivateCopies::memory_bytes() const {
  return uint64_t{plan_.actors} * frames_of_actor() * BytesPerFrame(replacement_, page_size_);
}

}  // namespace latchkey
