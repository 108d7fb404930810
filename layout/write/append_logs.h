// The list of append logs. A log fills one segment after the other, so an open log keeps one segment
// and one segment buffer.
//
// Pages that the segment cleaner moves go to logs of their own, apart from user writes of the same
// kind (LAYOUT_REFERENCE 6.10). Of each there are several *streams*: the pages of one stream are
// expected to be written again at about the same time, soonest in the first one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/map/segment_table.h"

namespace latchkey {

struct AppendLog {
  SegmentKind kind;
  bool of_cleaner;
};

/// One line per log; streams of one kind and owner in their order.
inline constexpr AppendLog kAppendLogs[] = {
    {SegmentKind::kHot, false},   //
    {SegmentKind::kHot, false},   //
    {SegmentKind::kHot, false},   //
    {SegmentKind::kHot, false},   //
    {SegmentKind::kCold, false},  //
    {SegmentKind::kHot, true},    //
    {SegmentKind::kHot, true},    //
    {SegmentKind::kHot, true},    //
    {SegmentKind::kHot, true},    //
    {SegmentKind::kHot, true},    //
    {SegmentKind::kCold, true},
};
inline constexpr size_t kLogs = std::size(kAppendLogs);

/// Index into kAppendLogs.
enum class LogId : uint8_t {};
constexpr const AppendLog& InfoOf(LogId log) { return kAppendLogs[static_cast<size_t>(log)]; }

/// The number of streams of that kind and owner.
constexpr uint32_t StreamsOf(SegmentKind kind, bool of_cleaner) {
  uint32_t count = 0;
  for (const AppendLog& log : kAppendLogs)
    count += log.kind == kind && log.of_cleaner == of_cleaner;
  return count;
}
/// The log of a stream, 0 to StreamsOf() - 1.
constexpr LogId LogOf(SegmentKind kind, bool of_cleaner, uint32_t stream) {
  uint8_t log = 0;
  for (; log + 1u < kLogs; ++log) {
    if (kAppendLogs[log].kind != kind || kAppendLogs[log].of_cleaner != of_cleaner) continue;
    if (stream-- == 0) break;
  }
  return LogId{log};
}
static_assert(StreamsOf(SegmentKind::kCold, false) == 1 &&
              StreamsOf(SegmentKind::kCold, true) == 1);

/// The logs of users, or those of the cleaner.
template <bool kOfCleaner>
constexpr auto LogsOf() {
  constexpr size_t kCount =
      StreamsOf(SegmentKind::kHot, kOfCleaner) + StreamsOf(SegmentKind::kCold, kOfCleaner);
  std::array<LogId, kCount> logs{};
  size_t next = 0;
  for (uint8_t i = 0; i < kLogs; ++i) {
    if (kAppendLogs[i].of_cleaner == kOfCleaner) logs[next++] = LogId{i};
  }
  return logs;
}
inline constexpr uint32_t kUserStreams = StreamsOf(SegmentKind::kHot, false);
inline constexpr uint32_t kMovedStreams = StreamsOf(SegmentKind::kHot, true);
inline constexpr auto kUserLogs = LogsOf<false>();
inline constexpr auto kCleanerLogs = LogsOf<true>();

}  // namespace latchkey
