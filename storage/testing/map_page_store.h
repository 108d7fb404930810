// A PageStore for tests: a map from page id to bytes. Tests can observe the calls of the layers
// above, and make calls fail.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "storage/runtime/mutex.h"
#include "storage/volatile_page_store.h"

namespace latchkey {

/// Thread-safe. Writes are durable at once.
class MapPageStore final : public VolatilePageStore {
 public:
  MapPageStore(Runtime& runtime, uint32_t page_size) : mutex_(runtime), page_size_(page_size) {}

  /// While set, writes fail with Unavailable.
  std::atomic<bool> fail_writes{false};
  /// While set, allocations fail with ResourceExhausted.
  std::atomic<bool> full{false};
  /// The result of checkpoints; nullptr: OK. Set before the store is used.
  std::function<absl::Status()> on_checkpoint;

  /// From now on reading the page is DataLoss, until it is written again.
  void Damage(PageId id) {
    MutexLock lock(mutex_);
    damaged_.insert(Raw(id));
  }

  uint32_t page_size() const override { return page_size_; }

  absl::StatusOr<PageId> AllocatePage() override {
    if (full) return absl::ResourceExhaustedError("the test's store is full");
    MutexLock lock(mutex_);
    if (!free_.empty()) {
      const PageId id = free_.back();
      free_.pop_back();
      return id;
    }
    return PageId{limit_++};
  }
  absl::Status AdoptPage(PageId id) override {
    if (full) return absl::ResourceExhaustedError("the test's store is full");
    MutexLock lock(mutex_);
    while (limit_ <= Raw(id)) free_.push_back(PageId{limit_++});
    std::erase(free_, id);
    return absl::OkStatus();
  }
  bool IsAllocated(PageId id) const override {
    MutexLock lock(mutex_);
    return Raw(id) < limit_ && std::find(free_.begin(), free_.end(), id) == free_.end();
  }
  void FreePage(PageId id) override {
    MutexLock lock(mutex_);
    pages_.erase(Raw(id));
    free_.push_back(id);
  }
  uint64_t page_id_limit() const override { return limit_; }

  absl::Status ReadPage(PageId id, std::byte* out) override {
    MutexLock lock(mutex_);
    ++stats_.page_reads;
    if (damaged_.contains(Raw(id))) return absl::DataLossError("the test has damaged the page");
    const auto it = pages_.find(Raw(id));
    if (it == pages_.end()) return absl::NotFoundError("page was never written");
    std::memcpy(out, it->second.data(), page_size_);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t) override {
    return std::make_unique<Writer>(*this);
  }
  WriteTicket accepted_ticket() const override { return ticket_; }
  WriteTicket durable_ticket() const override { return ticket_; }
  absl::Status Checkpoint(std::span<const std::byte>, bool) override {
    return on_checkpoint != nullptr ? on_checkpoint() : absl::OkStatus();
  }
  PageStoreStats stats() const override {
    MutexLock lock(mutex_);
    PageStoreStats stats = stats_;
    stats.live_pages = pages_.size();
    return stats;
  }

 private:
  class Writer final : public PageWriter {
   public:
    explicit Writer(MapPageStore& store) : store_(store) {}
    absl::Status Submit(std::span<const PageWrite> writes, size_t* accepted) override {
      *accepted = 0;
      if (store_.fail_writes) return absl::UnavailableError("the test's store refuses writes");
      MutexLock lock(store_.mutex_);
      for (const PageWrite& write : writes) {
        store_.damaged_.erase(Raw(write.id));
        store_.pages_[Raw(write.id)].assign(write.data, write.data + store_.page_size_);
        ++store_.stats_.user_page_writes;
        ++store_.ticket_;
        ++*accepted;
      }
      return absl::OkStatus();
    }
    absl::Status Wait(size_t) override { return absl::OkStatus(); }
    size_t outstanding() const override { return 0; }

   private:
    MapPageStore& store_;
  };

  mutable Mutex mutex_;
  const uint32_t page_size_;
  std::map<uint64_t, std::vector<std::byte>> pages_ LATCHKEY_GUARDED_BY(mutex_);
  std::set<uint64_t> damaged_ LATCHKEY_GUARDED_BY(mutex_);
  std::vector<PageId> free_ LATCHKEY_GUARDED_BY(mutex_);
  std::atomic<uint64_t> limit_{0};
  std::atomic<WriteTicket> ticket_{0};
  PageStoreStats stats_ LATCHKEY_GUARDED_BY(mutex_);
};

}  // namespace latchkey
