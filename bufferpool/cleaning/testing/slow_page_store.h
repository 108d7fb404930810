// A PageStore for tests in the simulated runtime: pages in memory, the times of simulated disks. It
// writes pages in place, or appends them in batches, and observes its writers.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "storage/device/simulated/disk_array.h"
#include "storage/runtime/runtime.h"
#include "storage/volatile_page_store.h"

namespace latchkey {

/// Not thread-safe: for actors of one simulated runtime.
class SlowPageStore final : public VolatilePageStore {
 public:
  /// `batch_pages` 0: every page is written in place, by a request of its own. Otherwise pages
  /// gather in a batch, which is one request once it is full or a writer must wait for it.
  /// `gathers`: writers do not wait for a batch that is not full, as in an append log.
  SlowPageStore(Runtime& runtime, uint32_t page_size, uint32_t disks, Nanos service,
                size_t batch_pages = 0, bool gathers = false)
      : runtime_(runtime), page_size_(page_size), batch_pages_(batch_pages), gathers_(gathers) {
    std::vector<std::unique_ptr<DiskModel>> models;
    for (uint32_t i = 0; i < disks; ++i) {
      models.push_back(std::make_unique<FixedServiceDisk>(service, 0));
    }
    disks_ = DiskArray::Striped(std::move(models), page_size);
  }

  struct Accepted {
    PageId page;
    size_t writer;  ///< in the order of NewWriter
    Nanos when;
    size_t unwritten;  ///< of that writer, with this page
  };
  std::vector<Accepted> accepted;  ///< in the order of acceptance

  /// The most pages that a writer had unwritten at once.
  size_t most_unwritten() const {
    size_t most = 0;
    for (const Accepted& write : accepted) most = std::max(most, write.unwritten);
    return most;
  }

  /// Requests that wrote a batch.
  uint64_t batches() const { return appended_; }

  uint32_t page_size() const override { return page_size_; }
  absl::StatusOr<PageId> AllocatePage() override { return PageId{limit_++}; }
  absl::Status AdoptPage(PageId) override { return absl::OkStatus(); }
  bool IsAllocated(PageId id) const override { return Raw(id) < limit_; }
  void FreePage(PageId id) override { pages_.erase(Raw(id)); }
  uint64_t page_id_limit() const override { return limit_; }
  absl::Status ReadPage(PageId id, std::byte* out) override {
    const Nanos now = runtime_.Now();
    const Nanos done = StartIo(IoRequest::Op::kRead, Raw(id) * page_size_);
    const auto it = pages_.find(Raw(id));
    if (it == pages_.end()) return absl::NotFoundError("page was never written");
    std::memcpy(out, it->second.data(), page_size_);
    runtime_.SleepFor(done - now);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t) override {
    return std::make_unique<Writer>(*this, writers_++);
  }

 private:
  class Writer final : public PageWriter {
   public:
    Writer(SlowPageStore& store, size_t number) : store_(store), number_(number) {}
    ~Writer() override { std::erase(store_.batch_, this); }

    absl::Status Submit(std::span<const PageWrite> writes, size_t* accepted) override {
      for (const PageWrite& write : writes) store_.Accept(*this, write);
      *accepted = writes.size();
      return absl::OkStatus();
    }
    absl::Status Wait(size_t max_outstanding) override {
      return store_.batch_pages_ == 0 ? WaitWritten(max_outstanding) : absl::OkStatus();
    }
    size_t outstanding() const override { return store_.batch_pages_ == 0 ? unwritten() : 0; }
    size_t unwritten() const override {
      const Nanos now = store_.runtime_.Now();
      const auto in_flight =
          std::count_if(done_.begin(), done_.end(), [&](Nanos done) { return done > now; });
      return static_cast<size_t>(in_flight + std::ranges::count(store_.batch_, this));
    }
    size_t gathering() const override {
      return store_.gathers_ ? static_cast<size_t>(std::ranges::count(store_.batch_, this)) : 0;
    }
    size_t waiting() const override { return unwritten() - gathering(); }
    absl::Status WaitWritten(size_t max_unwritten) override {
      while (waiting() > max_unwritten) {
        const Nanos now = store_.runtime_.Now();
        std::erase_if(done_, [&](Nanos done) { return done <= now; });
        if (done_.empty()) store_.WriteBatch();
        if (done_.empty()) continue;
        store_.runtime_.SleepFor(*std::ranges::min_element(done_) - now);
      }
      return absl::OkStatus();
    }

   private:
    friend class SlowPageStore;
    SlowPageStore& store_;
    const size_t number_;
    std::vector<Nanos> done_;  // when each started write is done
  };

  // Returns the time at which it is done.
  Nanos StartIo(IoRequest::Op op, uint64_t offset) {
    return disks_->Enqueue(runtime_.Now(), {.op = op, .offset = offset, .length = page_size_});
  }
  void Accept(Writer& writer, const PageWrite& write) {
    pages_[Raw(write.id)].assign(write.data, write.data + page_size_);
    if (batch_pages_ == 0) {
      writer.done_.push_back(StartIo(IoRequest::Op::kWrite, Raw(write.id) * page_size_));
    } else {
      batch_.push_back(&writer);
      if (batch_.size() == batch_pages_) WriteBatch();
    }
    accepted.push_back({write.id, writer.number_, runtime_.Now(), writer.unwritten()});
  }
  void WriteBatch() {
    if (batch_.empty()) return;
    const Nanos done = StartIo(IoRequest::Op::kWrite, appended_++ * page_size_);
    for (Writer* writer : batch_) writer->done_.push_back(done);
    batch_.clear();
  }

  Runtime& runtime_;
  const uint32_t page_size_;
  const size_t batch_pages_;
  const bool gathers_;
  std::unique_ptr<DiskArray> disks_;
  std::map<uint64_t, std::vector<std::byte>> pages_;
  std::vector<Writer*> batch_;  // the writer of each page in it
  uint64_t appended_ = 0;       // batches
  uint64_t limit_ = 0;
  size_t writers_ = 0;
};

}  // namespace latchkey
