#include "layout/checkpoint/restorer.h"

#include <catch2/catch.hpp>
#include <optional>

#include "layout/checkpoint/checkpoint.h"
#include "layout/testing/store_on_memory.h"

namespace latchkey::restorer_test {
namespace {

constexpr uint64_t kPages = 60;

MapJournalOptions JournalOptions() {
  MapJournalOptions options;
  options.database_id = TestOptions().database_id;
  return options;
}

// The files of a store, written by a real one and read by RestoreDirectory alone.
struct Files {
  // Writes version 1 of every page, and frees page 3. A clean close ends with a checkpoint; after a
  // crash there are only rounds behind the empty store.
  void Write(bool clean) {
    std::unique_ptr<SegmentStore> store =
        std::move(OpenTestStore(data, TestOptions("hylog"), journal)->store);
    TestPage page;
    auto writer = *store->NewWriter(8);
    for (uint64_t i = 0; i < kPages; ++i) {
      const PageId id = *store->AllocatePage();
      page.Fill(id, 1);
      const PageWrite write{id, page.data()};
      REQUIRE(writer->Submit({&write, 1}, nullptr).ok());
    }
    REQUIRE(writer->WaitWritten(0).ok());
    store->FreePage(PageId{3});
    REQUIRE((clean ? store->Checkpoint({}, true) : store->Flush()).ok());
  }
  // Writes the checkpoint as older builds did, with 8 bytes for each id. REQUIRES: Restore was OK.
  void WriteOldCheckpoint() {
    Superblock superblock = *ReadNewestSuperblock(*data);
    const SegmentId segment = *directory->segments().TakeMeta(0);
    ++superblock.generation;
    CheckpointWriter out(*core, superblock.generation, {segment});
    for (uint64_t id = 0; id < superblock.page_id_limit; ++id) {
      REQUIRE(out.Put(directory->map().Load(PageId{id}).bits()).ok());
    }
    for (uint32_t s = 0; s < superblock.segments; ++s) {
      const bool in_use = directory->segments().LiveOf(SegmentId{s}) > 0;
      const SegmentState state = SegmentId{s} == segment ? SegmentState::kMeta
                                 : in_use                ? SegmentState::kClosed
                                                         : SegmentState::kFree;
      REQUIRE(out.Put(SegmentEntry{state, SegmentKind::kHot, 0}.Encode()).ok());
    }
    REQUIRE(out.Finish().ok());
    superblock.short_free_words = false;
    superblock.checkpoint_segment = Raw(segment);
    superblock.checkpoint_generation = superblock.generation;
    REQUIRE(WriteSuperblock(*data, superblock).ok());
  }
  absl::Status Restore() {
    const absl::StatusOr<Superblock> superblock = ReadNewestSuperblock(*data);
    if (!superblock.ok()) return superblock.status();
    core.emplace(ThreadRuntime(), *data,
                 StoreGeometry::Of(superblock->page_size, superblock->segment_size),
                 superblock->database_id, LogSink{});
    directory.emplace(*core);
    std::unique_ptr<BlockDevice> device;
    if (!superblock->clean) device = std::make_unique<ForwardingDevice>(journal);
    auto segments = RestoreDirectory(*superblock, std::move(device), JournalOptions(), *directory);
    if (segments.ok()) checkpoint = *std::move(segments);
    return segments.status();
  }
  void CheckPages() {
    TestPage page;
    CHECK(directory->map().allocated() == kPages - 1);
    for (uint64_t i = 0; i < kPages; ++i) {
      CAPTURE(i);
      const LocationWord word = directory->map().Load(PageId{i});
      if (i == 3) {
        CHECK(word.free());
        continue;
      }
      REQUIRE(word.on_device());
      CHECK(directory->segments().OwnerOf(word.slot()) == PageId{i});
      REQUIRE(
          data->Read(core->geometry.OffsetOf(word.slot()), {page.data(), 4096}, IoClass::kPageRead)
              .ok());
      CHECK(directory->Prove(PageId{i}, word, {page.data(), 4096}).ok());
      CHECK(page.Holds(PageId{i}, 1));
    }
  }

  std::shared_ptr<BlockDevice> data = NewTestDevice(), journal = NewTestDevice();
  std::optional<StoreCore> core;
  std::optional<PageDirectory> directory;
  std::vector<SegmentId> checkpoint;
};

TEST_CASE("The files of a closed store give a directory of all its pages, without a journal") {
  Files files;
  files.Write(/*clean=*/true);
  REQUIRE(files.Restore().ok());
  files.CheckPages();
  CHECK(files.directory->journal() == nullptr);
  REQUIRE_FALSE(files.checkpoint.empty());
  for (const SegmentId segment : files.checkpoint) {
    CHECK(files.directory->segments().StateOf(segment) == SegmentState::kMeta);
  }
}

TEST_CASE("A free id takes 4 bytes of a checkpoint, and keeps its write sequence") {
  Files files;
  files.Write(/*clean=*/true);
  const Superblock superblock = *ReadNewestSuperblock(*files.data);
  CHECK(superblock.short_free_words);
  CHECK(superblock.page_id_limit == kPages);
  CHECK(superblock.checkpoint_bytes == 8 * (kPages + superblock.segments) - 4);
  REQUIRE(files.Restore().ok());
  CHECK(files.directory->map().Load(PageId{3}) == LocationWord::Free(1));
  CHECK(files.directory->map().checkpoint_bytes() == 8 * kPages - 4);
}

TEST_CASE("A checkpoint of an older build, with 8 bytes for a free id, gives the same directory") {
  Files files;
  files.Write(/*clean=*/true);
  REQUIRE(files.Restore().ok());
  files.WriteOldCheckpoint();
  REQUIRE(files.Restore().ok());
  files.CheckPages();
  CHECK(files.directory->map().Load(PageId{3}) == LocationWord::Free(1));
}

TEST_CASE("The files of a store that was not closed give a directory as of its last round") {
  Files files;
  files.Write(/*clean=*/false);
  REQUIRE(files.Restore().ok());
  files.CheckPages();
  CHECK(files.directory->journal() != nullptr);
  CHECK(files.checkpoint.empty());
  CHECK(files.directory->accepted_ticket() == kPages);
  CHECK(files.directory->durable_ticket() == kPages);
}

TEST_CASE("A restored directory hands out freed ids, and segments that no page lies in are free") {
  Files files;
  files.Write(GENERATE(false, true));
  REQUIRE(files.Restore().ok());
  CHECK(*files.directory->map().Allocate() == PageId{3});
  const StoreSegmentTable& table = files.directory->segments();
  uint32_t used = static_cast<uint32_t>(files.checkpoint.size());
  for (uint32_t s = 0; s < table.total(); ++s) used += table.LiveOf(SegmentId{s}) > 0;
  CHECK(table.free_count() == table.total() - used);
}

TEST_CASE("Files that are too short for their pages give no directory") {
  Files files;
  const bool clean = GENERATE(false, true);
  files.Write(clean);
  const StoreGeometry geometry = StoreGeometry::Of(4096, TestOptions().segment_size);
  REQUIRE(files.data->Resize(geometry.FileBytes(1)).ok());
  const absl::Status restored = files.Restore();
  CHECK(absl::IsDataLoss(restored));
  CHECK(std::string(restored.message()).find("truncated") != std::string::npos);
}

}  // namespace
}  // namespace latchkey::restorer_test
