#include "tools/campaign/crash/crash_monitor.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "engine/log/client_root.h"
#include "layout/checkpoint/superblock.h"
#include "layout/geometry.h"
#include "layout/map/map_journal.h"
#include "storage/page_format.h"

namespace latchkey::crash_monitor_test {
namespace {

constexpr DatabaseOnDisks kDatabase = {
    .database_id = 7,
    .page_size = 4096,
    .log = {.segment_bytes = 16384, .block_bytes = 512},
    .journal = {.segment_bytes = 8192, .block_bytes = 512},
};
constexpr uint32_t kData = DatabaseOnDisks::kData, kLog = DatabaseOnDisks::kLog,
                   kJournal = DatabaseOnDisks::kJournal;

using Bytes = std::vector<std::byte>;

Bytes PageOf(uint64_t id, uint64_t lsn, uint32_t sequence) {
  Bytes page(kDatabase.page_size);
  PageHeader header{};
  header.lsn = lsn;
  header.page_type = static_cast<uint8_t>(PageType::kTreeLeaf);
  std::memcpy(page.data(), &header, sizeof(header));
  SealPage(page, PageId{id}, sequence, kDatabase.database_id);
  return page;
}

// A group of one record, at most one block.
Bytes GroupAt(uint64_t lsn, std::span<const std::byte> record = {}) {
  Bytes group(512);
  const auto size = static_cast<uint32_t>(record.size());
  if (size > 0) {
    EncodeRecordHeader(size, group.data() + kGroupHeaderBytes);
    std::memcpy(group.data() + kGroupHeaderBytes + kRecordHeaderBytes, record.data(), size);
  }
  SealGroup({.lsn = lsn,
             .epoch = 1,
             .bytes = 512,
             .record_bytes = size == 0 ? 0 : size + static_cast<uint32_t>(kRecordHeaderBytes),
             .records = size == 0 ? 0u : 1u},
            kDatabase.database_id, group.data());
  return group;
}

Bytes SuperblockOf(uint64_t generation, uint64_t log_end, uint64_t journal_start) {
  ClientRoot root;
  root.has_log = true;
  root.catalog_root = PageId{1};
  root.redo = root.first_needed = root.scan_from = Lsn{512};
  root.end = Lsn{log_end};
  Superblock superblock;
  superblock.generation = generation;
  superblock.database_id = kDatabase.database_id;
  superblock.page_size = kDatabase.page_size;
  superblock.segment_size = 65536;
  superblock.layout = "lfs";
  superblock.crash_safe = true;
  superblock.journal_start = journal_start;
  superblock.client_root = EncodeClientRoot(root);
  const SuperblockLayout block = EncodeSuperblock(superblock);
  Bytes bytes(sizeof(block));
  std::memcpy(bytes.data(), &block, sizeof(block));
  return bytes;
}

// Disks that complete each request before the next.
class Disks {
 public:
  std::string Submit(uint32_t disk, uint64_t offset, const Bytes& bytes) {
    return monitor_.OnWriteSubmitted(disk, offset, bytes);
  }
  std::string Write(uint32_t disk, uint64_t offset, const Bytes& bytes) {
    std::string violation = Submit(disk, offset, bytes);
    monitor_.OnWriteCompleted(disk, offset, bytes, ++writes_[disk]);
    return violation;
  }
  void Sync(uint32_t disk) { monitor_.OnDurable(disk, writes_[disk]); }

  // Offset of a log position in its first slot.
  static uint64_t LogOffset(const LogGeometry& geometry, uint64_t lsn) {
    return geometry.Offset(0, lsn);
  }
  std::string WriteGroup(uint32_t disk, uint64_t lsn, std::span<const std::byte> record = {}) {
    const LogGeometry& geometry = disk == kLog ? kDatabase.log : kDatabase.journal;
    return Write(disk, LogOffset(geometry, lsn), GroupAt(lsn, record));
  }

