// Creating and opening a log: its file header, and the headers of its segments.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/io_window.h"
#include "storage/wal/log_impl.h"

namespace latchkey {
namespace {

constexpr uint32_t kMaxBuffer = 128u << 20;
constexpr uint64_t kMinSlots = LogGrower::kLeastSlots;

absl::Status CheckBuffer(const LogOptions& options, uint32_t block_bytes) {
  const uint32_t least = Log::LeastBufferBytes(block_bytes);
  if (options.buffer_bytes >= least && options.buffer_bytes <= kMaxBuffer) return absl::OkStatus();
  return InvalidArgument("{}: buffer_bytes {} is outside {}..{}", options.name,
                         options.buffer_bytes, least, kMaxBuffer);
}

absl::Status CheckNewLog(const LogOptions& options) {
  const uint32_t s = options.segment_bytes;
  if (!std::has_single_bit(s) || s < kMinLogSegment || s > kMaxLogSegment) {
    return InvalidArgument("{}: segment_bytes {} is no power of two in {}..{}", options.name, s,
                           kMinLogSegment, kMaxLogSegment);
  }
  const uint64_t least = kLogSegmentsBegin + kMinSlots * s;
  if (options.max_bytes < least || options.max_bytes > uint64_t{1} << 44) {
    return InvalidArgument("{}: max_bytes {} is outside {}..{} (at least {} segments)",
                           options.name, options.max_bytes, least, uint64_t{1} << 44, kMinSlots);
  }
  if (options.initial_bytes > options.max_bytes) {
    return InvalidArgument("{}: initial_bytes {} exceeds max_bytes {}", options.name,
                           options.initial_bytes, options.max_bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckDeviceBlock(const BlockDevice& device, const std::string& name, uint32_t most) {
  const uint32_t block = device.geometry().logical_block;
  if (std::has_single_bit(block) && block <= most) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      "{}: {} wants blocks of {} bytes, the log has blocks of {}; move it to a device "
      "with blocks of at most that size",
      name, device.Describe(), block, most);
}

uint64_t SlotsIn(uint64_t bytes, uint32_t segment_bytes) {
  return bytes < kLogSegmentsBegin ? 0 : (bytes - kLogSegmentsBegin) / segment_bytes;
}

absl::Status RefuseIfLog(BlockDevice& device, const std::string& name) {
  if (device.geometry().size_bytes < kLogSegmentsBegin) return absl::OkStatus();
  AlignedBuffer start(kLogSegmentsBegin);
  LATCHKEY_RETURN_IF_ERROR(device.Read(0, start.span(), IoClass::kMeta));
  if (!HasLogMagic(start.data()) && !HasLogMagic(start.data() + kLogHeaderCopyBytes)) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kAlreadyExists,
                    "{}: {} holds a log already; open it, or remove it first", name,
                    device.Describe());
}

struct FoundHeader {
  LogFileHeader header;
  uint64_t copy;  // its offset
};

absl::StatusOr<FoundHeader> ReadFileHeader(BlockDevice& device, const std::string& name) {
  const auto not_a_log = [&] {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "{}: {} is not a log of Latchkey, or its beginning is lost; put the right file "
        "there, restore the database from a backup, or salvage it",
        name, device.Describe());
  };
  if (device.geometry().size_bytes < kLogSegmentsBegin) return not_a_log();
  AlignedBuffer start(kLogSegmentsBegin);
  // Each by itself: the device may refuse to read one of them.
  absl::Status read;
  for (const uint64_t copy : {uint64_t{0}, kLogHeaderCopyBytes}) {
    read.Update(device.Read(copy, start.span().subspan(copy, kLogHeaderCopyBytes), IoClass::kMeta));
  }
  const auto first = DecodeLogFileHeader(start.data());
  const auto second = DecodeLogFileHeader(start.data() + kLogHeaderCopyBytes);
  // They differ if a crash came between the two writes of a growth. The grown space exists then.
  if (second && (!first || second->slots > first->slots)) {
    return FoundHeader{*second, kLogHeaderCopyBytes};
  }
  if (first) return FoundHeader{*first, 0};
  LATCHKEY_RETURN_IF_ERROR(read);
  if (!HasLogMagic(start.data()) && !HasLogMagic(start.data() + kLogHeaderCopyBytes)) {
    return not_a_log();
  }
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "{}: both copies of the header of {} are damaged; restore the database from a "
                    "backup, or salvage it",
                    name, device.Describe());
}

absl::Status CheckFileHeader(const LogFileHeader& header, const LogOptions& options) {
  if (header.version > kLogFormatVersion || (header.incompatible & ~kLogKnownIncompatible) != 0) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: written in format {} with features {:#x}, this version reads formats up "
                      "to {} with features {:#x}; use a newer version",
                      options.name, header.version, header.incompatible, kLogFormatVersion,
                      kLogKnownIncompatible);
  }
  if (header.database_id != options.database_id) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: belongs to database {:016x}, not to {:016x}; put the database's own log "
                      "back",
                      options.name, header.database_id, options.database_id);
  }
  const bool is_sound =
      std::has_single_bit(header.segment_bytes) && header.segment_bytes >= kMinLogSegment &&
      header.segment_bytes <= kMaxLogSegment && std::has_single_bit(header.block_bytes) &&
      header.block_bytes >= kMinLogBlock && header.block_bytes <= kMaxLogBlock;
  if (is_sound) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "{}: its header says segments of {} and blocks of {} bytes, which no log has",
                    options.name, header.segment_bytes, header.block_bytes);
}

