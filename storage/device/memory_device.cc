#include "storage/device/memory_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/racy_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"
#include "storage/device/request_check.h"

namespace latchkey {
namespace {

constexpr uint32_t kLogicalBlock = 512;
constexpr uint64_t kHostPage = 4096;

absl::Status BeyondLimit(const MemoryDeviceOptions& options, uint64_t size_bytes) {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "\"{}\": {} bytes exceed the capacity limit of {} bytes; raise "
                    "capacity_limit_bytes",
                    options.name, size_bytes, options.capacity_limit_bytes);
}

}  // namespace

// Executes requests at submission; Wait only hands over the results.
class MemoryDevice::Queue final : public IoQueue {
 public:
  Queue(MemoryDevice& device, uint32_t depth) : device_(device), depth_(depth) {
    finished_.reserve(depth);
  }
  ~Queue() override { LATCHKEY_CHECK(finished_.empty()); }

  void Submit(std::span<IoRequest* const> requests) override {
    LATCHKEY_CHECK(finished_.size() + requests.size() <= depth_);
    for (IoRequest* r : requests) {
      r->status = device_.Transfer(r->op, r->offset, r->buffer, r->length, r->io_class);
      finished_.push_back(r);
    }
  }
  void Wait(size_t /*min_completions*/, std::vector<IoRequest*>& completed) override {
    completed.insert(completed.end(), finished_.begin(), finished_.end());
    finished_.clear();
  }
  size_t in_flight() const override { return finished_.size(); }

 private:
  MemoryDevice& device_;
  const uint32_t depth_;
  std::vector<IoRequest*> finished_;
};

absl::StatusOr<std::unique_ptr<MemoryDevice>> MemoryDevice::Create(
    Runtime& runtime, const MemoryDeviceOptions& options) {
  LATCHKEY_RETURN_IF_ERROR(
      CheckNewSize({.logical_block = kLogicalBlock}, options.name, options.size_bytes));
  if (options.size_bytes > options.capacity_limit_bytes) {
    return BeyondLimit(options, options.size_bytes);
  }
  const uint64_t reserve = std::max(options.capacity_limit_bytes, kHostPage);
  void* memory = mmap(nullptr, reserve, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "\"{}\": cannot reserve {} bytes of addresses: {}; lower capacity_limit_bytes",
        options.name, reserve, ErrnoText(errno));
  }
  return std::unique_ptr<MemoryDevice>(
      new MemoryDevice(runtime, options, static_cast<std::byte*>(memory)));
}

MemoryDevice::MemoryDevice(Runtime& runtime, const MemoryDeviceOptions& options, std::byte* memory)
    : options_(options),
      memory_(memory),
      size_bytes_(options.size_bytes),
      resize_mutex_(runtime),
      accounting_(runtime) {}

MemoryDevice::~MemoryDevice() {
  munmap(memory_, std::max(options_.capacity_limit_bytes, kHostPage));
}

DeviceGeometry MemoryDevice::geometry() const {
  return {.size_bytes = size_bytes_.load(std::memory_order_acquire),
          .logical_block = kLogicalBlock,
          .atomic_write_unit = kLogicalBlock};
}

absl::Status MemoryDevice::Transfer(IoRequest::Op op, uint64_t offset, std::byte* buffer,
                                    uint64_t length, IoClass io_class) {
  const absl::Status status = CheckRequest(geometry(), options_.name, offset, length, buffer);
  if (!status.ok()) {
    accounting_.CountRefused();
    return status;
  }
  accounting_.Start(IoBatch::One(io_class, length));
  // Racy accesses, for two reasons: stale optimistic readers may still read a frame while a read
  // fills it, and a read may overlap a write of the same place.
  if (op == IoRequest::Op::kRead) {
    RacyMove(buffer, memory_ + offset, length);
  } else {
    RacyCopyIn(memory_ + offset, buffer, length);
  }
  accounting_.Finish(IoBatch::One(io_class, length, length));
  return absl::OkStatus();
}

absl::Status MemoryDevice::Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) {
  return Transfer(IoRequest::Op::kRead, offset, out.data(), out.size(), io_class);
}

absl::Status MemoryDevice::Write(uint64_t offset, std::span<const std::byte> data,
                                 IoClass io_class) {
  auto* buffer = const_cast<std::byte*>(data.data());  // only read from
  return Transfer(IoRequest::Op::kWrite, offset, buffer, data.size(), io_class);
}

absl::StatusOr<std::unique_ptr<IoQueue>> MemoryDevice::NewQueue(uint32_t depth) {
  LATCHKEY_RETURN_IF_ERROR(CheckQueueDepth(depth));
  return std::make_unique<Queue>(*this, depth);
}

absl::Status MemoryDevice::Sync() {
  accounting_.CountSync(0, true);
  return absl::OkStatus();
}

absl::Status MemoryDevice::Resize(uint64_t size_bytes) {
  LATCHKEY_RETURN_IF_ERROR(CheckNewSize(geometry(), options_.name, size_bytes));
  if (size_bytes > options_.capacity_limit_bytes) return BeyondLimit(options_, size_bytes);
  MutexLock lock(resize_mutex_);
  const uint64_t old_size = size_bytes_.load(std::memory_order_relaxed);
  size_bytes_.store(size_bytes, std::memory_order_release);
  if (size_bytes < old_size) {
    // Whole host pages go back to the system; the rest of the cut page is cleared by hand.
    const uint64_t first_page = (size_bytes + kHostPage - 1) / kHostPage * kHostPage;
    const uint64_t cleared_end = std::min(first_page, old_size);
    for (uint64_t i = size_bytes; i < cleared_end; ++i) RacyStore(memory_ + i, std::byte{0});
    if (old_size > first_page) madvise(memory_ + first_page, old_size - first_page, MADV_DONTNEED);
  }
  return absl::OkStatus();
}

std::string MemoryDevice::Describe() const { return fmt::format("memory({})", options_.name); }

}  // namespace latchkey
