// The common part of page stores without a device: nothing that they hold outlives them.
#pragma once

#include <cstdlib>
#include <span>

#include "storage/page_store.h"

namespace latchkey {

/// A derived class allocates, reads and writes the pages.
class VolatilePageStore : public PageStore {
 public:
  void ReadPages(std::span<PageRead> reads) override {
    for (PageRead& read : reads) read.status = ReadPage(read.id, read.out);
  }
  /// Counts nothing: nobody compares the writes of such a store.
  uint32_t WriteSequence(PageId) const override { return 0; }
  WriteTicket accepted_ticket() const override { return 0; }
  WriteTicket durable_ticket() const override { return 0; }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Checkpoint(std::span<const std::byte>, bool) override { return absl::OkStatus(); }
  absl::Status WriteStatus() const override { return absl::OkStatus(); }
  void Attach(PageStoreClient&) override {}
  void Detach() override {}
  Lsn log_reach() const override { return Lsn{0}; }
  uint64_t memory_bytes() const override { return 0; }
  PageStoreStats stats() const override { return {}; }
  void ResetExtremes() override {}
  /// There is none: must not be called, unless the derived class has one.
  BlockDevice& device() override { std::abort(); }
};

}  // namespace latchkey