 private:
  WriteOrderMonitor monitor_{kDatabase};
  uint64_t writes_[3] = {0, 0, 0};
};

constexpr uint64_t kSlot0 = kHeaderAreaBytes;

TEST_CASE(
    "A page that is written before its log is durable is noticed, in a doublewrite area, too") {
  Disks disks;
  CHECK(disks.WriteGroup(kLog, 1024).empty());
  CHECK(disks.Write(kData, kSlot0, PageOf(3, 1000, 1)).empty());  // left by the crash
  // `as` copies the values. Without it a named constant as the first choice would make all choices
  // references, which would dangle when a choice is read.
  const uint64_t place = GENERATE(as<uint64_t>{}, kSlot0, DoublewriteOffset(1));
  CHECK_THAT(disks.Write(kData, place, PageOf(3, 1100, 2)),
             Catch::Contains("page 3 with LSN 1100"));
  disks.Sync(kLog);
  CHECK(disks.Write(kData, place, PageOf(3, 1100, 3)).empty());
  CHECK_FALSE(disks.Write(kData, place, PageOf(3, 1536, 4)).empty());
}

TEST_CASE("A group in two pieces is durable when both are") {
  Disks disks;
  Bytes group = GroupAt(15360);
  group.resize(1024);
  SealGroup({.lsn = 15360, .epoch = 1, .bytes = 1024}, kDatabase.database_id, group.data());
  const Bytes first(group.begin(), group.begin() + 512), second(group.begin() + 512, group.end());
  CHECK(disks.Write(kLog, kDatabase.log.Offset(0, 15360), first).empty());
  disks.Sync(kLog);
  CHECK_FALSE(disks.Write(kData, kSlot0, PageOf(3, 15424, 1)).empty());
  CHECK(disks.Write(kLog, kDatabase.log.Offset(1, 15872), second).empty());
  disks.Sync(kLog);
  CHECK(disks.Write(kData, kSlot0, PageOf(3, 15424, 1)).empty());
}

TEST_CASE("A page that leaves its doublewrite area too early is noticed") {
  Disks disks;
  CHECK(disks.Write(kData, DoublewriteOffset(0), PageOf(3, 0, 5)).empty());
  CHECK_THAT(disks.Write(kData, kSlot0, PageOf(3, 0, 5)), Catch::Contains("doublewrite"));
  disks.Sync(kData);
  CHECK(disks.Write(kData, kSlot0, PageOf(3, 0, 5)).empty());
  CHECK(disks.Write(kData, kSlot0, PageOf(4, 0, 1)).empty());  // a hole needs no protection
}

TEST_CASE("A map journal that names a page before it is durable is noticed") {
  Disks disks;
  REQUIRE(disks.Write(kData, kSlot0 + 4096, PageOf(3, 0, 5)).empty());
  const JournalEntry entry = JournalEntry::Page(PageId{3}, LocationWord::OnDevice(SlotId{1}, 5));
  const auto record = std::as_bytes(std::span(&entry, 1));
  CHECK_THAT(disks.WriteGroup(kJournal, 0, record), Catch::Contains("write 5 of page 3"));
  disks.Sync(kData);
  CHECK(disks.WriteGroup(kJournal, 512, record).empty());
  // A later write of the page in flight does not prove this one durable.
  REQUIRE(disks.Submit(kData, kSlot0 + 4096, PageOf(3, 0, 6)).empty());
  CHECK(disks.WriteGroup(kJournal, 1024, record).empty());
}

TEST_CASE("A superblock that comes before what it names, or before its other copy, is noticed") {
  Disks disks;
  REQUIRE(disks.WriteGroup(kLog, 1024).empty());
  REQUIRE(disks.WriteGroup(kJournal, 0).empty());
  CHECK_THAT(disks.Write(kData, 0, SuperblockOf(2, 1536, 0)), Catch::Contains("names the log"));
  disks.Sync(kLog);
  CHECK_THAT(disks.Write(kData, 0, SuperblockOf(2, 1536, 0)), Catch::Contains("copy before it"));
  disks.Sync(kData);
  CHECK(disks.Write(kData, kHeaderHalfBytes, SuperblockOf(2, 1536, 0)).empty());
  disks.Sync(kData);
  CHECK_THAT(disks.Write(kData, 4096, SuperblockOf(3, 1536, 512)), Catch::Contains("journal"));
  disks.Sync(kData);
  disks.Sync(kJournal);
  CHECK(disks.Write(kData, 4096, SuperblockOf(3, 1536, 512)).empty());
}

TEST_CASE("A superblock that comes before its checkpoint is noticed") {
  Disks disks;
  Bytes map = PageOf(0, /*generation=*/4, 4);
  map[offsetof(PageHeader, page_type)] = std::byte(PageType::kPageMap);
  Superblock superblock;
  superblock.generation = superblock.checkpoint_generation = 4;
  superblock.page_size = kDatabase.page_size;
  superblock.segment_size = 65536;
  const SuperblockLayout block = EncodeSuperblock(superblock);
  Bytes bytes(sizeof(block));
  std::memcpy(bytes.data(), &block, sizeof(block));
  REQUIRE(disks.Write(kData, kSlot0, map).empty());
  CHECK_THAT(disks.Submit(kData, 0, bytes), Catch::Contains("checkpoint"));
}

}  // namespace
}  // namespace latchkey::crash_monitor_test
