// Separators: for each page written, a separator decides whether the page is appended or written in
// place. The layouts differ in this decision only (thesis 6.3.1): Overwrite = all in place, LFS =
// all appended, WOLF = all appended in two streams by update frequency, HyLog = by measured cost.
// They share all other code, so measured differences between layouts come from the separator alone.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "layout/separate/write_cost_model.h"
#include "storage/base/ids.h"
#include "storage/base/registry.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

enum class Placement : uint8_t {
  kInPlace,    ///< cold: over its present slot, or into a hole or the cold log
  kHot,        ///< appended
  kHotSecond,  ///< appended to the second stream (WOLF: the less frequently updated)
};

/// Where a cold page goes that has a slot in the cold partition, if the store would write it twice there
/// (doublewrite).
enum class ColdWrites : uint8_t {
  kInPlace,    ///< over its slot, as published (thesis 6.2.2)
  kIntoHoles,  ///< once: into a hole, or appended to the cold log; else over its slot (decision 0028)
};

/// The measured values that a separator may decide by.
struct TuningInputs {
  double space_utilization = 0;                ///< u_d: live / (capacity less the reserve)
  PageCosts costs;                             ///< busy time of the device
  bool plugging_allowed = false;               ///< the segment cleaning in use may plug holes
  bool by_death_time = false;                  ///< appended pages are divided by death time
  bool writes_twice = false;                   ///< pages in place are protected by doublewriting
  bool compresses = false;                     ///< appended pages are compressed, cold ones are not
  bool cold_into_holes = false;  ///< cold pages go once into holes; set by HyLog itself
  /// Device time per page that users appended, with the cleaning that it took, ns: of the stretch of
  /// time that ends with this Tune (LogWorkWindow). nullopt: none ends, or it tells nothing.
  std::optional<double> log_ns;
  uint64_t page_id_limit = 0;
  // In Tune alone:
  Nanos now = 0;
  DeviceStats device;      ///< totals since the device was opened
  uint32_t disks = 1;      ///< that hold data; of RAID-5 one is left out
  uint32_t page_size = 0;  ///< bytes
};

/// Thread-safe; Tune is called by one actor at a time.
class Separator {
 public:
  virtual ~Separator() = default;
  /// Whether OnWrite ever returns kInPlace. Constant.
  virtual bool writes_in_place() const = 0;
  /// Whether OnWrite ever returns anything else. Constant.
  virtual bool appends() const { return true; }
  /// The most append logs that pages of this layout go to. Four of the five: no layout has both a
  /// second hot stream and cold pages that the cleaner keeps apart.
  virtual uint32_t most_logs() const { return 4; }
  /// Counts a write of `id` and returns its placement.
  virtual Placement OnWrite(PageId id) = 0;
  /// The placement of a page that the segment cleaner moves. Counts nothing.
  virtual Placement OnMove(PageId id) const = 0;
  virtual void OnFree(PageId) {}

  /// Writes between two calls of Tune, for `live` pages; 0 = never.
  virtual uint64_t TuningInterval(uint64_t live) const {
    static_cast<void>(live);
    return 0;
  }
  /// Adapts the decision. Called at the first change of an opened store, then after every interval.
  virtual void Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) {
    static_cast<void>(inputs);
    static_cast<void>(is_live);
  }

  ColdWrites cold_writes() const { return cold_writes_.load(std::memory_order_relaxed); }
  void SetColdWrites(ColdWrites cold_writes) {
    cold_writes_.store(cold_writes, std::memory_order_relaxed);
  }

  /// h: the share of live pages that are hot, [0, 1].
  virtual double hot_page_proportion() const = 0;
  virtual size_t memory_bytes() const { return 0; }

 private:
  std::atomic<ColdWrites> cold_writes_{ColdWrites::kInPlace};
};

/// One layout of the list.
struct LayoutInfo {
  ChoiceDescription description;
  std::unique_ptr<Separator> (*make)(Runtime& runtime, std::span<const double> parameters);
  /// The segment cleaning policy of `--segment-cleaning=auto` (decision 0023).
  std::string_view segment_cleaning;
};

/// The list of layouts: overwrite, lfs, wolf, hylog. To add one: its separator's file and one line
/// in separator.cc.
const Registry<LayoutInfo>& Layouts();
using LayoutChoice = Choice<LayoutInfo>;
/// Layouts().Parse, for what users write. InvalidArgument, beside the registry's errors: parameters
/// that have no effect together.
absl::StatusOr<LayoutChoice> ParseLayout(std::string_view text);

}  // namespace latchkey
