// What the pool tells of pages that leave and enter frames.
#include "bufferpool/absent_pages.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <vector>

#include "bufferpool/testing/pool_fixture.h"

namespace latchkey::absent_pages_test {
namespace {

// Keeps numbers that absent pages shall have when they come in.
class Pending final : public AbsentPages {
 public:
  void OnEvicted(PageId page, std::span<const std::byte>) override {
    CHECK(absent.insert(page).second);
  }
  absl::Status OnLoaded(PageId page, std::span<std::byte> bytes,
                        std::optional<Lsn>* changed) override {
    if (refuses) return absl::DataLossError("the test refuses");
    absent.erase(page);
    const auto found = numbers.find(page);
    if (found == numbers.end()) return absl::OkStatus();
    RacyStore<uint64_t>(bytes.data() + PoolFixture::kValueAt, found->second);
    *changed = Lsn{0};
    dirty_before = pool->stats().dirty_frames;
    return absl::OkStatus();
  }
  // A checkpoint that begins now finds the change in the frame. One missed it while what was kept went
  // before the frame had the page.
  void OnPublished(PageId page) override {
    if (numbers.erase(page) == 0) return;
    CHECK(pool->IsResident(page));
    CHECK(pool->stats().dirty_frames > dirty_before);
  }
  void OnDropped(PageId page) override {
    absent.erase(page);
    numbers.erase(page);
  }
  std::vector<PageId> PagesBefore(Lsn) override {
    std::vector<PageId> pages;
    for (const auto& [page, number] : numbers) pages.push_back(page);
    return pages;
  }
  bool HasChangesBefore(PageId page, Lsn) override { return numbers.contains(page); }

  std::set<PageId> absent;
  std::map<PageId, uint64_t> numbers;
  bool refuses = false;
  BufferPool* pool = nullptr;
  uint64_t dirty_before = 0;
};

// A pool of 16 frames with 40 pages, most of which are absent.
struct AbsentFixture : PoolFixture {
  AbsentFixture() : PoolFixture(16) {
    pending.pool = pool.get();
    pool->SetAbsentPages(&pending);
    for (uint64_t n = 0; n < 40; ++n) pages.push_back(NewPage(n));
    REQUIRE(pending.absent.size() >= 24);
  }
  ~AbsentFixture() { pool->SetAbsentPages(nullptr); }

  Pending pending;
  std::vector<PageId> pages;
};

TEST_CASE("A page that comes into a frame has what was pending, however it comes") {
  AbsentFixture f;
  std::vector<PageId> chosen(f.pending.absent.begin(), f.pending.absent.end());
  chosen.resize(12);
  for (size_t i = 0; i < chosen.size(); ++i) f.pending.numbers[chosen[i]] = 1000 + i;
  f.pool->Prefetch(f.pool->Here(), std::span(chosen).first(4));
  f.pool->BringIn(f.pool->Here(), std::span(chosen).subspan(4, 4));
  CHECK(f.pending.numbers.size() == 4);
  for (size_t i = 0; i < chosen.size(); ++i) CHECK(f.ReadShared(chosen[i]) == 1000 + i);
  CHECK(f.pending.numbers.empty());
  // Evicted and read again, they are as they were.
  for (const PageId page : f.pages) f.ReadShared(page);
  for (size_t i = 0; i < chosen.size(); ++i) CHECK(f.ReadShared(chosen[i]) == 1000 + i);
}

TEST_CASE("What is pending reaches the store when all dirty pages do") {
  AbsentFixture f;
  const std::vector<PageId> chosen(f.pending.absent.begin(), f.pending.absent.end());
  for (const PageId page : chosen) f.pending.numbers[page] = Raw(page) + 500;
  REQUIRE(f.pool->WriteAllDirty().ok());
  CHECK(f.pending.numbers.empty());
  f.pool->SetAbsentPages(nullptr);
  std::vector<std::byte> bytes(PoolFixture::kPageSize);
  for (const PageId page : chosen) {
    REQUIRE(f.store.ReadPage(page, bytes.data()).ok());
    CHECK(RacyLoad<uint64_t>(bytes.data() + PoolFixture::kValueAt) == Raw(page) + 500);
  }
}

TEST_CASE("A page that may not come in stays absent, and its fix returns the reason") {
  AbsentFixture f;
  const PageId page = *f.pending.absent.begin();
  f.pending.numbers[page] = 7;
  f.pending.refuses = true;
  SharedGuard guard;
  CHECK(absl::IsDataLoss(f.pool->FixShared(f.pool->Here(), page, &guard)));
  f.pool->BringIn(f.pool->Here(), std::span(&page, 1));
  CHECK(!f.pool->IsResident(page));
  f.pending.refuses = false;
  CHECK(f.ReadShared(page) == 7);
}

TEST_CASE("An absent page can be latched, and then comes into no frame") {
  AbsentFixture f;
  const PageId absent = *f.pending.absent.begin();
  f.ReadShared(f.pages.back());
  CHECK(!f.pool->TryLatchAbsent(f.pages.back()));
  {
    const AbsentGuard guard = f.pool->TryLatchAbsent(absent);
    REQUIRE(guard);
    CHECK(!f.pool->TryLatchAbsent(absent));
    f.pool->BringIn(f.pool->Here(), std::span(&absent, 1));
    CHECK(!f.pool->IsResident(absent));
  }
  f.pool->BringIn(f.pool->Here(), std::span(&absent, 1));
  CHECK(f.pool->IsResident(absent));
}

TEST_CASE("Nothing is pending for a page that was freed") {
  AbsentFixture f;
  const PageId page = *f.pending.absent.begin();
  f.pending.numbers[page] = 7;
  REQUIRE(f.pool->FreePageById(f.pool->Here(), page).ok());
  CHECK(f.pending.numbers.empty());
}

}  // namespace
}  // namespace latchkey::absent_pages_test
