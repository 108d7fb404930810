// Cleaning controllers: how many asynchronous page writes each page cleaner keeps outstanding.
//
// A user who needs a frame and gets a dirty one waits for a synchronous write; page cleaners write
// ahead of need so that this stays rare. Too little cleaning makes users wait, too much writes
// pages that would have been changed again. The self-tuning controller (thesis 4.4, equation 4.1)
// holds the proportion of synchronous writes w_o at a small target w_d by a real number N of
// outstanding writes:
//
//     N <- max(1, N + gain * (w_o - w_d))        at the end of every adjustment interval
//
// Deviations from the thesis: N is capped (kMaxOutstandingWrites), since w_o stays above the target
// for ever where the device cannot keep up, and an interval without any I/O leaves N as it is.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bufferpool/policy_spec.h"

namespace latchkey {

/// The most outstanding writes per cleaner that any controller asks for.
inline constexpr uint32_t kMaxOutstandingWrites = 256;

/// Page I/Os since the start, as the pool counts them: pages handed to the PageStore, not segments.
struct CleaningCounters {
  uint64_t page_reads = 0;
  uint64_t synchronous_writes = 0;   ///< waited for by a user who needed the frame
  uint64_t asynchronous_writes = 0;  ///< by page cleaners
};

/// Thread-safety: OnIntervalEnd from one actor at a time; outstanding_writes from any.
class CleaningController {
 public:
  virtual ~CleaningController() = default;

  /// `totals` never decrease; the controller works on the difference from the last call, the first
  /// time from zero.
  virtual void OnIntervalEnd(const CleaningCounters& totals) = 0;
  /// Outstanding writes for each page cleaner now, 1 to kMaxOutstandingWrites.
  virtual uint32_t outstanding_writes() const = 0;
  /// Milliseconds between calls of OnIntervalEnd; 0 = it need never be called.
  virtual uint32_t interval_ms() const = 0;
};

/// One controller of the list.
struct CleaningControllerInfo {
  PolicyDescription description;
  std::unique_ptr<CleaningController> (*make)(std::span<const double> parameters);
};

/// All of them: `fixed:N` (default 1) and `self-tuning[:target=0.05:gain=7.5:interval_ms=1000]`. To
/// add one: its class and one line in cleaning_controller.cc.
std::span<const CleaningControllerInfo> CleaningControllers();

/// InvalidArgument for unknown names, parameters or values (see ParsePolicy).
absl::StatusOr<std::unique_ptr<CleaningController>> MakeCleaningController(std::string_view item);

/// The item with every parameter spelled out: what results echo. InvalidArgument as above.
absl::StatusOr<std::string> CanonicalCleaningController(std::string_view item);

}  // namespace latchkey
