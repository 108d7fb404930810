// Conformance suite: every layout under every segment cleaning policy must pass it.
#include <catch2/catch.hpp>
#include <map>
#include <optional>

#include "layout/clean/cleaning_policy.h"
#include "layout/testing/layouts_under_test.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/device/testing/forgetful_flash.h"

namespace latchkey::segment_store_conformance_test {
namespace {

// The conformance suite runs on memory, and with one cleaning policy on flash that forgets what the
// store discards.
std::shared_ptr<BlockDevice> DeviceFor(std::string_view cleaning) {
  if (cleaning != "hole-plugging") return NewTestDevice();
  return std::make_shared<ForgetfulFlash>(NewTestDevice());
}

// With one cleaning policy the segments are no power of two.
SegmentStoreOptions OptionsFor(std::string_view layout, std::string_view cleaning) {
  SegmentStoreOptions options = TestOptions(layout, cleaning);
  if (cleaning == "cost-benefit") options.segment_size = 76 << 10;
  return options;
}

// Runs operations on a store, and on a std::map as the oracle.
class ModelTest {
 public:
  ModelTest(const SegmentStoreOptions& options, uint64_t seed, bool journal)
      : options_(options),
        device_(DeviceFor(options.segment_cleaning.name())),
        journal_(journal ? NewTestDevice() : nullptr),
        rng_(seed) {
    Open();
  }

  void Allocate() {
    auto id = store_->AllocatePage();
    REQUIRE(id.ok());
    REQUIRE(model_.emplace(*id, std::nullopt).second);
    ids_.push_back(*id);
  }

  void Write(PageId id) {
    page_.Fill(id, ++version_);
    const PageWrite write{id, page_.data()};
    size_t accepted = 0;
    REQUIRE(writer_->Submit({&write, 1}, &accepted).ok());
    REQUIRE(accepted == 1);
    model_[id] = version_;
  }

  void Free(size_t index) {
    store_->FreePage(ids_[index]);
    model_.erase(ids_[index]);
    ids_[index] = ids_.back();
    ids_.pop_back();
  }

  void Check(PageId id) {
    const absl::Status status = store_->ReadPage(id, page_.data());
    INFO(status);
    if (!model_.at(id)) {
      REQUIRE(absl::IsNotFound(status));
    } else {
      REQUIRE(status.ok());
      REQUIRE(page_.Holds(id, *model_.at(id)));
    }
  }

  void CheckAll() {
    for (const auto& [id, version] : model_) Check(id);
    CHECK(store_->stats().live_pages == model_.size());
  }

  void CheckBatch(size_t count) {
    std::vector<TestPage> pages(count);
    std::vector<PageRead> reads(count);
    for (size_t i = 0; i < count; ++i) reads[i] = {AnyId(), pages[i].data(), {}};
    store_->ReadPages(reads);
    for (size_t i = 0; i < count; ++i) {
      const auto& version = model_.at(reads[i].id);
      REQUIRE(reads[i].status.ok() == version.has_value());
      if (version) REQUIRE(pages[i].Holds(reads[i].id, *version));
    }
  }

  void Flush() {
    const WriteTicket accepted = store_->accepted_ticket();
    REQUIRE(store_->Flush().ok());
    CHECK(store_->durable_ticket() >= accepted);
  }

  void Reopen() {
    REQUIRE(writer_->Wait(0).ok());
    writer_.reset();
    const std::string text = "root" + std::to_string(version_);
    REQUIRE(store_->Checkpoint(std::as_bytes(std::span(text)), /*clean=*/true).ok());
    root_ = text;
    store_.reset();
    // Pages that were never written are not allocated any more.
    std::erase_if(model_, [](const auto& entry) { return !entry.second; });
    std::erase_if(ids_, [&](PageId id) { return !model_.contains(id); });
    Open();
  }

  void Step() {
    const uint64_t dice = rng_.Below(1000);
    if (ids_.empty() || (dice < 60 && ids_.size() < 3000)) {
      Allocate();
    } else if (dice < 750) {
      Write(AnyId());
    } else if (dice < 775) {
      Free(rng_.Below(ids_.size()));
    } else if (dice < 980) {
      Check(AnyId());
    } else if (dice < 990) {
      CheckBatch(1 + rng_.Below(40));
    } else if (dice < 997) {
      Flush();
    } else if (dice < 999) {
      REQUIRE(store_->Checkpoint({}, /*clean=*/false).ok());
    } else {
      Reopen();
    }
  }

  PageId AnyId() { return ids_[rng_.Below(ids_.size())]; }
  SegmentStore& store() { return *store_; }

 private:
  void Open() {
    auto opened = OpenTestStore(device_, options_, journal_);
    INFO(opened.status());
    REQUIRE(opened.ok());
    store_ = std::move(opened->store);
    const auto* root = reinterpret_cast<const char*>(opened->client_root.data());
    REQUIRE(std::string(root, opened->client_root.size()) == root_);
    writer_ = *store_->NewWriter(16);
  }

