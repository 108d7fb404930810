#include "storage/device/request_check.h"

#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status internal::RefuseRequest(const DeviceGeometry& geometry, std::string_view device,
                                     uint64_t offset, uint64_t length, const void* buffer) {
  const uint32_t block = geometry.logical_block;
  if (length == 0) {
    return InvalidArgument(
        "\"{}\": a request at offset {} has length 0; use a multiple of {} bytes", device, offset,
        block);
  }
  if (((offset | length | reinterpret_cast<uintptr_t>(buffer)) & (block - 1)) != 0) {
    return InvalidArgument(
        "\"{}\": offset {}, length {} and buffer address {} must be multiples of {} bytes; take "
        "the "
        "memory from an AlignedBuffer",
        device, offset, length, fmt::ptr(buffer), block);
  }
  return MakeStatus(
      absl::StatusCode::kOutOfRange,
      "\"{}\": {} bytes at offset {} lie beyond the end at {}; resize the device first", device,
      length, offset, geometry.size_bytes);
}

absl::Status CheckQueueDepth(uint32_t depth) {
  if (depth >= 1 && depth <= kMaxQueueDepth) return absl::OkStatus();
  return InvalidArgument("queue depth {} is outside 1..{}", depth, kMaxQueueDepth);
}

absl::Status CheckNewSize(const DeviceGeometry& geometry, std::string_view device,
                          uint64_t size_bytes) {
  if (size_bytes % geometry.logical_block == 0) return absl::OkStatus();
  return InvalidArgument("\"{}\": size {} is not a multiple of {} bytes", device, size_bytes,
                         geometry.logical_block);
}

}  // namespace latchkey
