#include "tools/layout_model/model_disk.h"

#include <algorithm>
#include <bit>

#include "layout/geometry.h"
#include "storage/base/status_macros.h"
#include "storage/device/simulated/expected_costs.h"
#include "storage/device/simulated/raid_map.h"

namespace latchkey {
namespace {

using Kind = DeviceSpec::Kind;

double BytesPerMegabyte(Megabyte megabyte) {
  switch (megabyte) {
    case Megabyte::kThesis:
      return 1000 * 1024;
    case Megabyte::kDecimal:
      return 1e6;
    case Megabyte::kBinary:
      break;
  }
  return 1024 * 1024;
}

uint32_t DataDisks(const DeviceSpec& disk) {
  if (!disk.is_array()) return 1;
  return RaidMap(disk.raid, disk.disks, disk.stripe_bytes).data_disks();
}

absl::Status CheckDisk(const DeviceSpec& disk, uint32_t page_bytes) {
  const std::string name = CanonicalDeviceSpec(disk);
  if (!disk.is_simulated() || !disk.takes_time()) {
    return InvalidArgument(
        "{}: the model needs a device that takes time; give the name of a disk, service_ms above "
        "0, or measure one with --measure=FOLDER",
        name);
  }
  if (disk.kind == Kind::kFixed && disk.bytes_per_second == 0) {
    return InvalidArgument(
        "{}: mb_s is 0, so that segments cost no more than pages; give mb_s from 0.001 to 1000000",
        name);
  }
  if (disk.is_array() && disk.disks > 1 && disk.stripe_bytes % page_bytes != 0) {
    return InvalidArgument("{}: stripe_kb is no multiple of the page of {} bytes; give {} or more",
                           name, page_bytes, page_bytes >> 10);
  }
  return absl::OkStatus();
}

absl::Status CheckStripes(const DeviceSpec& disk, uint64_t segment_bytes) {
  const uint64_t full = DataDisks(disk) * disk.stripe_bytes;
  if (!disk.is_array() || disk.raid != RaidLevel::kRaid5 || segment_bytes % full == 0) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "a segment of {} bytes on a raid5 of {} disks: give a segment size that is a multiple of the "
      "full stripe, {} bytes, so that its parity needs no reads",
      segment_bytes, disk.disks, full);
}

// (6.3) on each data disk, from the costs of a page and of a long read.
uint64_t PreferredBytes(const DeviceSpec& disk, uint32_t page_bytes) {
  constexpr uint64_t kLong = 1 << 20;
  const DeviceSpec one = disk.OfOneDisk();
  const ExpectedCosts costs =
      ExpectedCostsOf(one, {.page_bytes = page_bytes, .segment_bytes = kLong});
  const double ns_per_byte = (costs.segment_write_ns - costs.page_write_ns) / (kLong - page_bytes);
  const DiskParameters parameters{
      .positioning_ms = (costs.page_write_ns - page_bytes * ns_per_byte) / kNanosPerMilli,
      .bandwidth_kb_per_ms = kNanosPerMilli / ns_per_byte / 1024};
  const double least = 2.0 * page_bytes / 1024;
  const double unit_kb = NearestPowerOfTwo(std::max(least, PreferredSegmentKb(parameters)));
  const auto unit = static_cast<uint64_t>(unit_kb) << 10;
  return disk.is_array() ? std::max(unit, disk.stripe_bytes) * DataDisks(disk) : unit;
}

// Per page, from the costs of a page and of a whole segment.
PageCosts PageCostsOf(const ExpectedCosts& costs, uint32_t slots) {
  return {
      .page_write_ns = costs.page_write_ns,
      .segment_write_ns = costs.segment_write_ns / slots,
      .segment_read_ns = costs.page_read_ns,
      .page_read_ns = costs.page_read_ns,
      .slot_read_ns = std::max(1e-3, (costs.segment_read_ns - costs.page_read_ns) / (slots - 1)),
      .slots_per_segment = slots};
}

}  // namespace

