#include "layout/checkpoint/superblock.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "layout/geometry.h"
#include "layout/map/location_word.h"
#include "layout/map/segment_table.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/runtime/runtime.h"

namespace latchkey::superblock_test {
namespace {

Superblock Example() {
  Superblock s;
  s.generation = 3;
  s.database_id = 0x1122334455667788;
  s.page_size = 4096;
  s.segment_size = 1 << 20;
  s.segments = 300;
  s.page_id_limit = 70000;
  s.checkpoint_segment = 17;
  s.checkpoint_bytes = 562400;
  s.checkpoint_generation = 2;
  s.space_utilization = 0.95;
  s.clean = true;
  s.crash_safe = true;
  s.journal_start = 0x123456;
  s.doublewrite_pages = 126;
  s.log_reach = 0x654321;
  s.layout = "hylog";
  s.costs = {.page_write_ns = 9000, .segment_write_ns = 900, .segment_read_ns = 8000};
  s.costs.page_read_ns = 7000;
  s.costs.slot_read_ns = 700;
  s.costs.protection_ns = 9000;
  s.clock = 123456;
  s.client_root = {std::byte{0xaa}, std::byte{0xbb}};
  return s;
}

TEST_CASE("A superblock has the bytes that FORMAT.md says") {
  const SuperblockLayout block = EncodeSuperblock(Example());
  const auto* bytes = reinterpret_cast<const uint8_t*>(&block);
  const auto u32 = [&](size_t at) {
    uint32_t v = 0;
    std::memcpy(&v, bytes + at, 4);
    return v;
  };
  const auto u64 = [&](size_t at) {
    uint64_t v = 0;
    std::memcpy(&v, bytes + at, 8);
    return v;
  };
  CHECK(std::memcmp(bytes, "LATCHKEY", 8) == 0);
  CHECK(u32(8) == 2);
  CHECK(u32(12) == 4096);
  CHECK(u64(16) == 0xef9defb5e2fd14a7);
  CHECK(u64(24) == 3);
  CHECK(u64(32) == 0x1122334455667788);
  CHECK(u64(40) == 0);
  CHECK(u64(48) == 0);
  CHECK(u64(56) == 0);
  CHECK(u32(64) == 4096);
  CHECK(u32(68) == 1 << 20);
  CHECK(u64(72) == 300);
  CHECK(u64(80) == 70000);
  CHECK(u64(88) == 17);
  CHECK(u64(96) == 562400);
  CHECK(u32(104) == 950000);
  CHECK(u32(108) == 3);
  CHECK(std::memcmp(bytes + 112, "hylog\0\0\0\0\0\0\0\0\0\0\0", 16) == 0);
  CHECK(u64(128) == 0x40c1940000000000);  // 9000.0
  CHECK(u32(152) == 2);
  CHECK(u32(156) == 126);
  CHECK(u64(160) == 0x123456);
  CHECK(u64(168) == 0x654321);
  CHECK(u64(176) == 123456);
  CHECK(u64(184) == 2);
  CHECK(u64(192) == 0x40bb580000000000);  // 7000.0
  CHECK(u64(200) == 0x4085e00000000000);  // 700.0
  CHECK(u64(208) == 0x40c1940000000000);
  CHECK(u64(216) == 0);
  CHECK(bytes[2048] == 0xaa);
  CHECK(bytes[2049] == 0xbb);
}

TEST_CASE("A superblock without a log and later costs has the bytes it always had") {
  Superblock s = Example();
  s.log_reach = 0;
  s.costs.page_read_ns = s.costs.slot_read_ns = s.costs.protection_ns = 0;
  CHECK(EncodeSuperblock(s).checksum == 0x37abe5b6674c1d59);
}

TEST_CASE("A superblock survives the way to the device and back") {
  const auto decoded = DecodeSuperblock(EncodeSuperblock(Example()));
  REQUIRE(decoded.ok());
  CHECK(decoded->generation == 3);
  CHECK(decoded->layout == "hylog");
  CHECK(decoded->clean);
  CHECK(decoded->space_utilization == Approx(.95));
  CHECK(decoded->client_root == Example().client_root);
  CHECK(decoded->costs.segment_read_ns == 8000);
  CHECK(decoded->costs.page_read_ns == 7000);
  CHECK(decoded->costs.slot_read_ns == 700);
  CHECK(decoded->costs.protection_ns == 9000);
  CHECK(decoded->log_reach == 0x654321);
}

// Builds that know powers of two alone take any other size for damage, unless a bit says more.
TEST_CASE("Only segments that older builds do not find have a feature bit") {
  Superblock s = Example();
  for (const uint32_t segment_size : {64u << 10, 4u << 20, 16u << 20}) {
    s.segment_size = segment_size;
    CHECK(EncodeSuperblock(s).incompatible_features == 0);
  }
  for (const uint32_t segment_size : {192u << 10, 12u << 20, 32u << 20}) {
    s.segment_size = segment_size;
    CHECK(EncodeSuperblock(s).incompatible_features == 2);
    const auto decoded = DecodeSuperblock(EncodeSuperblock(s));
    REQUIRE(decoded.ok());
    CHECK(decoded->segment_size == segment_size);
    CHECK(decoded->aligned_segments);
  }
  s.segment_size = 4u << 20;
  s.aligned_segments = true;
  CHECK(EncodeSuperblock(s).incompatible_features == 2);
  const auto decoded = DecodeSuperblock(EncodeSuperblock(s));
  REQUIRE(decoded.ok());
  CHECK(decoded->aligned_segments);
  CHECK(StoreGeometry::Of(4096, 4u << 20, 1, /*aligned=*/true).OffsetOf(SegmentId{1}) == 8u << 20);
  CHECK(StoreGeometry::Of(4096, 4u << 20).OffsetOf(SegmentId{1}) == 5u << 20);
}

TEST_CASE("Only a checkpoint with short words of free ids has their feature bit") {
  Superblock s = Example();
  CHECK(EncodeSuperblock(s).incompatible_features == 0);
  s.short_free_words = true;
  CHECK(EncodeSuperblock(s).incompatible_features == 4);
  const auto decoded = DecodeSuperblock(EncodeSuperblock(s));
  REQUIRE(decoded.ok());
  CHECK(decoded->short_free_words);
}

TEST_CASE("A stored cost that no measurement gives counts as not known") {
  Superblock s = Example();
  s.costs.page_write_ns = std::numeric_limits<double>::quiet_NaN();
  s.costs.page_read_ns = -1;
  s.costs.protection_ns = std::numeric_limits<double>::infinity();
  const auto decoded = DecodeSuperblock(EncodeSuperblock(s));
  REQUIRE(decoded.ok());
  CHECK(decoded->costs.page_write_ns == 0);
  CHECK(decoded->costs.page_read_ns == 0);
  CHECK(decoded->costs.protection_ns == 0);
}

TEST_CASE("Every damaged byte of a superblock is found") {
  const SuperblockLayout good = EncodeSuperblock(Example());
  for (size_t i = 0; i < sizeof(good); i += 7) {
    SuperblockLayout block = good;
    reinterpret_cast<uint8_t*>(&block)[i] ^= 0x10;
    CHECK_FALSE(DecodeSuperblock(block).ok());
  }
}

// A valid checksum does not mean valid fields: a segment size in GiB made an open take that memory.
TEST_CASE("A superblock whose segments no store can have is damaged, whatever its checksum") {
  Superblock s = Example();
  s.page_size = 65536;
  s.doublewrite_pages = 1;
  for (const uint32_t segment_size : {0u, 1u << 18, (3u << 20) + 4096, 128u << 20, 1u << 31}) {
    s.segment_size = segment_size;
    CHECK(absl::IsDataLoss(DecodeSuperblock(EncodeSuperblock(s)).status()));
  }
  for (const uint32_t segment_size : {1u << 19, 3u << 20, 16u << 20, 64u << 20}) {
    s.segment_size = segment_size;
    CHECK(DecodeSuperblock(EncodeSuperblock(s)).ok());
  }
}

// The state after a first crash: generations 1 and 2, and the first copy of generation 3 with
// garbage in a sector that should hold zeros.
void WriteTornStore(BlockDevice& device, const Superblock& torn) {
  Superblock s = Example();
  REQUIRE(device.Resize(kHeaderAreaBytes).ok());
  for (s.generation = 1; s.generation <= 2; ++s.generation) {
    REQUIRE(WriteSuperblock(device, s).ok());
  }
  const SuperblockLayout block = EncodeSuperblock(torn);
  AlignedBuffer buffer(kSuperblockSize);
  std::memcpy(buffer.data(), &block, sizeof(block));
  std::memset(buffer.data() + 3 * 512, 0xa5, 512);
  REQUIRE(device.Write(SuperblockOffset(torn.generation, 0), buffer.span(), IoClass::kMeta).ok());
  REQUIRE(device.Sync().ok());
}

// Most sectors are equal in all superblocks. So half of the next write completed the torn copy, and
// the next open followed it to a checkpoint that had been overwritten meanwhile.
TEST_CASE("No crash while a superblock is written makes a torn one of before come back") {
  Runtime& runtime = ThreadRuntime();
  CrashRecorder disks(runtime, {.record = false});
  const uint32_t disk = disks.AddDisk("data");
  Superblock torn = Example();
  torn.checkpoint_segment = 99;
  WriteTornStore(*disks.Open(disk), torn);

  CrashRecorder second(runtime);
  REQUIRE(second.AddDisk("data", disks.content(disk)) == disk);
  Superblock next = torn;
  next.checkpoint_segment = 17;
  REQUIRE(WriteSuperblock(*second.Open(disk), next).ok());

  CrashReplay replay(second);
  int completed = 0;
  for (uint64_t position = 0; position <= replay.end(); ++position) {
    replay.AdvanceTo(position);
    for (const CrashChoice& choice : replay.Choices({.exhaustive_sectors = 16})) {
      CrashRecorder third(runtime, {.record = false});
      third.AddDisk("data", replay.Images(choice, /*seed=*/1)[disk]);
      const auto found = ReadNewestSuperblock(*third.Open(disk));
      INFO("position " << position << ", " << CrashVariantName(choice.variant) << " "
                       << choice.index << ": " << found.status().ToString());
      REQUIRE(found.ok());
      CHECK(found->checkpoint_segment == 17);
      CHECK(found->generation >= 2);
      completed += found->generation == 3;
    }
  }
  CHECK(completed > 0);
}

TEST_CASE("A map entry and a table entry have the bits that FORMAT.md says") {
  CHECK(LocationWord::OnDevice(SlotId{5}, 3).bits() ==
        ((uint64_t{2} << 62) | (uint64_t{3} << 36) | 5));
  CHECK(LocationWord::Free(9).bits() == uint64_t{9} << 36);
  const SegmentEntry entry{SegmentState::kClosed, SegmentKind::kCold, 1000};
  CHECK(entry.Encode() == ((uint64_t{1000} << 16) | (1 << 8) | 3));
  CHECK(SegmentEntry::Decode(entry.Encode()).birth == 1000);
}

TEST_CASE("A write sequence wraps around past the value that means never written") {
  const uint32_t last = (1u << LocationWord::kSequenceBits) - 1;
  CHECK(LocationWord::OnDevice(SlotId{1}, last).next_sequence() == 1);
  CHECK(LocationWord::OnDevice(SlotId{1}, 1).next_sequence() == 2);
  CHECK(LocationWord::OnDevice(SlotId{LocationWord::kMaxSlots - 1}, last).slot() ==
        SlotId{LocationWord::kMaxSlots - 1});
}

}  // namespace
}  // namespace latchkey::superblock_test
