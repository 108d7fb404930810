#include "layout/separate/service_times.h"

#include <algorithm>

namespace latchkey {
namespace {

// Totals in a window, and so the part of kRecentRequests by which a mean may span too much.
constexpr uint64_t kSteps = 16;

Nanos ServiceOf(const IoClassStats& of_class) {
  return of_class.service > 0 ? of_class.service : of_class.busy;
}

}  // namespace

ServiceTimes::ServiceTimes(uint32_t disks, uint32_t page_size)
    : disks_(std::max(1u, disks)), page_size_(page_size) {
  for (Window* window : {&pages_, &segments_}) window->reserve(kSteps + 2);
}

ServiceTimes::Totals ServiceTimes::TotalsOf(const DeviceStats& stats, IoClass io_class) {
  const IoClassStats& of_class = stats.of(io_class);
  return {of_class.requests, of_class.bytes, ServiceOf(of_class)};
}

void ServiceTimes::Note(const DeviceStats& stats) {
  NoteIn(pages_, TotalsOf(stats, IoClass::kPageWrite));
  NoteIn(segments_, TotalsOf(stats, IoClass::kSegmentWrite));
}

void ServiceTimes::NoteIn(Window& window, const Totals& now) {
  // The newest one moves on until it is a step ahead of the one before.
  const bool moves = window.size() >= 2 &&
                     now.requests - window[window.size() - 2].requests < kRecentRequests / kSteps;
  if (moves) window.pop_back();
  // The oldest goes as soon as the window without it spans the recent requests.
  while (window.size() >= 2 && now.requests - window[1].requests >= kRecentRequests) {
    window.erase(window.begin());
  }
  window.push_back(now);
}

double ServiceTimes::MeanOf(const Window& window) const {
  if (window.empty()) return 0;
  // Of a single moment: since the device was opened.
  const Totals from = window.size() == 1 ? Totals{} : window.front();
  const uint64_t bytes = window.back().bytes - from.bytes;
  if (bytes == 0) return 0;
  return static_cast<double>(window.back().service - from.service) * page_size_ /
         static_cast<double>(bytes);
}

Nanos ServiceTimes::Busy(const DeviceStats& stats) const {
  Nanos busy = 0;
  for (const IoClassStats& of_class : stats.by_class) busy += ServiceOf(of_class);
  return busy;
}

double ServiceTimes::TakeIdle(const DeviceStats& stats, Nanos now) {
  const Nanos busy = Busy(stats);
  const double time = static_cast<double>(now - idle_since_) * disks_;
  const double share = time > 0 ? static_cast<double>(busy - busy_then_) / time : 1;
  idle_since_ = now;
  busy_then_ = busy;
  return std::clamp(1 - share, 0.0, 0.99);
}

}  // namespace latchkey
