// The segment cleaner: a background actor that makes free segments, empties the tail of a file that
// is to shrink, and calls the separator's tuning.
//
// A pass
//   1. chooses victims by the cleaning policy;
//   2. collects their live pages: those whose map entry names a slot of the victim;
//   3. copies each page from the pool above, if that has a clean copy, or reads it; reads of live
//      pages run in parallel;
//   4. writes the pages elsewhere, and installs each by compare-and-swap of its map entry. If the
//      page was rewritten meanwhile, the exchange fails and the moved copy is dropped.
// During I/O the cleaner holds only the mutex of the pass. It leaves pages alone whose newest copy
// is in memory: their slot in the victim is released when that copy is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "layout/checkpoint/background_cleaner.h"
#include "layout/clean/cleaning_policy.h"
#include "layout/clean/durable_map.h"
#include "layout/clean/move_sink.h"
#include "layout/map/page_directory.h"
#include "layout/separate/cost_meter.h"
#include "layout/separate/separator.h"
#include "layout/space/space_manager.h"
#include "storage/device/io_window.h"
#include "storage/page_store.h"

namespace latchkey {

class SegmentCleaner final : public BackgroundCleaner {
 public:
  struct Parts {
    PageDirectory& directory;
    SpaceManager& space;
    MoveSink& sink;
    DurableMap& durable_map;
    Separator& separator;
    CostMeter& costs;
    uint32_t pages_at_once = 64;  ///< that are read, and moved, at once
  };

  SegmentCleaner(Parts parts, std::unique_ptr<CleaningPolicy> policy);
  ~SegmentCleaner() override;

  /// Prepares I/O and the separator's first decision, then starts the actor.
  absl::Status Start() override;
  void Stop();

  Mutex& pass_mutex() override LATCHKEY_RETURN_CAPABILITY(pass_mutex_) { return pass_mutex_; }

  /// Mean utilisation of all segments emptied, [0, 1]; nullopt before the first.
  std::optional<double> cleaning_utilization() const;
  bool may_plug() const { return policy_->may_plug(); }
  /// Feeds the cost meter with the device's I/O since the last call.
  void SampleCosts() const;

 private:
  struct Move {
    PageId page;
    LocationWord word;
    FrameIndex frame{};
    bool valid = false;
  };
  static constexpr uint64_t kMaxPassBytes = uint64_t{20} << 20;  // thesis 6.2.3

  void Run();
  Nanos RetryAfter();
  bool RunPass();  // true when there may be more to do
  bool ReleaseSlotsIfUseful();
  bool Clean();
  bool Shrink();
  void MaybeTune();
  TuningInputs Inputs();
  std::vector<SegmentView> ChooseVictims(CleaningMethod method);
  CleaningMethod ChooseMethod();
  bool IsStuck(SegmentId segment) const;
  bool Empty(const std::vector<SegmentView>& victims, CleaningMethod method);
  void Collect(const SegmentView& victim, std::vector<Move>& moves);
  size_t MoveBatch(std::vector<Move>& moves, size_t first, CleaningMethod method);
  size_t PlugBatch(std::vector<Move>& moves, size_t first);
  size_t AppendBatch(std::vector<Move>& moves, size_t first);
  void Fetch(std::vector<Move>& moves, size_t first, size_t count);
  bool CopyFromPool(Move& move, std::byte* out);
  void CheckRead(Move& move, const absl::Status& status);
  void WritePlugs(std::vector<Move>& moves, size_t first, size_t count);
  void EndPlug(const Move& move, const absl::Status& written);
  void RememberUtilization(const std::vector<SegmentView>& victims, CleaningMethod method);
  std::optional<FrameIndex> BeginMove(const Move& move);
  std::optional<SlotId> TakeHole(const Move& move);

  PageDirectory& directory_;
  StoreCore& core_;
  SpaceManager& space_;
  MoveSink& sink_;
  DurableMap& durable_map_;
  Separator& separator_;
  CostMeter& costs_;
  const std::unique_ptr<CleaningPolicy> policy_;
  const uint32_t pages_at_once_;

  Mutex pass_mutex_;
  std::unique_ptr<IoQueue> queue_;
  IoWindow<size_t> window_;  // tag: index of the move
  FrameGroup* plug_frames_ = nullptr;
  std::unordered_set<uint32_t> damaged_;  // segments with pages that fail their proof
  std::optional<double> victim_utilization_;
  CleaningMethod method_of_late_ = CleaningMethod::kClean;
  static constexpr Nanos kFirstRetry = kNanosPerMilli;
  Nanos retry_after_ = kFirstRetry;
  uint64_t next_tuning_ = 0;  // at that many pages accepted
  bool tuned_once_ = false;

  std::atomic<bool> stop_{false};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
