// A page store in which every page is zeros. A read clears the caller's memory, and a write is
// forgotten. For experiments with the buffer pool alone.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "storage/volatile_page_store.h"

namespace latchkey {

/// Page size, in bytes, of the experiments with the buffer pool alone.
inline constexpr uint32_t kEmulatedPageSize = 4096;

/// Thread-safe; no call waits for another.
class ZeroPageStore final : public VolatilePageStore {
 public:
  /// Page ids 0 to pages - 1 can be read.
  ZeroPageStore(uint32_t page_size, uint64_t pages) : page_size_(page_size), pages_(pages) {}

  uint32_t page_size() const override { return page_size_; }
  absl::StatusOr<PageId> AllocatePage() override { return PageId{pages_.fetch_add(1)}; }
  void FreePage(PageId) override {}
  absl::Status AdoptPage(PageId) override { return absl::OkStatus(); }
  bool IsAllocated(PageId id) const override { return Raw(id) < pages_.load(); }
  uint64_t page_id_limit() const override { return pages_.load(); }

  absl::Status ReadPage(PageId, std::byte* out) override {
    std::memset(out, 0, page_size_);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t) override {
    return std::make_unique<Writer>();
  }

 private:
  class Writer final : public PageWriter {
   public:
    absl::Status Submit(std::span<const PageWrite> writes, size_t* accepted) override {
      *accepted = writes.size();
      return absl::OkStatus();
    }
    absl::Status Wait(size_t) override { return absl::OkStatus(); }
    size_t outstanding() const override { return 0; }
  };

  const uint32_t page_size_;
  std::atomic<uint64_t> pages_;
};

}  // namespace latchkey
