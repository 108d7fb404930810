// The rules for requests on every device, checked in one place.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "storage/device/block_device.h"

namespace latchkey {

/// The largest depth that NewQueue accepts.
inline constexpr uint32_t kMaxQueueDepth = 1024;

namespace internal {
absl::Status RefuseRequest(const DeviceGeometry& geometry, std::string_view device, uint64_t offset,
                           uint64_t length, const void* buffer);
}  // namespace internal

/// OK, or the reason for which the device named `device` refuses the request: InvalidArgument
/// (alignment, length 0) or OutOfRange (beyond the end).
inline absl::Status CheckRequest(const DeviceGeometry& geometry, std::string_view device,
                                 uint64_t offset, uint64_t length, const void* buffer) {
  const uint64_t misaligned =
      (offset | length | reinterpret_cast<uintptr_t>(buffer)) & (geometry.logical_block - 1);
  const bool inside = length <= geometry.size_bytes && offset <= geometry.size_bytes - length;
  if (__builtin_expect(misaligned == 0 && length > 0 && inside, 1)) return absl::OkStatus();
  return internal::RefuseRequest(geometry, device, offset, length, buffer);
}

/// InvalidArgument unless `depth` is 1..kMaxQueueDepth.
absl::Status CheckQueueDepth(uint32_t depth);

/// InvalidArgument unless `size_bytes` is a multiple of the logical block.
absl::Status CheckNewSize(const DeviceGeometry& geometry, std::string_view device,
                          uint64_t size_bytes);

}  // namespace latchkey
