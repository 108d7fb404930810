// What the accesses of the pool emulator cost in a simulation, outside of the scheme's lock and
// under it, and the hot words that the pool writes beside those of the schemes.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <vector>

#include "storage/base/ids.h"
#include "tools/contention/charging_replacement.h"
#include "tools/contention/pool_emulator.h"

namespace latchkey {

/// Of one emulator. Outlives its pool.
class ModelledAccesses {
 public:
  /// InvalidArgument: no costs for the algorithm. REQUIRES: config.costs is set; `config` outlives
  /// the result.
  static absl::StatusOr<std::unique_ptr<ModelledAccesses>> Create(Runtime& runtime,
                                                                  const PoolEmulatorConfig& config);

  /// The emulator's algorithm, which charges for its calls.
  const ReplacementChoice& replacement() const { return replacement_.choice(); }
  /// From now on accesses cost time.
  void Start() { replacement_.Start(); }

  /// Called by `thread` before it fixes `page`, and after it has unfixed it.
  void Before(uint32_t thread, PageId page);
  void After(uint32_t thread, PageId page, bool missed);

 private:
  /// Outside of locks, in ns.
  struct Costs {
    double access, miss, moved_miss;
  };

  ModelledAccesses(Runtime& runtime, const PoolEmulatorConfig& config, const CallCosts& locked,
                   const Costs& costs);
  HotWord& WordOf(PageId page) { return page_words_[Raw(page) / kWordsPerLine]; }

  static constexpr uint64_t kWordsPerLine = 8;  // of page words, in a cache line of 64 bytes

  Runtime& runtime_;
  const Costs costs_;
  ChargingReplacement replacement_;
  std::vector<Charger> chargers_;      // by thread
  std::vector<HotWord> page_words_;    // by cache line; empty if fixes are optimistic
  uint32_t last_missed_ = UINT32_MAX;  // the thread
};

}  // namespace latchkey