absl::Status CheckSize(BlockDevice& device, const LogFileHeader& header, const std::string& name) {
  const uint64_t size = device.geometry().size_bytes;
  const uint64_t slots = SlotsIn(size, header.segment_bytes);
  if (slots >= header.slots && header.slots >= kMinSlots && header.slots <= UINT32_MAX) {
    return absl::OkStatus();
  }
  return MakeStatus(
      absl::StatusCode::kDataLoss,
      "{}: {} of {} bytes holds {} of its {} segments: it has been cut short; restore "
      "the database from a backup, or salvage it",
      name, device.Describe(), size, slots, header.slots);
}

absl::Status AddSlot(LogMedium& medium, uint32_t slot, const std::byte* block) {
  const auto header = DecodeSegmentHeader(block, medium.database_id, slot);
  SpinLatchGuard guard(medium.latch, medium.runtime);
  if (!header || header->index == kFreeSegment) {
    medium.table.AddFree(slot, /*is_damaged=*/!header);
  } else if (!medium.table.AddMapped(slot, header->index)) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{}: two of its segments claim to hold segment {} of the log; restore the "
                      "database from a backup, or salvage it",
                      medium.name, header->index);
  }
  return absl::OkStatus();
}

// Reads the headers of slots [first, first + count) into `blocks`, many at once if there are many.
absl::Status ReadHeaders(LogMedium& medium, uint32_t first, uint32_t count,
                         std::span<std::byte> blocks) {
  const uint32_t block = medium.geometry.block_bytes;
  constexpr uint32_t kFew = 8;  // a queue costs more than it gains
  std::unique_ptr<IoQueue> queue;
  if (count > kFew) {
    if (auto made = medium.device->NewQueue(count); made.ok()) queue = *std::move(made);
  }
  if (queue != nullptr) {
    IoWindow<int> window(count);
    uint32_t at = 0;
    absl::Status status;
    window.Run(
        *queue,
        [&](IoRequest& request) {
          if (at == count) return false;
          request.op = IoRequest::Op::kRead;
          request.io_class = IoClass::kMeta;
          request.offset = medium.geometry.SlotOffset(first + at);
          request.length = block;
          request.buffer = blocks.data() + size_t{at} * block;
          ++at;
          return true;
        },
        [&](const IoRequest& request, int) { status.Update(request.status); });
    // Otherwise one by one: that may succeed, and tells the error.
    if (status.ok()) return status;
  }
  for (uint32_t i = 0; i < count; ++i) {
    LATCHKEY_RETURN_IF_ERROR(medium.device->Read(medium.geometry.SlotOffset(first + i),
                                                 blocks.subspan(size_t{i} * block, block),
                                                 IoClass::kMeta));
  }
  return absl::OkStatus();
}

