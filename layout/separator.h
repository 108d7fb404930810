// Separators: of each page that is written, whether it is appended to a log or written in place.
// That choice is all that distinguishes the layouts (thesis 6.3.1): Overwrite = all in place, LFS =
// all appended, WOLF = all appended in two streams by update frequency, HyLog = by measured cost.
// So no layout takes a shortcut that another lacks.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/write_cost_model.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

enum class Placement : uint8_t {
  kInPlace,    ///< cold: over its present slot, or into a hole or the cold log
  kHot,        ///< appended
  kHotSecond,  ///< appended to the second stream (WOLF: the less frequently updated)
};

/// What a separator may decide by, all measured.
struct TuningInputs {
  double space_utilization = 0;                ///< u_d: live / (capacity less the reserve)
  PageCosts costs;                             ///< busy time of the device
  bool plugging_allowed = false;               ///< the segment cleaning in use may plug holes
  std::optional<double> cleaning_utilization;  ///< u of the victims of late, when there were any
  uint64_t page_id_limit = 0;
};

/// Thread-safe; Tune is called by one actor at a time.
class Separator {
 public:
  virtual ~Separator() = default;
  /// Whether OnWrite ever answers kInPlace. Constant.
  virtual bool writes_in_place() const = 0;
  /// Counts a write of `id` and says where it goes.
  virtual Placement OnWrite(PageId id) = 0;
  /// Where the segment cleaner puts a page that it moves. Counts nothing.
  virtual Placement OnMove(PageId id) const = 0;
  virtual void OnFree(PageId) {}

  /// Writes between two calls of Tune, for `live` pages; 0 = never.
  virtual uint64_t TuningInterval(uint64_t live) const {
    static_cast<void>(live);
    return 0;
  }
  /// First with what is known when the store is opened, then after every interval.
  virtual void Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) {
    static_cast<void>(inputs);
    static_cast<void>(is_live);
  }

  /// h: the share of live pages that are hot, [0, 1].
  virtual double hot_page_proportion() const = 0;
  virtual size_t memory_bytes() const { return 0; }
};

/// The layouts by name: overwrite, lfs, wolf, hylog.
std::vector<std::string> LayoutNames();
/// InvalidArgument, with the names there are, for another name.
absl::StatusOr<std::unique_ptr<Separator>> NewSeparator(std::string_view layout, Runtime& runtime);

}  // namespace latchkey
