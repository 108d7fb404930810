#include "storage/wal/log_format.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey::log_format_test {
namespace {

constexpr uint64_t kDatabase = 0x0123456789abcdef;

std::string Hex(const std::byte* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < size; ++i) {
    const auto b = static_cast<unsigned>(bytes[i]);
    hex += kDigits[b >> 4];
    hex += kDigits[b & 15];
    if (i % 8 == 7) hex += ' ';
  }
  return hex;
}

TEST_CASE("A log's file header has these bytes") {
  std::array<std::byte, kLogFileHeaderBytes> bytes;
  EncodeLogFileHeader({.incompatible = 1,
                       .read_only_compatible = 2,
                       .compatible = 3,
                       .database_id = kDatabase,
                       .segment_bytes = 4u << 20,
                       .block_bytes = 512,
                       .slots = 77},
                      bytes.data());
  CHECK(Hex(bytes.data(), 64) ==
        "4c617463684c6f67 0100000001000000 0200000003000000 efcdab8967452301 "
        "0000400000020000 4d00000000000000 0000000000000000 ff8745d53945ad2b ");
  const auto back = DecodeLogFileHeader(bytes.data());
  REQUIRE(back);
  CHECK(back->version == 1);
  CHECK(back->incompatible == 1);
  CHECK(back->read_only_compatible == 2);
  CHECK(back->compatible == 3);
  CHECK(back->database_id == kDatabase);
  CHECK(back->segment_bytes == 4u << 20);
  CHECK(back->block_bytes == 512);
  CHECK(back->slots == 77);
}

TEST_CASE("A segment header has these bytes, and counts only in its own slot and database") {
  std::array<std::byte, kSegmentHeaderBytes> bytes;
  EncodeSegmentHeader({.slot = 5, .index = 1234, .epoch = 9}, kDatabase, bytes.data());
  CHECK(Hex(bytes.data(), 64) ==
        "4c4b534705000000 d204000000000000 0900000000000000 0000000000000000 "
        "0000000000000000 0000000000000000 0000000000000000 172ff1a258a26a69 ");
  const auto back = DecodeSegmentHeader(bytes.data(), kDatabase, 5);
  REQUIRE(back);
  CHECK(back->index == 1234);
  CHECK(back->epoch == 9);
  CHECK_FALSE(DecodeSegmentHeader(bytes.data(), kDatabase, 6));
  CHECK_FALSE(DecodeSegmentHeader(bytes.data(), kDatabase + 1, 5));
  EncodeSegmentHeader({.slot = 5, .index = UINT64_MAX - 1, .epoch = 9}, kDatabase, bytes.data());
  CHECK_FALSE(DecodeSegmentHeader(bytes.data(), kDatabase, 5));
}

// Two records, "one" and "three", padded to a block.
std::vector<std::byte> TwoRecords(bool begins_epoch = false) {
  std::vector<std::byte> group(512);
  EncodeRecordHeader(3, group.data() + 64);
  std::memcpy(group.data() + 68, "one", 3);
  EncodeRecordHeader(5, group.data() + 71);
  std::memcpy(group.data() + 75, "three", 5);
  SealGroup({.lsn = 0x1000,
             .epoch = 7,
             .begins_epoch = begins_epoch,
             .bytes = 512,
             .record_bytes = 16,
             .records = 2},
            kDatabase, group.data());
  return group;
}

TEST_CASE("A group has these bytes") {
  const std::vector<std::byte> group = TwoRecords();
  CHECK(Hex(group.data(), 80) ==
        "4c4b475000000000 0010000000000000 0700000000000000 0002000010000000 "
        "0200000000000000 7c67884c861bd253 0000000000000000 093f1150c0226bb0 "
        "030000006f6e6505 0000007468726565 ");
  const auto header = DecodeGroupHeader(group.data(), kDatabase, 0x1000, 512);
  REQUIRE(header);
  CHECK(header->epoch == 7);
  CHECK_FALSE(header->begins_epoch);
  CHECK(header->bytes == 512);
  CHECK(header->record_bytes == 16);
  CHECK(header->records == 2);
  CHECK(IsGroupBodySound(*header, kDatabase, group.data()));
  const auto one = RecordAt(*header, group.data(), 64);
  const auto three = RecordAt(*header, group.data(), 71);
  CHECK(std::string(reinterpret_cast<const char*>(one.data()), one.size()) == "one");
  CHECK(std::string(reinterpret_cast<const char*>(three.data()), three.size()) == "three");
  for (const uint64_t nowhere : {0, 63, 80, 81, 512, 100'000}) {
    CHECK(RecordAt(*header, group.data(), nowhere).empty());
  }
  CHECK(DecodeGroupHeader(TwoRecords(true).data(), kDatabase, 0x1000, 512)->begins_epoch);
}

TEST_CASE("A group counts only at its own position, in its own database, with its own blocks") {
  const std::vector<std::byte> group = TwoRecords();
  CHECK_FALSE(DecodeGroupHeader(group.data(), kDatabase, 0x1200, 512));
  CHECK_FALSE(DecodeGroupHeader(group.data(), kDatabase + 1, 0x1000, 512));
  CHECK_FALSE(DecodeGroupHeader(group.data(), kDatabase, 0x1000, 4096));
  CHECK(DecodeAnyGroupHeader(group.data(), kDatabase, 512)->lsn == 0x1000);
}

TEST_CASE("Every changed bit of a header or a body is noticed") {
  std::array<std::byte, 64> file, segment;
  EncodeLogFileHeader({.database_id = kDatabase, .segment_bytes = 8192, .block_bytes = 512},
                      file.data());
  EncodeSegmentHeader({.slot = 1, .index = 2, .epoch = 3}, kDatabase, segment.data());
  std::vector<std::byte> group = TwoRecords();
  const auto sound = *DecodeGroupHeader(group.data(), kDatabase, 0x1000, 512);
  for (size_t bit = 0; bit < 512 * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1 << bit % 8)};
    if (bit < 512) {
      file[bit / 8] ^= mask;
      segment[bit / 8] ^= mask;
      CHECK_FALSE(DecodeLogFileHeader(file.data()));
      CHECK_FALSE(DecodeSegmentHeader(segment.data(), kDatabase, 1));
      file[bit / 8] ^= mask;
      segment[bit / 8] ^= mask;
    }
    group[bit / 8] ^= mask;
    const auto header = DecodeGroupHeader(group.data(), kDatabase, 0x1000, 512);
    CHECK((bit < 512 ? !header : !IsGroupBodySound(sound, kDatabase, group.data())));
    group[bit / 8] ^= mask;
  }
}

TEST_CASE("Sealed nonsense is decoded without harm: lengths are bounded before use") {
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> group(512);
    for (std::byte& b : group) b = static_cast<std::byte>(rng.Next());
    SealGroup({.lsn = 0,
               .epoch = rng.Next(),
               .bytes = 512,
               .record_bytes = static_cast<uint32_t>(rng.Below(600)),
               .records = static_cast<uint32_t>(rng.Next())},
              kDatabase, group.data());
    const auto header = DecodeGroupHeader(group.data(), kDatabase, 0, 512);
    if (!header) continue;
    const auto record = RecordAt(*header, group.data(), rng.Below(700));
    if (!record.empty()) CHECK(record.data() + record.size() <= group.data() + group.size());
  }
}

}  // namespace
}  // namespace latchkey::log_format_test
