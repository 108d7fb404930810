// Cleaning controllers: a controller sets the number of asynchronous page writes that each page
// cleaner keeps outstanding.
//
// If an actor needs a frame and the victim is dirty, the actor waits for a synchronous write. Page
// cleaners write dirty pages before they become victims, so that this stays rare. Too little
// cleaning makes actors wait; too much cleaning writes pages that will be changed again. The
// self-tuning controller (thesis 4.4, equation 4.1) adjusts N, the number of outstanding writes, a
// real number. Its aim: w_o, the share of synchronous writes among page I/Os, stays at a small
// target w_d:
//
//     N <- max(1, N + gain * (w_o - w_d))        at the end of every adjustment interval
//
// A rule of our own, demand, knows how long writes take. Little's law says how many writes must be
// outstanding so that cleaners write as many pages as become victims dirty:
//
//     needed = (synchronous + asynchronous writes) / interval * mean time of a cleaner's write
//
// If w_o is above its target, N goes to what is needed at once, and by at least a quarter, at most
// to its double. Otherwise N sinks towards 1.5 times what is needed, by 1/16 of the difference an
// interval. All cleaners together keep at most `queue` writes outstanding for each disk that is busy,
// but each cleaner at least one: users wait in the same queue. As many disks are busy as the device
// makes page I/Os in the time of the shortest write. Where service times differ, as on disks with
// arms, that is too few. Where a write waits for others, in a doublewrite batch or a segment, it is
// too many.
//
// Deviations of self-tuning from the thesis: N is capped (kMaxOutstandingWrites), because w_o stays above the
// target if the device cannot keep up; and an interval without I/O does not change N.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "storage/base/registry.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The most outstanding writes per cleaner that any controller asks for.
inline constexpr uint32_t kMaxOutstandingWrites = 256;

/// Page I/Os since the start, as the pool counts them: pages handed to the PageStore, not segments.
struct CleaningCounters {
  uint64_t page_reads = 0;
  uint64_t synchronous_writes = 0;   ///< by an actor that needed the frame and waited
  uint64_t asynchronous_writes = 0;  ///< by page cleaners and checkpoints

  Nanos now = 0;  ///< of the runtime's clock
  uint32_t cleaners = 1;
  uint64_t written = 0;             ///< writes of page cleaners that are on the device
  Nanos write_time = 0;             ///< of these together, from acceptance to the device
  Nanos shortest_write = kForever;  ///< of these

  uint64_t page_ios() const { return page_reads + synchronous_writes + asynchronous_writes; }
};

/// Thread-safety: one actor at a time calls OnIntervalEnd; any actor calls outstanding_writes.
class CleaningController {
 public:
  virtual ~CleaningController() = default;

  /// Adjusts the controller by the difference between `totals` and those of the last call (first
  /// call: zero). `totals` never decrease.
  virtual void OnIntervalEnd(const CleaningCounters& totals) = 0;
  /// Outstanding writes for each page cleaner now, 1 to kMaxOutstandingWrites.
  virtual uint32_t outstanding_writes() const = 0;
  /// The most that outstanding_writes() will ever return.
  virtual uint32_t most_outstanding_writes() const { return kMaxOutstandingWrites; }
  /// Nanoseconds between calls of OnIntervalEnd; 0: no calls are needed.
  virtual Nanos interval() const = 0;
};

/// One controller of the list.
struct CleaningControllerInfo {
  ChoiceDescription description;
  std::unique_ptr<CleaningController> (*make)(std::span<const double> parameters);
};

/// The list of cleaning controllers: `fixed:N` (default 1) and
/// `self-tuning[:target=0.05:gain=7.5:interval=1s]`, `demand[:target=0.05:queue=8:interval=100ms]`.
/// To add one: its class and one line in cleaning_controller.cc.
const Registry<CleaningControllerInfo>& CleaningControllers();
using CleaningControllerChoice = Choice<CleaningControllerInfo>;

}  // namespace latchkey
