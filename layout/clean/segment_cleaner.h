// The segment cleaner: a background actor that makes free segments, empties the tail of a file that
// is to shrink, and calls the separator's tuning.
//
// A pass empties victims, a few at a time, until it has gained a few segments:
//   1. the cleaning policy chooses the victims;
//   2. the cleaner reads the live pages of all of them together, or copies them from the pool. A page is
//      live if its map entry names a slot of the victim;
//   3. victim after victim, each page is written elsewhere and installed by compare-and-swap of its
//      map entry. If the page was rewritten meanwhile, the exchange fails and the moved copy is dropped;
//   4. a victim is free as soon as its pages are durable elsewhere. If there is no room for further
//      pages, that is done at once for the victims that are finished.
// If users wait for segments, the device reads the next batch of victims while the cleaner makes the
// last one durable. At the end of a pass that is the first batch of the next pass. It is given back
// before the cleaner sleeps, shrinks the file or stops.
// Users cannot take the last free segments, and the cleaner's output fits into these. So a pass ends,
// even if users take all others meanwhile.
//
// During I/O the cleaner holds no lock but the mutex of the pass. If the newest copy of a page is in
// memory, the cleaner does not move the page: its slot is released when that copy is written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layout/checkpoint/background_cleaner.h"
#include "layout/clean/cleaning_policy.h"
#include "layout/clean/cost_explorer.h"
#include "layout/clean/durable_map.h"
#include "layout/clean/log_work.h"
#include "layout/clean/move_sink.h"
#include "layout/clean/plug_writer.h"
#include "layout/clean/victim_reader.h"
#include "layout/map/page_directory.h"
#include "layout/separate/cost_meter.h"
#include "layout/separate/separator.h"
#include "layout/space/space_manager.h"
#include "storage/page_store.h"

namespace latchkey {

class SegmentCleaner final : public BackgroundCleaner {
 public:
  /// Segments to gain in a pass. At its end the cleaner waits for its writes and for two syncs, so of
  /// short segments it gains more, together a MiB. It gains at least 4, and beyond these no more than
  /// the segments that users may not take: before the pass ends users may have taken all others. Of
  /// long segments it gains few, because a checkpoint may wait for the end of the pass.
  static constexpr uint32_t GainOfPass(uint32_t segment_size, uint32_t hard_watermark) {
    constexpr uint32_t kLeast = 4, kBytes = 1u << 20;
    return std::max(kLeast, std::min(kBytes / segment_size, hard_watermark));
  }

  struct Parts {
    PageDirectory& directory;
    SpaceManager& space;
    MoveSink& sink;
    DurableMap& durable_map;
    Separator& separator;
    CostMeter& costs;
    uint32_t requests_at_once = 64;  ///< in flight, of plugging; twice as many of reads
    uint32_t victims_at_once = 1;    ///< the most that are read and emptied together
    CostExplorer* explorer = nullptr;  ///< keeps `costs` true; nullptr: nothing is probed
    bool measure_at_start = false;     ///< the costs are of an earlier open
    bool by_death_time = false;        ///< appended pages are divided by death time
    /// Live bytes of a pass, unless its first victim alone has more (thesis 6.2.3).
    uint64_t pass_bytes = uint64_t{20} << 20;
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
  // A victim of the present pass, taken to be emptied. It stays in the state kCleaning until it is
  // empty, at most until the pass ends, so that nothing is put into its holes.
  struct Victim {
    SegmentId id;
    bool ended = false;
  };

  void Run();
  Nanos RetryAfter();
  bool RunPass();  // true when there may be more to do
  bool ReleaseSlotsIfUseful();
  bool Clean();
  bool Shrink();
  void MaybeTune();
  bool ExplorationIsDue() const;
  void Explore();
  TuningInputs Inputs();
  LogWork WorkSoFar() const;
  CleaningMethod ChooseMethod();
  std::optional<SegmentView> ChooseVictim(uint64_t clock);
  bool JournalIsFull() const;
  bool EmptyVictims(CleaningMethod method);
  /// A few victims that are emptied together. They are in victims_, too.
  struct VictimBatch {
    std::vector<SegmentId> ids;  // has room for the most that reader_ takes
    // By Empty: the victims all of whose pages were moved, the slots of these pages, the segments that
    // this gains; and the victims that had no page to move.
    uint32_t emptied = 0;
    uint64_t slots = 0;
    double gain = 0;
    uint32_t without_pages = 0;
  };
  void LoadNext(CleaningMethod method, uint64_t budget, double wanted, bool is_first);
  void DropNext();
  void TakeNext();
  void KeepFirstOfBatch();
  /// False: some pages stay, because there is no room for them.
  bool Empty(CleaningMethod method);
  size_t Append(std::span<const VictimPage> pages);
  bool BeginMove(const VictimPage& page, FrameIndex* frame);
  bool MakeRoom();
  double WantedGain() const;
  bool MayLoadAhead() const;
  bool IsShort() const;
  bool ExpectsPass() const;
  void EndPass();
  uint32_t EndEmptied(bool all);
  SegmentKind KindFor(PageId page) const;
  double MeanPageShare() const;
  bool PagesFillHoles() const;
  void CountEmptied(std::span<const VictimPage> pages, CleaningMethod method);
  void NoteEmptied(CleaningMethod method);

  PageDirectory& directory_;
  StoreCore& core_;
  SpaceManager& space_;
  MoveSink& sink_;
  DurableMap& durable_map_;
  Separator& separator_;
  CostMeter& costs_;
  CostExplorer* const explorer_;
  const bool measure_at_start_;
  const bool by_death_time_;
  const uint64_t pass_bytes_;
  const std::unique_ptr<CleaningPolicy> policy_;
  const uint32_t requests_at_once_;

  Mutex pass_mutex_;
  VictimReader reader_;
  PlugWriter plugs_;
  // By Clean: victims that it left alone, because all their pages have newer copies in memory.
  uint32_t passed_over_ = 0;
  uint32_t freed_ = 0;           // victims of the pass that are free
  std::vector<Victim> victims_;  // of the present pass; has room for kMaxVictims
  VictimBatch batch_;
  // Victims that reader_ is loading: the next batch, of this pass or of the next one. They are in the
  // state kCleaning.
  std::vector<SegmentId> next_;
  std::optional<double> victim_utilization_;
  CleaningMethod method_of_late_ = CleaningMethod::kClean;
  static constexpr Nanos kFirstRetry = kNanosPerMilli;
  Nanos retry_after_ = kFirstRetry;
  uint64_t next_tuning_ = 0;  // at that many pages accepted
  uint64_t next_exploration_ = 0;
  bool tuned_once_ = false;
  LogWorkWindow log_work_;

  std::atomic<bool> stop_{false};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
