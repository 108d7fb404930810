// Opening with and without a journal, damage to the data that recovery needs, and the journal's
// bounds.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "layout/checkpoint/superblock.h"
#include "layout/geometry.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"
#include "storage/device/aligned_buffer.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::crash_safe_open_test {
namespace {

constexpr uint64_t kPages = 100;

void WriteAll(SegmentStore& store, uint64_t version) {
  auto writer = *store.NewWriter(4);
  TestPage page;
  for (uint64_t i = 0; i < kPages; ++i) {
    page.Fill(PageId{i}, version);
    const PageWrite write{PageId{i}, page.data()};
    size_t accepted = 0;
    REQUIRE(writer->Submit({&write, 1}, &accepted).ok());
  }
  REQUIRE(writer->Wait(0).ok());
}

void CheckAll(SegmentStore& store, uint64_t version) {
  TestPage page;
  for (uint64_t i = 0; i < kPages; ++i) {
    const absl::Status status = store.ReadPage(PageId{i}, page.data());
    INFO(status);
    REQUIRE(status.ok());
    REQUIRE(page.Holds(PageId{i}, version));
  }
}

struct Devices {
  std::shared_ptr<BlockDevice> data = NewTestDevice();
  std::shared_ptr<BlockDevice> journal = NewTestDevice();

  absl::StatusOr<OpenedSegmentStore> Open(const SegmentStoreOptions& options,
                                          bool with_journal = true) {
    return OpenTestStore(data, options, with_journal ? journal : nullptr);
  }
  // Writes version 1 of all pages, flushed; closed cleanly or not at all.
  void Make(const SegmentStoreOptions& options, bool clean) {
    auto opened = Open(options);
    REQUIRE(opened.ok());
    for (uint64_t i = 0; i < kPages; ++i) REQUIRE(*opened->store->AllocatePage() == PageId{i});
    WriteAll(*opened->store, 1);
    REQUIRE(opened->store->Flush().ok());
    if (clean) REQUIRE(opened->store->Checkpoint({}, /*clean=*/true).ok());
  }
  void CheckRefused(const SegmentStoreOptions& options, absl::StatusCode code,
                    const std::string& words, bool with_journal = true) {
    const auto opened = Open(options, with_journal);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.status().code() == code);
    CHECK_THAT(std::string(opened.status().message()), Catch::Contains(words));
  }
};

void Damage(BlockDevice& device, uint64_t offset, size_t bytes = 4096) {
  AlignedBuffer block(bytes);
  REQUIRE(device.Read(offset, block.span(), IoClass::kMeta).ok());
  for (size_t i = 0; i < bytes; i += 64) block.data()[i] ^= std::byte{0x5a};
  REQUIRE(device.Write(offset, block.span(), IoClass::kMeta).ok());
}

TEST_CASE("A store that was not closed is recovered with its journal and refused without") {
  Devices devices;
  devices.Make(TestOptions(), /*clean=*/false);
  devices.CheckRefused(TestOptions(), absl::StatusCode::kFailedPrecondition,
                       "needs its map journal", /*with_journal=*/false);
  for (int round = 0; round < 3; ++round) {  // an open that changes nothing may be repeated
    auto opened = devices.Open(TestOptions());
    REQUIRE(opened.ok());
    CheckAll(*opened->store, 1);
  }
}

TEST_CASE("A cleanly closed store may change between crash-safe and not at every open") {
  Devices devices;
  devices.Make(TestOptions(), /*clean=*/true);
  Rng rng(3);
  uint64_t version = 1;
  for (int round = 0; round < 10; ++round) {
    const bool with_journal = rng.Below(2) == 0;
    CAPTURE(round, with_journal);
    auto opened = devices.Open(TestOptions(), with_journal);
    REQUIRE(opened.ok());
    CheckAll(*opened->store, version);
    WriteAll(*opened->store, ++version);
    if (with_journal && rng.Below(2) == 0) {
      REQUIRE(opened->store->Flush().ok());  // and then the process dies
      opened->store.reset();
      opened = devices.Open(TestOptions());
      REQUIRE(opened.ok());
      CheckAll(*opened->store, version);
    }
    REQUIRE(opened->store->Checkpoint({}, /*clean=*/true).ok());
  }
}

