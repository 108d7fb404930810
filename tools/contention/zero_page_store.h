// A page store in which every page is zeros: reads cost a memset, writes nothing. For experiments
// with the buffer pool alone.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "storage/page_store.h"

namespace latchkey {

/// Thread-safe; no call waits for another.
class ZeroPageStore final : public PageStore {
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
  void ReadPages(std::span<PageRead> reads) override {
    for (PageRead& read : reads) read.status = ReadPage(read.id, read.out);
  }

  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t) override {
    return std::make_unique<Writer>();
  }
  WriteTicket accepted_ticket() const override { return 0; }
  WriteTicket durable_ticket() const override { return 0; }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Checkpoint(std::span<const std::byte>, bool) override { return absl::OkStatus(); }
  absl::Status WriteStatus() const override { return absl::OkStatus(); }
  void SetCheckpointGate(std::function<absl::Status()>) override {}
  void SetLogPosition(std::function<Lsn()>) override {}
  Lsn log_reach() const override { return Lsn{0}; }
  void SetCopySource(CopyIfCleanFunction) override {}
  uint64_t memory_bytes() const override { return 0; }
  PageStoreStats stats() const override { return {}; }
  void ResetExtremes() override {}
  /// Has none: must not be called.
  BlockDevice& device() override { std::abort(); }

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
