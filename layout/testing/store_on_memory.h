// A segment store on a MemoryDevice, and helpers for tests.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layout/segment_store.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/sanitizers.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/memory_device.h"
#include "storage/device/testing/forwarding_device.h"
#include "storage/page_format.h"

namespace latchkey {

/// With a sanitizer, long runs of a single writer are divided by this: each of their steps takes
/// several times as long, and ThreadSanitizer finds no races there.
inline constexpr int kShorter = kThreadSanitizer ? 10 : kSanitizer ? 3 : 1;

inline std::shared_ptr<BlockDevice> NewTestDevice(uint64_t limit_bytes = uint64_t{1} << 30,
                                                  Runtime& runtime = ThreadRuntime()) {
  auto device = MemoryDevice::Create(runtime, {.capacity_limit_bytes = limit_bytes});
  LATCHKEY_CHECK(device.ok());
  return *std::move(device);
}

/// Options with small segments, a fixed identity and fixed costs: quick and repeatable. `layout`
/// may be followed by a page compression: lfs/lz4 (StoresUnderTest).
inline SegmentStoreOptions TestOptions(std::string_view layout = "overwrite",
                                       std::string_view cleaning = "auto") {
  SegmentStoreOptions options;
  const LayoutAndCompression item = LayoutAndCompression::Of(layout);
  options.layout = Layouts().Named(item.layout);
  options.page_compression = PageCodecs().Named(item.page_compression);
  absl::StatusOr<CleaningPolicyChoice> policy = ParseSegmentCleaning(cleaning, options.layout);
  LATCHKEY_CHECK(policy.ok());
  options.segment_cleaning = *std::move(policy);
  options.segment_size = 64 << 10;
  options.reserve_bytes = 0;
  options.database_id = 0x1234;
  options.assumed_costs =
      PageCosts{.page_write_ns = 8000, .segment_write_ns = 1000, .segment_read_ns = 4000};
  return options;
}

/// The costs of a device on which a page by itself costs as much as in a segment: no page waits in an
/// append log for others.
inline constexpr PageCosts kFlatCosts = {
    .page_write_ns = 1000, .segment_write_ns = 1000, .segment_read_ns = 1000};

/// A store that is crash-safe if `journal` is set.
inline absl::StatusOr<OpenedSegmentStore> OpenTestStore(
    std::shared_ptr<BlockDevice> device, const SegmentStoreOptions& options,
    std::shared_ptr<BlockDevice> journal = nullptr, Runtime& runtime = ThreadRuntime()) {
  std::unique_ptr<BlockDevice> shared_journal;
  if (journal != nullptr) shared_journal = std::make_unique<ForwardingDevice>(std::move(journal));
  return OpenSegmentStore(runtime, std::make_unique<ForwardingDevice>(std::move(device)),
                          std::move(shared_journal), options);
}

/// A page whose content is a function of (id, version). None to all eighths of it compress.
class TestPage {
 public:
  explicit TestPage(uint32_t page_size = kDefaultPageSize) : buffer_(page_size) {}
  void Fill(PageId id, uint64_t version) {
    auto* words = reinterpret_cast<uint64_t*>(buffer_.data());
    for (size_t i = kPageHeaderSize / 8; i < buffer_.size() / 8; ++i) {
      words[i] = WordOf(id, version, i);
    }
  }
  bool Holds(PageId id, uint64_t version) const {
    const auto* words = reinterpret_cast<const uint64_t*>(buffer_.data());
    for (size_t i = kPageHeaderSize / 8; i < buffer_.size() / 8; ++i) {
      if (words[i] != WordOf(id, version, i)) return false;
    }
    return true;
  }
  std::byte* data() { return buffer_.data(); }

 private:
  uint64_t WordOf(PageId id, uint64_t version, size_t i) const {
    const uint64_t page = Raw(id) * 1'000'003 + version * 17;
    const size_t eighth = i / (buffer_.size() / 64);
    return eighth < page % 9 ? MixHash(page + i) : page;
  }

  AlignedBuffer buffer_;
};

}  // namespace latchkey
