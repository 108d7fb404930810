// WOLF (thesis 6.2.1, after Wang and Hu): every page is appended, to one of two segments filled at
// the same time. Pages are divided by update frequency, so that the pages of one segment are
// superseded at about the same time.
//
// The thesis does not define "update frequency" (LAYOUT_REFERENCE A19). Here it is the decayed
// counter of WriteFrequency. The running median of this counter over all writes divides the pages
// between the two segments.
#pragma once

#include <atomic>

#include "layout/separate/separator.h"
#include "layout/separate/write_frequency.h"

namespace latchkey {

class WolfSeparator final : public Separator {
 public:
  explicit WolfSeparator(Runtime& runtime) : frequency_(runtime) {}

  bool writes_in_place() const override { return false; }
  Placement OnWrite(PageId id) override;
  Placement OnMove(PageId) const override { return Placement::kHot; }
  void OnFree(PageId id) override { frequency_.Forget(id); }
  uint64_t TuningInterval(uint64_t live) const override { return WriteFrequency::EpochOf(live); }
  void Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) override;
  double hot_page_proportion() const override { return 1.0; }
  size_t memory_bytes() const override { return frequency_.memory_bytes(); }

 private:
  WriteFrequency frequency_;
  std::atomic<uint32_t> median_{0};  // of the rate over writes; a lost update does no harm
};

}  // namespace latchkey
