// What the tests of the pool share: a pool over a page store in memory, and a log that is durable
// on demand.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/testing/map_page_store.h"

namespace latchkey {

/// A pool whose pages keep one number each.
struct PoolFixture {
  static constexpr uint32_t kPageSize = 4096;
  static constexpr size_t kValueAt = 64;  ///< offset of the number in its page

  explicit PoolFixture(uint32_t frames, std::string replacement = "clock",
                       std::string synchronization = "global", uint32_t max_frames = 4096,
                       Runtime& runtime = ThreadRuntime())
      : store(runtime, kPageSize) {
    auto policy =
        MakeFixPolicy(runtime, ReplacementAlgorithms().Named(replacement),
                      SynchronizationSchemes().Named(synchronization), frames, max_frames, 42);
    REQUIRE(policy.ok());
    auto made = BufferPool::Create(runtime, store, *std::move(policy), frames, max_frames);
    REQUIRE(made.ok());
    pool = *std::move(made);
  }

  /// A new page that keeps `value`.
  PageId NewPage(uint64_t value) {
    ExclusiveGuard guard;
    REQUIRE(pool->NewPage(pool->Here(), &guard).ok());
    RacyStore<uint64_t>(guard.Mutable() + kValueAt, value);
    return guard.page();
  }
  /// The number in the page, read under a shared latch.
  uint64_t ReadShared(PageId page) {
    SharedGuard guard;
    REQUIRE(pool->FixShared(pool->Here(), page, &guard).ok());
    return RacyLoad<uint64_t>(guard.data() + kValueAt);
  }
  /// Adds `n` to the number in the page.
  void Add(PageId page, uint64_t n) {
    ExclusiveGuard guard;
    REQUIRE(pool->FixExclusive(pool->Here(), page, &guard).ok());
    std::byte* bytes = guard.Mutable();
    RacyStore<uint64_t>(bytes + kValueAt, RacyLoad<uint64_t>(bytes + kValueAt) + n);
  }

  MapPageStore store;
  std::unique_ptr<BufferPool> pool;
};

/// A log that is durable as far as somebody asked.
class FakeLog final : public WriteAheadLog {
 public:
  Lsn durable() const override { return Lsn{durable_}; }
  absl::Status EnsureDurable(Lsn lsn) override {
    if (broken) return absl::UnavailableError("the test's log is broken");
    ++waits;
    durable_ = std::max({durable_, Raw(lsn) + 1, end});
    return absl::OkStatus();
  }
  bool scarce() const override { return is_scarce; }
  bool broken = false;
  bool is_scarce = false;
  uint64_t end = 0;  ///< a flush makes the log durable at least up to here
  int waits = 0;

 private:
  uint64_t durable_ = 1;
};

/// Changes a page as a record at `lsn` does.
inline void Change(BufferPool& pool, PageId page, uint64_t lsn) {
  ExclusiveGuard guard;
  REQUIRE(pool.FixExclusive(pool.Here(), page, &guard).ok());
  RacyStore<uint64_t>(guard.Mutable() + offsetof(PageHeader, lsn), lsn);
}

}  // namespace latchkey
