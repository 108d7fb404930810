// What the tests share that compare a replacement algorithm with the plainest program that does the
// same: a model that keeps lists of page numbers.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "bufferpool/replacement/replacement_list.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey {

using Pages = std::deque<uint64_t>;  // oldest first

inline bool Erase(Pages& pages, uint64_t page) {
  const auto it = std::find(pages.begin(), pages.end(), page);
  if (it == pages.end()) return false;
  pages.erase(it);
  return true;
}

inline std::optional<uint64_t> OldestUnpinned(const Pages& pages,
                                              const std::set<uint64_t>& pinned) {
  for (const uint64_t page : pages) {
    if (pinned.count(page) == 0) return page;
  }
  return std::nullopt;
}

/// An algorithm over frames from 1 on, and a model that gets the same calls. A Model has Hit(page),
/// Load(page), Remove(page), Reinstate(page), which follows the Victim call that chose the page, and
/// Victim(incoming, pinned), where `incoming` is Raw(kInvalidPageId) for no page in particular.
template <typename Model>
class ModelComparison {
 public:
  ModelComparison(std::string_view item, uint32_t frames, uint64_t seed)
      : frames_(frames),
        bytes_(frames + 1),
        algorithm_(ReplacementAlgorithms().Named(item).Make(ReplacementConfig{
            .first_frame = 1, .frame_capacity = frames, .reference_bytes = bytes_.data()})),
        model_(frames),
        rng_(seed),
        page_in_(frames + 1, kNoPage) {
    for (uint32_t f = 1; f <= frames; ++f) free_.push_back(FrameId{f});
  }

  /// Requests a page, or removes it. An eviction may be given up. The same page may then be
  /// requested again.
  void Step() {
    const uint64_t page = retry_.value_or(
        rng_.Below(rng_.Below(4) == 0 ? uint64_t{4} * frames_ : uint64_t{frames_} + 2));
    retry_.reset();
    const auto place = std::find(page_in_.begin() + 1, page_in_.end(), page);
    const FrameId frame{static_cast<uint32_t>(place - page_in_.begin())};
    if (place == page_in_.end()) {
      Miss(page);
    } else if (rng_.Below(20) == 0) {
      algorithm_->OnRemove(frame);
      model_.Remove(page);
      Free(frame);
    } else {
      algorithm_->OnHit(frame);
      model_.Hit(page);
    }
  }

 private:
  static constexpr uint64_t kNoPage = Raw(kInvalidPageId);

  void Miss(uint64_t page) {
    if (free_.empty() && rng_.Below(8) == 0) {
      if (!Evict(kNoPage)) return;
    }
    if (free_.empty() && !Evict(page)) return;
    const FrameId frame = free_.back();
    free_.pop_back();
    algorithm_->OnLoad(frame, PageId{page}, LoadKind::kDemand);
    model_.Load(page);
    page_in_[Raw(frame)] = page;
  }
  // False if no frame was evictable or the eviction was given up.
  bool Evict(uint64_t incoming) {
    std::set<uint64_t> pinned;
    for (uint32_t f = 1; f <= frames_ && rng_.Below(2) == 0; ++f) pinned.insert(page_in_[f]);
    const FrameId victim = algorithm_->Victim(
        PageId{incoming}, [&](FrameId f) { return pinned.count(page_in_[Raw(f)]) == 0; });
    const auto expected = model_.Victim(incoming, pinned);
    REQUIRE((victim != kNoFrame) == expected.has_value());
    if (!expected) return false;
    REQUIRE(page_in_[Raw(victim)] == *expected);
    if (rng_.Below(6) > 0) {
      Free(victim);
      return true;
    }
    algorithm_->Reinstate(victim);
    model_.Reinstate(*expected);
    if (incoming != kNoPage && rng_.Below(2) == 0) retry_ = incoming;
    return false;
  }
  void Free(FrameId frame) {
    page_in_[Raw(frame)] = kNoPage;
    free_.push_back(frame);
  }

  const uint32_t frames_;
  std::vector<ReferenceByte> bytes_;
  std::unique_ptr<ReplacementAlgorithm> algorithm_;
  Model model_;
  Rng rng_;
  std::vector<uint64_t> page_in_;
  std::vector<FrameId> free_;
  std::optional<uint64_t> retry_;
};

/// Every victim of `item` must be the model's, for several numbers of frames and several seeds.
template <typename Model>
void CompareWithModel(std::string_view item) {
  for (const uint32_t frames : {1u, 2u, 4u, 7u, 32u}) {
    for (uint64_t seed = 1; seed <= (kSanitizer ? 1 : 5); ++seed) {
      CAPTURE(item, frames, seed);
      ModelComparison<Model> comparison(item, frames, seed);
      for (int step = 0; step < 4000; ++step) comparison.Step();
    }
  }
}

}  // namespace latchkey
