// PrefetchGauge: whether to look for missing pages before the next batch of announced keys.
//
// With FixMode::kLatched looking is dear, because each descent latches pages. In memory it is in vain.
//
// Thread-safety: belongs to one actor.
#pragma once

#include <algorithm>
#include <cstdint>

namespace latchkey {

/// Says yes until kBatches batches in a row had no missing page. From then on it says yes for every
/// kBatches-th, until one of these has a missing page.
class PrefetchGauge {
 public:
  static constexpr uint32_t kBatches = 64;

  bool ShouldAsk() {
    if (resident_ < kBatches) return true;
    skipped_ = (skipped_ + 1) % kBatches;
    return skipped_ == 0;
  }
  void Note(bool pages_were_missing) {
    resident_ = pages_were_missing ? 0 : std::min(resident_ + 1, kBatches);
  }

 private:
  uint32_t resident_ = 0;  // batches in a row without a missing page, at most kBatches
  uint32_t skipped_ = 0;   // since the last one that was asked about
};

}  // namespace latchkey