absl::Status ReadSegmentHeaders(LogMedium& medium, uint64_t slots) {
  constexpr uint64_t kAtOnce = 64;
  const uint32_t block = medium.geometry.block_bytes;
  AlignedBuffer blocks(std::min(kAtOnce, slots) * block);
  for (uint64_t first = 0; first < slots; first += kAtOnce) {
    const auto count = static_cast<uint32_t>(std::min(kAtOnce, slots - first));
    LATCHKEY_RETURN_IF_ERROR(
        ReadHeaders(medium, static_cast<uint32_t>(first), count, blocks.span()));
    for (uint32_t i = 0; i < count; ++i) {
      LATCHKEY_RETURN_IF_ERROR(
          AddSlot(medium, static_cast<uint32_t>(first) + i, blocks.data() + size_t{i} * block));
    }
  }
  return absl::OkStatus();
}

// A segment gets a slot only after the file header that counts the slot is durable. So behind the
// counted slots there are only free ones, from a growth that a crash interrupted.
absl::Status RefuseOutgrownHeader(LogMedium& medium, uint64_t slots) {
  const uint64_t on_device =
      SlotsIn(medium.device->geometry().size_bytes, medium.geometry.segment_bytes);
  AlignedBuffer block(medium.geometry.block_bytes);
  for (uint64_t slot = slots; slot < on_device; ++slot) {
    LATCHKEY_RETURN_IF_ERROR(
        medium.device->Read(medium.geometry.SlotOffset(slot), block.span(), IoClass::kMeta));
    const auto header =
        DecodeSegmentHeader(block.data(), medium.database_id, static_cast<uint32_t>(slot));
    if (!header) break;
    if (header->index == kFreeSegment) continue;
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{}: its header counts {} segments, and a later one is in use: the header is "
                      "an older copy, and committed changes would be lost; restore the database "
                      "from a backup, or salvage it",
                      medium.name, slots);
  }
  return absl::OkStatus();
}

void AddFreeSlots(LogMedium& medium, uint64_t slots) {
  SpinLatchGuard guard(medium.latch, medium.runtime);
  for (uint32_t slot = 0; slot < slots; ++slot) medium.table.AddFree(slot);
}

std::unique_ptr<LogMedium> NewMedium(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                     const LogOptions& options, LogGeometry geometry) {
  auto medium = std::make_unique<LogMedium>(runtime, std::move(device));
  medium->geometry = geometry;
  medium->database_id = options.database_id;
  medium->name = options.name;
  medium->sync_latencies = options.sync_latencies;
  return medium;
}

}  // namespace

absl::Status WriteFileHeader(LogMedium& medium, uint64_t slots) {
  AlignedBuffer block(kLogHeaderCopyBytes);
  return WriteFileHeader(medium, slots, block.span());
}

namespace {

// `each_synced`: the second copy is written only when the first one is durable.
absl::Status WriteFileHeader(LogMedium& medium, uint64_t slots, std::span<std::byte> block,
                             bool each_synced) {
  EncodeLogFileHeader({.database_id = medium.database_id,
                       .segment_bytes = medium.geometry.segment_bytes,
                       .block_bytes = medium.geometry.block_bytes,
                       .slots = slots},
                      block.data());
  // The valid copy is the last: a crash may leave garbage in the one that is being written.
  for (const uint64_t copy : {kLogHeaderCopyBytes - medium.valid_header, medium.valid_header}) {
    LATCHKEY_RETURN_IF_ERROR(medium.device->Write(copy, block, IoClass::kMeta));
    if (each_synced) LATCHKEY_RETURN_IF_ERROR(medium.device->Sync());
  }
  return each_synced ? absl::OkStatus() : medium.device->Sync();
}

}  // namespace

absl::Status WriteFileHeader(LogMedium& medium, uint64_t slots, std::span<std::byte> block) {
  return WriteFileHeader(medium, slots, block, /*each_synced=*/true);
}