// In virtual time, because the cleaner's actor takes the checkpoints: the journal grows until that
// actor runs, and on threads it may run arbitrarily late.
TEST_CASE("The last root is found after a crash, whatever the store checkpoints by itself") {
  SegmentStoreOptions options = TestOptions();
  options.journal_checkpoint_bytes = 4000;
  options.journal_segment_bytes = 8192;
  Devices devices;
  const std::string root = "root of the engine";
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    auto opened = OpenSegmentStore(runtime, std::make_unique<ForwardingDevice>(devices.data),
                                   std::make_unique<ForwardingDevice>(devices.journal), options);
    REQUIRE(opened.ok());
    for (uint64_t i = 0; i < kPages; ++i) REQUIRE(opened->store->AllocatePage().ok());
    REQUIRE(opened->store->Checkpoint(std::as_bytes(std::span(root)), /*clean=*/false).ok());
    const uint64_t generation = ReadNewestSuperblock(*devices.data)->generation;
    // In-place writes only: a checkpoint is due only because of the journal's size.
    for (uint64_t v = 1; ReadNewestSuperblock(*devices.data)->generation < generation + 3; ++v) {
      WriteAll(*opened->store, v);
      REQUIRE(opened->store->Flush().ok());
    }
    WriteAll(*opened->store, 1);
    REQUIRE(opened->store->Flush().ok());
    CHECK(devices.journal->geometry().size_bytes < 256 << 10);
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  auto opened = devices.Open(options);
  REQUIRE(opened.ok());
  CHECK(std::string(reinterpret_cast<const char*>(opened->client_root.data()),
                    opened->client_root.size()) == root);
  CheckAll(*opened->store, 1);
}

TEST_CASE("A torn page is put back from the doublewrite area, and that is reported") {
  SegmentStoreOptions options = TestOptions();
  std::vector<std::string> messages;
  options.log_sink = [&](LogLevel, std::string_view message) { messages.emplace_back(message); };
  Devices devices;
  devices.Make(options, /*clean=*/false);
  {
    auto opened = devices.Open(options);
    REQUIRE(opened.ok());
    WriteAll(*opened->store, 2);  // over their slots
    REQUIRE(opened->store->Flush().ok());
  }
  // Tear the slot of the last page in the area of the last batch.
  AlignedBuffer block(kDefaultPageSize);
  REQUIRE(devices.data->Read(DoublewriteOffset(0), block.span(), IoClass::kMeta).ok());
  const PageHeader header = PageHeaderOf(block.span());
  uint64_t slot = 0;
  for (uint64_t at = kHeaderAreaBytes; at < devices.data->geometry().size_bytes; at += 4096) {
    REQUIRE(devices.data->Read(at, block.span(), IoClass::kMeta).ok());
    const PageHeader found = PageHeaderOf(block.span());
    if (found.page_id == header.page_id && found.write_sequence == header.write_sequence) slot = at;
  }
  REQUIRE(slot != 0);
  Damage(*devices.data, slot + 512, 512);
  messages.clear();
  auto opened = devices.Open(options);
  REQUIRE(opened.ok());
  CheckAll(*opened->store, 2);
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], Catch::Contains("from the doublewrite area: there was a torn page"));
}

TEST_CASE("A damaged, foreign, missing or truncated part is refused after a crash") {
  Devices devices;
  devices.Make(TestOptions(), /*clean=*/false);
  SECTION("the journal of another store") {
    auto options = TestOptions();
    options.database_id = 0x9999;
    Devices other;
    other.Make(options, /*clean=*/false);
    devices.journal = other.journal;
    devices.CheckRefused(TestOptions(), absl::StatusCode::kFailedPrecondition, "map journal");
  }
  SECTION("no journal where it should be") {
    devices.journal = NewTestDevice();
    CHECK_FALSE(devices.Open(TestOptions()).ok());
  }
  SECTION("a data file without its last segments") {
    const Superblock superblock = *ReadNewestSuperblock(*devices.data);
    REQUIRE(devices.data->Resize(kHeaderAreaBytes + 2 * superblock.segment_size).ok());
    devices.CheckRefused(TestOptions(), absl::StatusCode::kDataLoss, "truncated");
  }
  SECTION("one copy of the superblock is enough") {
    const uint64_t generation = ReadNewestSuperblock(*devices.data)->generation;
    Damage(*devices.data, SuperblockOffset(generation, 1));
    auto opened = devices.Open(TestOptions());
    REQUIRE(opened.ok());
    CheckAll(*opened->store, 1);
  }
}

TEST_CASE("Pages are durable, and slots reused, by rounds that nobody asked for") {
  SegmentStoreOptions options = TestOptions("lfs");
  options.space_utilization = 0.9;
  Devices devices;
  devices.Make(options, /*clean=*/false);
  auto opened = devices.Open(options);
  REQUIRE(opened.ok());
  const WriteTicket before = opened->store->durable_ticket();
  const uint64_t size = devices.data->geometry().size_bytes;
  for (uint64_t v = 2; v < 40; ++v) WriteAll(*opened->store, v);
  CHECK(opened->store->durable_ticket() > before + 1000);
  CHECK(devices.data->geometry().size_bytes <= size + (1 << 20));
  CheckAll(*opened->store, 39);
}

}  // namespace
}  // namespace latchkey::crash_safe_open_test