absl::Status CheckSegment(uint64_t segment_bytes, uint32_t page_bytes, uint64_t most) {
  if (segment_bytes % page_bytes == 0 && segment_bytes >= 2 * uint64_t{page_bytes} &&
      segment_bytes <= most) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "a segment of {} bytes: give a segment size that is a multiple of the page of {} bytes, from "
      "{} to {}",
      segment_bytes, page_bytes, 2 * uint64_t{page_bytes}, most);
}

DeviceSpec AsModelled(const DeviceSpec& disk, Megabyte megabyte) {
  DeviceSpec modelled = disk;
  double megabytes = static_cast<double>(disk.bytes_per_second) / 1e6;
  if (disk.kind == Kind::kMechanical) {
    const MechanicalDiskParameters& mechanics = *disk.mechanics;
    const double printed = mechanics.printed_positioning_ms;
    const double positioning_ms = printed > 0 ? printed : mechanics.positioning_ms();
    modelled.kind = Kind::kFixed;
    modelled.mechanics = nullptr;
    modelled.service = static_cast<Nanos>(positioning_ms * kNanosPerMilli + 0.5);
    megabytes = static_cast<double>(mechanics.bytes_per_second) / 1e6;
  }
  modelled.bytes_per_second = static_cast<uint64_t>(megabytes * BytesPerMegabyte(megabyte) + 0.5);
  return modelled;
}

absl::StatusOr<SegmentCosts> CostsOfDisk(const DeviceSpec& disk, const SegmentQuestion& question) {
  const uint32_t page = question.page_bytes;
  LATCHKEY_RETURN_IF_ERROR(CheckDisk(disk, page));
  const uint64_t bytes =
      question.segment_bytes == 0 ? PreferredBytes(disk, page) : question.segment_bytes;
  LATCHKEY_RETURN_IF_ERROR(CheckSegment(bytes, page, kMostModelSegment));
  LATCHKEY_RETURN_IF_ERROR(CheckStripes(disk, bytes));
  SegmentCosts result{.costs = {}, .segment_bytes = bytes};
  result.costs = PageCostsOf(ExpectedCostsOf(disk, {.page_bytes = page, .segment_bytes = bytes}),
                             static_cast<uint32_t>(bytes / page));
  if (question.protection == ModelProtection::kTwice) {
    result.costs.protection_ns = result.costs.page_write_ns;
  } else if (question.protection == ModelProtection::kDoublewrite) {
    const uint32_t batch = DoublewriteCapacity(page);
    const ExpectedCosts area =
        ExpectedCostsOf(disk, {.page_bytes = page, .segment_bytes = uint64_t{batch} * page});
    result.costs.protection_ns = area.segment_write_ns / batch;
  }
  return result;
}

absl::StatusOr<SegmentCosts> CostsOfRatios(const CostRatios& ratios,
                                           const SegmentQuestion& question) {
  const uint32_t page = question.page_bytes;
  const uint64_t bytes = question.segment_bytes == 0 ? 1 << 20 : question.segment_bytes;
  LATCHKEY_RETURN_IF_ERROR(CheckSegment(bytes, page, kMostModelSegment));
  const double slots = static_cast<double>(bytes) / page;
  if (ratios.eta > slots) {
    return InvalidArgument(
        "ratio: eta is {}, but a segment of {} bytes has {} pages; give eta from 0.01 to {}, or a "
        "larger segment",
        ratios.eta, bytes, slots, slots);
  }
  const double read = ratios.read > 0 ? ratios.read : ratios.eta;
  SegmentCosts result{.costs = {}, .segment_bytes = bytes};
  result.costs = PageCostsOf({.page_read_ns = read,
                              .page_write_ns = ratios.eta,
                              .segment_read_ns = ratios.rho * slots,
                              .segment_write_ns = slots},
                             static_cast<uint32_t>(slots));
  const double transfer = (slots - ratios.eta) / (slots - 1);
  if (question.protection == ModelProtection::kTwice) result.costs.protection_ns = ratios.eta;
  if (question.protection == ModelProtection::kDoublewrite) {
    result.costs.protection_ns = (ratios.eta - transfer) / DoublewriteCapacity(page) + transfer;
  }
  return result;
}

}  // namespace latchkey
