// Divides appended pages among the streams of append logs, by the death times of their pages.
//
// Users mostly write pages that are written often, and the cleaner mostly moves those that are not.
// So the last stream of users takes all rarer pages, and the first one of moved pages all more
// frequent ones. An open log keeps part of a segment free, so a file of few segments has fewer
// streams: all open logs together keep at most a kSlackShare-th of the slots without a page. On flash,
// users have at most as many streams as the device, and so have moved pages.
#pragma once

#include <algorithm>
#include <cstdint>

#include "layout/map/page_directory.h"
#include "layout/separate/death_times.h"
#include "layout/write/append_logs.h"

namespace latchkey {

/// Thread-safe.
class StreamChoice {
 public:
  static constexpr uint64_t kSlackShare = 8;
  /// Logs that the streams add to one stream of users and one of the cleaner.
  static constexpr uint32_t kFurtherLogs = kUserStreams - 1 + kMovedStreams - 1;

  /// `death_times` nullptr: one stream. `further_logs`: more logs than that have no buffer.
  StreamChoice(const PageDirectory& directory, const DeathTimes* death_times, uint32_t further_logs)
      : directory_(directory),
        death_times_(death_times),
        further_logs_(std::min(further_logs, kFurtherLogs)),
        most_streams_(MostStreamsOn(directory.core().device.geometry())) {}

  /// A flush writes the filled part of each open segment. Flash puts writes of one device stream into
  /// the same erase unit, in the order of their arrival. With more logs than device streams a unit gets
  /// parts of several segments. These die at different times, and flash must move what still lives.
  static uint32_t MostStreamsOn(const DeviceGeometry& device) {
    return device.erase_unit_bytes == 0 ? UINT32_MAX : std::max(1u, device.write_streams);
  }

  bool divides() const { return death_times_ != nullptr; }
  /// The stream of a page that a user writes.
  uint32_t OfWrite(PageId id) const {
    if (!divides()) return 0;
    const uint32_t stream = std::min(death_times_->ClassOf(id), kUserStreams - 1);
    return stream * OpenOf(kUserStreams) / kUserStreams;
  }
  /// The stream of a page that the cleaner moves.
  uint32_t OfMove(PageId id) const {
    if (!divides()) return 0;
    constexpr uint32_t kFirst = DeathTimes::kClasses - kMovedStreams;
    const uint32_t stream = std::max(death_times_->ClassOf(id), kFirst) - kFirst;
    return stream * OpenOf(kMovedStreams) / kMovedStreams;
  }

 private:
  // How many of `streams` are in use now.
  uint32_t OpenOf(uint32_t streams) const {
    const uint64_t slots = directory_.core().geometry.slots_per_segment;
    const uint64_t total = directory_.segments().total() * slots;
    const uint64_t slack = total - std::min(total, directory_.live_slots());
    const uint64_t room = std::min<uint64_t>(further_logs_, slack / slots / kSlackShare);
    const auto open = 1 + static_cast<uint32_t>(room * (streams - 1) / kFurtherLogs);
    return std::min(open, most_streams_);
  }

  const PageDirectory& directory_;
  const DeathTimes* const death_times_;
  const uint32_t further_logs_;
  const uint32_t most_streams_;
};

}  // namespace latchkey
