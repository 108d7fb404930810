#include "layout/checkpoint/map_checkpointer.h"

#include <catch2/catch.hpp>

#include "layout/testing/directory_on_memory.h"

namespace latchkey::map_checkpointer_test {
namespace {

constexpr StoreGeometry kGeometry = DirectoryOnMemory::kGeometry;

class CountedCleaner final : public BackgroundCleaner {
 public:
  absl::Status Start() override {
    ++starts;
    return absl::OkStatus();
  }
  Mutex& pass_mutex() override { return mutex_; }
  int starts = 0;

 private:
  Mutex mutex_{ThreadRuntime()};
};

Superblock NewFile() {
  Superblock superblock;
  superblock.page_size = kGeometry.page_size;
  superblock.segment_size = kGeometry.segment_size;
  superblock.database_id = DirectoryOnMemory::kDatabaseId;
  return superblock;
}

// A checkpointer of an empty file, without the rest of a store.
struct Checkpointing {
  explicit Checkpointing(std::unique_ptr<BlockDevice> journal = nullptr)
      : directory(/*with_journal=*/false, /*segments=*/0),
        space(*directory, SpaceSizing::Make(kGeometry, 0.8, 0)),
        checkpointer(*directory, space, NewFile(), std::move(journal), Options()) {
    checkpointer.AttachCleaner(&cleaner);
    REQUIRE(checkpointer.Format().ok());
  }
  static MapCheckpointer::Options Options() {
    MapCheckpointer::Options options;
    options.journal.database_id = DirectoryOnMemory::kDatabaseId;
    options.journal.segment_bytes = 8192;
    options.space_utilization = 0.8;
    options.layout = "overwrite";
    return options;
  }
  Superblock Newest() { return *ReadNewestSuperblock(directory.device()); }
  absl::Status Checkpoint(bool clean) {
    return checkpointer.Checkpoint(root, clean, [] { return absl::OkStatus(); });
  }

