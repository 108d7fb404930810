#include "storage/device/simulated/flash_medium.h"

#include <fmt/format.h>

#include <algorithm>

namespace latchkey {
namespace {

constexpr uint64_t kPage = FlashTranslation::kPageBytes;

// 10^6 bytes/s are bytes per microsecond.
double TransferNanos(uint64_t length, double mb_per_s) {
  return static_cast<double>(length) / mb_per_s * kNanosPerMicro;
}

}  // namespace

double FlashParameters::OccupancyNanos(IoRequest::Op op, uint64_t length) const {
  const bool read = op == IoRequest::Op::kRead;
  return (read ? read_us : write_us) * kNanosPerMicro / parallel +
         TransferNanos(length, read ? read_mb_per_s : write_mb_per_s);
}

double FlashParameters::MoveNanos() const {
  return TransferNanos(kPage, read_mb_per_s) + TransferNanos(kPage, write_mb_per_s);
}

FlashMedium::FlashMedium(const FlashParameters& parameters)
    : parameters_(parameters),
      translation_({.pages_per_unit = static_cast<uint32_t>((parameters.erase_kb << 10) / kPage),
                    .spare = parameters.spare,
                    .streams = parameters.streams}) {}

Nanos FlashMedium::Occupancy(const MediumIo& io) {
  double nanos = parameters_.OccupancyNanos(io.op, io.length);
  if (io.op == IoRequest::Op::kWrite) {
    // A part of a page is written as the whole page.
    const uint64_t first = io.offset / kPage;
    const uint64_t pages = (io.offset + io.length - 1) / kPage - first + 1;
    const FlashWork work = translation_.Write(first, pages, io.stream % parameters_.streams);
    totals_.stats.host_pages_written += pages;
    totals_.stats.moved_pages += work.moved_pages;
    totals_.stats.erases += work.erases;
    const double moving = static_cast<double>(work.moved_pages) * parameters_.MoveNanos();
    totals_.collection[static_cast<size_t>(io.io_class)] += static_cast<Nanos>(moving);
    nanos += moving;
  }
  return static_cast<Nanos>(nanos + 0.5);
}

void FlashMedium::Start(Nanos now, MediumRequest& request) {
  const MediumIo& io = request.io;
  const bool read = io.op == IoRequest::Op::kRead;
  const Nanos start = std::max(free_at_, now), occupancy = Occupancy(io);
  const double latency_us = read ? parameters_.read_us : parameters_.write_us;
  const double rest = latency_us * kNanosPerMicro * (1 - 1.0 / parameters_.parallel);
  free_at_ = start + occupancy;
  request.done_at = free_at_ + static_cast<Nanos>(rest + 0.5);

  MediumStats& stats = totals_.stats;
  const bool sequential = io.offset == position_;
  position_ = io.offset + io.length;
  DiskIoStats& kind = read ? (sequential ? stats.sequential_reads : stats.random_reads)
                           : (sequential ? stats.sequential_writes : stats.random_writes);
  ++kind.requests;
  kind.bytes += io.length;
  kind.service += occupancy;
  stats.queued += start - std::min(start, now);
  stats.transfer += occupancy;
  totals_.service[static_cast<size_t>(io.io_class)] += occupancy;
}

std::optional<double> FlashAmplification(const MediumStats& from, const MediumStats& to) {
  MediumStats between;
  between.host_pages_written = to.host_pages_written - from.host_pages_written;
  between.moved_pages = to.moved_pages - from.moved_pages;
  if (between.host_pages_written == 0) return std::nullopt;
  return between.write_amplification();
}

void FlashMedium::Resize(uint64_t size_bytes) {
  translation_.Resize((size_bytes + kPage - 1) / kPage);
}

void FlashMedium::Discard(uint64_t offset, uint64_t length) {
  const uint64_t first = (offset + kPage - 1) / kPage, end = (offset + length) / kPage;
  if (first < end) totals_.stats.discarded_pages += translation_.Discard(first, end - first);
}

// Pages and slots have 32-bit numbers; a quarter of them leaves room for the spare units.
uint64_t FlashMedium::capacity_bytes() const { return (uint64_t{1} << 30) * kPage; }

std::string FlashMedium::Describe() const {
  return fmt::format("flash: read {} us, write {} us, {} and {} MB/s, {} at once",
                     parameters_.read_us, parameters_.write_us, parameters_.read_mb_per_s,
                     parameters_.write_mb_per_s, parameters_.parallel);
}

}  // namespace latchkey
