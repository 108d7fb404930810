// A map journal without room that cannot grow: checkpoints of the map take the place of rounds. The
// store stays writable and crash-safe, whenever the power fails.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "layout/checkpoint/superblock.h"
#include "layout/testing/crashing_store.h"
#include "layout/testing/failing_writes.h"
#include "layout/testing/layouts_under_test.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey::full_journal_test {
namespace {

constexpr uint64_t kPages = 400;
constexpr uint64_t kLeastJournal = 4 * 8192;

// The map is checkpointed only for lack of room.
SegmentStoreOptions Options(const std::string& layout) {
  SegmentStoreOptions options = TestOptions(layout);
  options.journal_segment_bytes = 8192;
  return options;
}

struct Store {
  explicit Store(const std::string& layout) : options(Options(layout)) {
    Open();
    for (uint64_t i = 0; i < kPages; ++i) {
      REQUIRE(*store->AllocatePage() == PageId{i});
      Write(i, 1);
    }
    REQUIRE(store->Flush().ok());
  }
  ~Store() { writer.reset(); }
  void Open() {
    writer.reset();
    store.reset();
    auto opened = OpenTestStore(data, options, journal);
    INFO(opened.status());
    REQUIRE(opened.ok());
    store = std::move(opened->store);
    writer = *store->NewWriter(8);
  }
  void Write(uint64_t i, uint64_t version) {
    page.Fill(PageId{i}, version);
    const PageWrite write{PageId{i}, page.data()};
    size_t accepted = 0;
    const absl::Status status = writer->Submit({&write, 1}, &accepted);
    INFO(status);
    REQUIRE(status.ok());
    versions[i] = version;
  }
  // Enough pages, some rewritten many times, that segments must be cleaned.
  void WriteSome(uint64_t writes) {
    for (uint64_t n = 0; n < writes; ++n) {
      Write(rng.Below(rng.Below(2) == 0 ? kPages : kPages / 8), ++newest);
    }
  }
  void Flush() {
    const absl::Status flushed = store->Flush();
    INFO(flushed);
    REQUIRE(flushed.ok());
    CHECK(store->durable_ticket() == store->accepted_ticket());
  }
  void CheckAll() {
    for (uint64_t i = 0; i < kPages; ++i) {
      const absl::Status status = store->ReadPage(PageId{i}, page.data());
      INFO(status);
      REQUIRE(status.ok());
      REQUIRE(page.Holds(PageId{i}, versions[i]));
    }
  }
  uint64_t Generation() { return ReadNewestSuperblock(*data)->generation; }

  const SegmentStoreOptions options;
  std::shared_ptr<BlockDevice> data = NewTestDevice();
  std::shared_ptr<FailingWrites> journal = std::make_shared<FailingWrites>(NewTestDevice());
  std::unique_ptr<SegmentStore> store;
  std::unique_ptr<PageWriter> writer;
  std::vector<uint64_t> versions = std::vector<uint64_t>(kPages, 0);
  uint64_t newest = 1;
  Rng rng{7};
  TestPage page;
};

TEST_CASE("With a full journal pages are written, flushed, cleaned and found again") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  CAPTURE(layout);
  Store s(layout);
  s.journal->most_bytes = 0;  // it stays as large as it is
  for (int round = 0; round < 40 / kShorter; ++round) {
    s.WriteSome(1500);
    s.Flush();
    if (round % 8 != 7) continue;
    s.Open();  // as after a killed process
    s.CheckAll();
  }
  CHECK(*s.journal->refusals > 0);
  CHECK(s.store->Checkpoint({}, /*clean=*/true).ok());
  s.Open();
  s.CheckAll();
}

TEST_CASE("A round that is larger than the whole journal becomes a checkpoint of the map") {
  Store s("overwrite");
  s.journal->most_bytes = 0;
  for (int round = 0; round < 5; ++round) {
    // Twelve changes of each page, 16 bytes each, are more than the journal holds.
    for (int n = 0; n < 12; ++n) {
      for (uint64_t i = 0; i < kPages; ++i) s.Write(i, ++s.newest);
    }
    const uint64_t before = s.Generation();
    s.Flush();
    s.WriteSome(10);
    s.Flush();
    CHECK(s.Generation() >= before);
    s.Open();
    s.CheckAll();
  }
  CHECK(*s.journal->refusals > 0);
}

TEST_CASE("Once the journal can grow again rounds go on without checkpoints") {
  Store s("lfs");
  s.journal->most_bytes = 0;
  while (*s.journal->refusals == 0) {
    s.WriteSome(500);
    s.Flush();
  }
  s.journal->most_bytes = UINT64_MAX;
  s.WriteSome(500);
  s.Flush();
  REQUIRE(s.store->Checkpoint({}, /*clean=*/false).ok());
  const uint64_t refusals = *s.journal->refusals, before = s.Generation();
  const uint64_t bytes = s.journal->geometry().size_bytes;
  while (s.journal->geometry().size_bytes == bytes) {
    s.WriteSome(500);
    s.Flush();
  }
  CHECK(s.Generation() == before);
  CHECK(*s.journal->refusals == refusals);
  s.Open();
  s.CheckAll();
}

TEST_CASE("What was flushed with a full journal survives power failures of every kind") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  const double utilization = GENERATE(0.5, 0.98);
  CAPTURE(layout, utilization);
  SegmentStoreOptions options = CrashOptions(layout, utilization);
  options.journal_checkpoint_bytes = 0;
  CrashingStore test(ThreadRuntime(), options, /*seed=*/11, kLeastJournal, /*checkpoints=*/false);
  Rng rng(19);
  const int rounds = kThreadSanitizer ? 5 : kSanitizer ? 13 : 40;
  for (int round = 0; round < rounds; ++round) {
    const Damage damage = kDamages[static_cast<size_t>(round) % 5];
    CAPTURE(round, static_cast<int>(damage));
    test.RunUntilCrash(damage, 20 + rng.Below(500), /*while_opening=*/round % 4 == 3);
  }
  CHECK(test.refusals() > 0);
}

// Runs from the same start, so that each device call between two rounds is once the last one.
TEST_CASE("Power may fail at each step of a checkpoint that takes the place of a round") {
  const std::string layout = GENERATE(std::string("overwrite"), std::string("lfs"));
  CAPTURE(layout);
  SegmentStoreOptions options = CrashOptions(layout, 0.8);
  options.journal_checkpoint_bytes = 0;
  uint64_t refusals = 0;
  const uint64_t step = kThreadSanitizer ? 40 : kAddressSanitizer ? 11 : 3;
  for (uint64_t calls = 1; calls < 200; calls += step) {
    CAPTURE(calls);
    CrashingStore test(ThreadRuntime(), options, /*seed=*/29, kLeastJournal, /*checkpoints=*/false);
    test.RunUntilCrash(kDamages[calls % 5], 1500, /*while_opening=*/false);
    test.RunUntilCrash(kDamages[calls % 4 + 1], calls, /*while_opening=*/false);
    test.RunUntilCrash(Damage::kLoseAll, 20, /*while_opening=*/false);
    refusals += test.refusals();
  }
  CHECK(refusals > 0);
}

}  // namespace
}  // namespace latchkey::full_journal_test