  DirectoryOnMemory directory;
  SpaceManager space;
  CountedCleaner cleaner;
  MapCheckpointer checkpointer;
  std::vector<std::byte> root{std::byte{7}};
};

TEST_CASE("The first change marks the file unclean and starts the cleaner, later ones do nothing") {
  Checkpointing c;
  CHECK(c.Newest().clean);
  CHECK(c.cleaner.starts == 0);
  REQUIRE(c.checkpointer.EnsureUnclean().ok());
  CHECK_FALSE(c.Newest().clean);
  CHECK(c.cleaner.starts == 1);
  const uint64_t generation = c.Newest().generation;
  REQUIRE(c.checkpointer.EnsureUnclean().ok());
  CHECK(c.Newest().generation == generation);

  REQUIRE(c.Checkpoint(/*clean=*/true).ok());
  CHECK(c.Newest().clean);
  CHECK(c.checkpointer.HasClean(c.root));
  REQUIRE(c.checkpointer.EnsureUnclean().ok());
  CHECK_FALSE(c.checkpointer.HasClean(c.root));
  CHECK(c.cleaner.starts == 1);
}

struct ClosedGate final : PageStoreClient {
  absl::Status MayPublishCheckpoint() override { return absl::DataLossError("the log has failed"); }
};

TEST_CASE("Behind a closed gate no checkpoint is published, and the store is read-only") {
  Checkpointing c;
  REQUIRE(c.checkpointer.EnsureUnclean().ok());
  REQUIRE(c.Checkpoint(/*clean=*/false).ok());
  const uint64_t generation = c.Newest().generation;

  ClosedGate gate;
  c.directory.core().client.Attach(gate);
  c.root = {std::byte{8}};
  CHECK_FALSE(c.Checkpoint(/*clean=*/true).ok());
  CHECK(c.Newest().generation == generation);
  CHECK(c.Newest().client_root == std::vector{std::byte{7}});
  CHECK(c.directory.core().poisoned());

  // The store stays read-only: what failed once may not be made good by a later checkpoint.
  c.directory.core().DetachClient();
  CHECK_FALSE(c.Checkpoint(/*clean=*/true).ok());
  CHECK(c.Newest().generation == generation);
}

TEST_CASE("Behind a closed gate a clean file stays clean") {
  Checkpointing c;
  ClosedGate gate;
  c.directory.core().client.Attach(gate);
  CHECK_FALSE(c.checkpointer.EnsureUnclean().ok());
  CHECK_FALSE(c.checkpointer.is_unclean());
  CHECK(c.Newest().clean);
  CHECK(c.cleaner.starts == 0);
}

// More pages were allocated while the checkpoint waited: the process ended.
TEST_CASE("A checkpoint returns ResourceExhausted if its words do not fit into its segments") {
  Checkpointing c;
  const auto segment = c.space.TakeMetaSegment(MetaClaim::kLast);
  REQUIRE(segment.ok());
  CheckpointWriter out(c.directory->core(), 1, {*segment});
  for (uint64_t i = 0; i < CheckpointWriter::BytesPerSegment(kGeometry) / 8; ++i) {
    REQUIRE(out.Put(i).ok());
  }
  CHECK_FALSE(out.is_chain_full());
  CHECK(absl::IsResourceExhausted(out.Put(0)));
  CHECK(out.is_chain_full());
}

TEST_CASE("A checkpoint frees the segments of the one before") {
  Checkpointing c;
  REQUIRE(c.checkpointer.EnsureUnclean().ok());
  REQUIRE(c.Checkpoint(/*clean=*/false).ok());
  const uint32_t free = c.directory->segments().free_count();
  for (int i = 0; i < 10; ++i) REQUIRE(c.Checkpoint(/*clean=*/false).ok());
  CHECK(c.directory->segments().free_count() == free);
}

TEST_CASE("A checkpoint whose pages cannot be written out publishes nothing and costs no segment") {
  Checkpointing c;
  REQUIRE(c.checkpointer.EnsureUnclean().ok());
  const uint64_t generation = c.Newest().generation;
  const uint32_t free = c.directory->segments().free_count();
  const absl::Status failed = c.checkpointer.Checkpoint(
      c.root, /*clean=*/false, [] { return absl::UnavailableError("a write failed"); });
  CHECK(absl::IsUnavailable(failed));
  CHECK(c.Newest().generation == generation);
  CHECK(c.directory->segments().free_count() == free);
}

TEST_CASE("When the journal is full, a checkpoint of the map takes the place of the round") {
  constexpr uint64_t kJournalBytes = 5 * 8192;
  Checkpointing c(std::make_unique<ForwardingDevice>(NewTestDevice(kJournalBytes)));
  const PageId page = *c.directory->map().Allocate();
  REQUIRE(c.checkpointer.EnsureUnclean().ok());
  const SegmentId segment = c.directory.OpenSegment();
  const uint64_t generation = c.Newest().generation;

  SlotId before = kGeometry.SlotAt(segment, 0), now = kGeometry.SlotAt(segment, 1);
  c.directory.WriteOut(c.directory.Accept(page, before, 0));
  int rounds = 0;
  for (; c.Newest().generation == generation && rounds < 1000; ++rounds) {
    c.directory.WriteOut(c.directory.Accept(page, now, 1));
    REQUIRE(c.checkpointer.MakeDurable().ok());
    REQUIRE_FALSE(c.directory.IsOwned(before));
    REQUIRE(c.directory.IsOwned(now));
    std::swap(before, now);
  }
  CHECK(rounds > 1);
  CHECK(c.Newest().generation == generation + 1);
  CHECK_FALSE(c.Newest().clean);
  CHECK_FALSE(c.directory->journal_is_full());
  CHECK(c.directory->durable_ticket() == c.directory->accepted_ticket());
}

}  // namespace
}  // namespace latchkey::map_checkpointer_test