  const SegmentStoreOptions options_;
  const std::shared_ptr<BlockDevice> device_;
  const std::shared_ptr<BlockDevice> journal_;
  Rng rng_;
  std::unique_ptr<SegmentStore> store_;
  std::unique_ptr<PageWriter> writer_;
  std::map<PageId, std::optional<uint64_t>> model_;
  std::vector<PageId> ids_;
  uint64_t version_ = 0;
  std::string root_;
  TestPage page_;
};

TEST_CASE("Every layout under every cleaning returns what was last written") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  const std::string cleaning = GENERATE(from_range(CleaningPolicies().Names()));
  const bool journal = GENERATE(false, true);
  CAPTURE(layout, cleaning, journal);
  ModelTest test(OptionsFor(layout, cleaning), /*seed=*/7, journal);
  for (int i = 0; i < 400; ++i) test.Allocate();
  for (int i = 0; i < 4000 / kShorter; ++i) test.Step();
  test.CheckAll();
  test.Reopen();
  test.CheckAll();
}

TEST_CASE("Every layout makes progress at every space utilisation without waiting for ever") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  const std::string cleaning = GENERATE(from_range(CleaningPolicies().Names()));
  const double utilization = GENERATE(0.5, 0.8, 0.95, 0.98);
  const bool journal = GENERATE(false, true);
  CAPTURE(layout, cleaning, utilization, journal);
  SegmentStoreOptions options = OptionsFor(layout, cleaning);
  options.space_utilization = utilization;
  ModelTest test(options, /*seed=*/11, journal);
  for (int i = 0; i < 800 / kShorter; ++i) {
    test.Allocate();
    test.Write(PageId{static_cast<uint64_t>(i)});
  }
  for (int i = 0; i < 2000 / kShorter; ++i) test.Write(test.AnyId());
  test.CheckAll();
}

TEST_CASE("Pages of every size are kept") {
  const uint32_t page_size = GENERATE(4096u, 8192u);
  SegmentStoreOptions options = TestOptions("lfs");
  options.page_size = page_size;
  auto opened = OpenTestStore(NewTestDevice(), options);
  REQUIRE(opened.ok());
  auto writer = *opened->store->NewWriter(4);
  TestPage page(page_size);
  for (uint64_t i = 0; i < 100; ++i) {
    const PageId id = *opened->store->AllocatePage();
    page.Fill(id, i);
    const PageWrite write{id, page.data()};
    size_t accepted = 0;
    REQUIRE(writer->Submit({&write, 1}, &accepted).ok());
  }
  REQUIRE(opened->store->Flush().ok());
  for (uint64_t i = 0; i < 100; ++i) {
    REQUIRE(opened->store->ReadPage(PageId{i}, page.data()).ok());
    CHECK(page.Holds(PageId{i}, i));
  }
}

// Flash moves every page that it takes for live. It cannot know that the store has moved or freed one.
TEST_CASE(
    "On flash the store discards a slot after its page has moved or was freed, and no earlier") {
  const bool journal = GENERATE(false, true);
  CAPTURE(journal);
  const auto flash = std::make_shared<ForgetfulFlash>(NewTestDevice());
  auto opened = OpenTestStore(flash, TestOptions("lfs"), journal ? NewTestDevice() : nullptr);
  REQUIRE(opened.ok());
  SegmentStore& store = *opened->store;
  auto writer = *store.NewWriter(16);
  TestPage page;
  const auto write_all = [&](uint64_t version) {
    for (uint64_t i = 0; i < 200; ++i) {
      page.Fill(PageId{i}, version);
      const PageWrite write{PageId{i}, page.data()};
      size_t accepted = 0;
      REQUIRE(writer->Submit({&write, 1}, &accepted).ok());
    }
    REQUIRE(writer->Wait(0).ok());
  };
  for (uint64_t i = 0; i < 200; ++i) REQUIRE(*store.AllocatePage() == PageId{i});
  write_all(1);
  REQUIRE(store.Flush().ok());
  CHECK(flash->discarded_bytes() == 0);
  write_all(2);
  REQUIRE(store.Flush().ok());
  CHECK(flash->discarded_bytes() >= 200 * 4096);
  const uint64_t before = flash->discarded_bytes();
  for (uint64_t i = 0; i < 100; ++i) store.FreePage(PageId{i});
  REQUIRE(store.Flush().ok());
  // More, if the file has begun to shrink: then the cleaner moves pages.
  CHECK(flash->discarded_bytes() - before >= 100 * 4096);
  // One slot for each page written anew, freed or moved.
  const uint64_t discarded = flash->discarded_bytes();
  CHECK(discarded <= (200 + 100 + store.stats().cleaner_page_writes) * 4096);
  for (uint64_t i = 100; i < 200; ++i) {
    REQUIRE(store.ReadPage(PageId{i}, page.data()).ok());
    CHECK(page.Holds(PageId{i}, 2));
  }
}