absl::Status WriteFreeHeaders(LogMedium& medium, uint64_t first, uint64_t count) {
  AlignedBuffer block(medium.geometry.block_bytes);
  for (uint64_t slot = first; slot < first + count; ++slot) {
    LATCHKEY_RETURN_IF_ERROR(WriteFreeHeader(medium, slot, block.span()));
  }
  return absl::OkStatus();
}

absl::Status WriteFreeHeader(LogMedium& medium, uint64_t slot, std::span<std::byte> block) {
  EncodeSegmentHeader({.slot = static_cast<uint32_t>(slot)}, medium.database_id, block.data());
  return medium.device->Write(medium.geometry.SlotOffset(slot), block, IoClass::kMeta);
}

absl::StatusOr<std::unique_ptr<Log>> CreateLog(Runtime& runtime,
                                               std::unique_ptr<BlockDevice> device,
                                               const LogOptions& options) {
  LATCHKEY_RETURN_IF_ERROR(CheckNewLog(options));
  LATCHKEY_RETURN_IF_ERROR(CheckDeviceBlock(*device, options.name, kMaxLogBlock));
  LATCHKEY_RETURN_IF_ERROR(RefuseIfLog(*device, options.name));
  const LogGeometry geometry{
      .segment_bytes = options.segment_bytes,
      .block_bytes = std::max(kMinLogBlock, device->geometry().logical_block)};
  LATCHKEY_RETURN_IF_ERROR(CheckBuffer(options, geometry.block_bytes));
  const uint64_t bytes = std::max(options.initial_bytes, device->geometry().size_bytes);
  const uint64_t slots =
      std::max(kMinSlots, SlotsIn(std::min(bytes, options.max_bytes), options.segment_bytes));
  auto medium = NewMedium(runtime, std::move(device), options, geometry);
  if (medium->device->geometry().size_bytes < geometry.SlotOffset(slots)) {
    LATCHKEY_RETURN_IF_ERROR(medium->device->Resize(geometry.SlotOffset(slots)));
  }
  LATCHKEY_RETURN_IF_ERROR(WriteFreeHeaders(*medium, 0, slots));
  // Until the return nothing depends on the new log, so one sync serves all headers.
  AlignedBuffer block(kLogHeaderCopyBytes);
  LATCHKEY_RETURN_IF_ERROR(WriteFileHeader(*medium, slots, block.span(), /*each_synced=*/false));
  AddFreeSlots(*medium, slots);
  return std::make_unique<LogImpl>(std::move(medium), options, /*is_new=*/true);
}

absl::StatusOr<std::unique_ptr<Log>> OpenLog(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                             const LogOptions& options) {
  LATCHKEY_ASSIGN_OR_RETURN(const FoundHeader found, ReadFileHeader(*device, options.name));
  const LogFileHeader& header = found.header;
  LATCHKEY_RETURN_IF_ERROR(CheckFileHeader(header, options));
  LATCHKEY_RETURN_IF_ERROR(CheckDeviceBlock(*device, options.name, header.block_bytes));
  // The log may come from a device with larger blocks.
  LogOptions opened = options;
  opened.buffer_bytes = std::max(options.buffer_bytes, Log::LeastBufferBytes(header.block_bytes));
  LATCHKEY_RETURN_IF_ERROR(CheckBuffer(opened, header.block_bytes));
  LATCHKEY_RETURN_IF_ERROR(CheckSize(*device, header, options.name));
  auto medium =
      NewMedium(runtime, std::move(device), options,
                {.segment_bytes = header.segment_bytes, .block_bytes = header.block_bytes});
  medium->valid_header = found.copy;
  LATCHKEY_RETURN_IF_ERROR(ReadSegmentHeaders(*medium, header.slots));
  LATCHKEY_RETURN_IF_ERROR(RefuseOutgrownHeader(*medium, header.slots));
  return std::make_unique<LogImpl>(std::move(medium), opened, /*is_new=*/false);
}

}  // namespace latchkey