// A slot is then less than a device's page, so flash hears of whole segments.
TEST_CASE(
    "On flash with page compression the store discards a segment that has lost its last page") {
  const bool journal = GENERATE(false, true);
  for (const std::string& codec : CodecsUnderTest()) {
    CAPTURE(journal, codec);
    const auto flash = std::make_shared<ForgetfulFlash>(NewTestDevice());
    const SegmentStoreOptions options = TestOptions("lfs/" + codec);
    auto opened = OpenTestStore(flash, options, journal ? NewTestDevice() : nullptr);
    REQUIRE(opened.ok());
    SegmentStore& store = *opened->store;
    auto writer = *store.NewWriter(16);
    TestPage page;
    for (uint64_t i = 0; i < 200; ++i) REQUIRE(*store.AllocatePage() == PageId{i});
    for (uint64_t version = 1; version <= 20; ++version) {
      for (uint64_t i = 0; i < 200; ++i) {
        page.Fill(PageId{i}, version);
        const PageWrite write{PageId{i}, page.data()};
        REQUIRE(writer->Submit({&write, 1}, nullptr).ok());
      }
      REQUIRE(writer->Wait(0).ok());
      REQUIRE(store.Flush().ok());
    }
    CHECK(flash->discarded_bytes() > 0);
    CHECK(flash->discarded_bytes() % store.segment_size() == 0);
    for (uint64_t i = 0; i < 200; ++i) {
      REQUIRE(store.ReadPage(PageId{i}, page.data()).ok());
      CHECK(page.Holds(PageId{i}, 20));
    }
  }
}

// Three actors over one store: each rewrites its own pages with increasing versions and reads the
// pages of all actors, whose versions may only grow.
TEST_CASE("Writers, readers and the cleaner may work at once") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  const std::string cleaning =
      GENERATE(as<std::string>{}, "adaptive", "hole-plugging", "by-pass", "death-time");
  const bool journal = GENERATE(false, true);
  CAPTURE(layout, cleaning, journal);
  SegmentStoreOptions options = TestOptions(layout, cleaning);
  options.space_utilization = 0.9;
  auto opened = OpenTestStore(DeviceFor(cleaning), options, journal ? NewTestDevice() : nullptr);
  REQUIRE(opened.ok());
  SegmentStore& store = *opened->store;
  constexpr uint64_t kPages = 900, kActors = 3;
  constexpr uint64_t kOperations = kSanitizer ? 800 : 2500;
  std::vector<std::atomic<uint64_t>> versions(kPages);
  std::atomic<uint64_t> failures{0};
  for (uint64_t i = 0; i < kPages; ++i) REQUIRE(*store.AllocatePage() == PageId{i});

  const auto work = [&](uint64_t actor) {
    auto writer = *store.NewWriter(8);
    Rng rng(actor + 1);
    TestPage page;
    const auto write = [&](uint64_t i) {
      const uint64_t version = versions[i].load() + 1;
      page.Fill(PageId{i}, version);
      const PageWrite request{PageId{i}, page.data()};
      size_t accepted = 0;
      if (!writer->Submit({&request, 1}, &accepted).ok()) ++failures;
      versions[i].store(version);
    };
    for (uint64_t i = actor; i < kPages; i += kActors) write(i);
    for (uint64_t n = 0; n < kOperations; ++n) {
      if (rng.Below(2) == 0) {
        write(rng.Below(kPages / kActors) * kActors + actor);
        continue;
      }
      const uint64_t i = rng.Below(kPages);
      const uint64_t before = versions[i].load();
      const absl::Status status = store.ReadPage(PageId{i}, page.data());
      if (before == 0) continue;
      bool known = false;
      const uint64_t after = versions[i].load() + 1;  // one write may be in flight
      for (uint64_t v = before; v <= after && !known; ++v) known = page.Holds(PageId{i}, v);
      if (!status.ok() || !known) ++failures;
      if (n % 500 == 0 && !store.Flush().ok()) ++failures;
    }
    if (!writer->Wait(0).ok()) ++failures;
  };
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("test", [&, a] { work(a); }));
  }
  for (auto& actor : actors) actor->Join();
  CHECK(failures.load() == 0);
  TestPage page;
  for (uint64_t i = 0; i < kPages; ++i) {
    REQUIRE(store.ReadPage(PageId{i}, page.data()).ok());
    REQUIRE(page.Holds(PageId{i}, versions[i].load()));
  }
}

}  // namespace
}  // namespace latchkey::segment_store_conformance_test
