#include "engine/log/log_record.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "engine/btree/node.h"
#include "storage/base/rng.h"
#include "storage/page_format.h"

namespace latchkey::log_record_test {
namespace {

using Bytes = std::vector<std::byte>;

const LogRecordHeader kHeader{.type = LogRecordType::kChange, .txn = TxnId{77}, .previous = Lsn{5}};

LogRecordHeader HeaderOf(LogRecordType type) {
  LogRecordHeader header = kHeader;
  header.type = type;
  return header;
}

LogRecord DecodeOrFail(const Bytes& bytes) {
  LogRecord record;
  const absl::Status decoded = DecodeLogRecord(bytes, &record);
  if (!decoded.ok()) FAIL(decoded.message());
  return record;
}

constexpr uint32_t kPageLsn = 0x0a0b0c0d;

Bytes EncodedChange(const RecordChange& change, LogRecordType type = LogRecordType::kChange) {
  const ChangeEncoding encoding(type, change);
  Bytes bytes(encoding.size());
  encoding.Encode(HeaderOf(type), kPageLsn, bytes.data());
  return bytes;
}

const std::string kReference(kOverflowReferenceSize, 'r');
const RecordChange kSomeChange{.tree = TreeId{3},
                               .page = PageId{kMaxPageIds - 1},
                               .key = "key",
                               .now = RecordState::kValue,
                               .now_bytes = "new value",
                               .before = RecordState::kOverflow,
                               .before_bytes = kReference};

Bytes Leaf(uint32_t records) {
  Bytes page(4096);
  NodeEditor leaf(page.data(), 4096);
  leaf.Init(0, Fences{});
  for (uint32_t i = 0; i < records; ++i) {
    const std::string key = std::to_string(10'000 + i);
    REQUIRE(leaf.Insert(i, key, std::string(20, 'v'), 0));
  }
  return page;
}

Bytes EncodedImages(std::span<const PageImage> images, std::span<const PageId> freed) {
  Bytes bytes(ImagesRecordSize(images, freed.size()));
  EncodeImages(HeaderOf(LogRecordType::kImages), images, freed, bytes.data());
  return bytes;
}

constexpr std::string_view kSeparator = "10010";

Bytes EncodedSplit(const Bytes& right) {
  const PageSplit split{.page = PageId{12},
                        .parent = PageId{kMaxPageIds - 1},
                        .page_lsn = kPageLsn,
                        .parent_lsn = kPageLsn + 1,
                        .fence_prefix = 3,
                        .separator = kSeparator};
  const PageImage image = ImageOf(PageId{13}, right);
  Bytes bytes(SplitRecordSize(split, image));
  EncodeSplit({.type = LogRecordType::kSplit}, split, image, bytes.data());
  return bytes;
}

Bytes EncodedCheckpoint() {
  const ActiveTransaction transactions[] = {{TxnId{1}, Lsn{2}, Lsn{3}}, {TxnId{4}, Lsn{5}, Lsn{6}}};
  const OverflowChain chains[] = {{PageId{9}, 12345}};
  Bytes bytes(CheckpointRecordSize(2, 1));
  EncodeCheckpoint({.as_of = Lsn{1000}, .next_txn = TxnId{8}, .part = 1, .parts = 2}, transactions,
                   chains, bytes.data());
  return bytes;
}

TEST_CASE("A change comes back from its record") {
  const Bytes bytes = EncodedChange(kSomeChange);
  const LogRecord record = DecodeOrFail(bytes);
  CHECK(record.header.type == LogRecordType::kChange);
  CHECK(record.header.txn == kHeader.txn);
  CHECK(record.header.previous == kHeader.previous);
  CHECK(record.change.tree == kSomeChange.tree);
  CHECK(record.change.page == kSomeChange.page);
  CHECK(record.change.key == kSomeChange.key);
  CHECK(record.change.now == kSomeChange.now);
  CHECK(record.change.now_bytes == kSomeChange.now_bytes);
  CHECK(record.change.before == kSomeChange.before);
  CHECK(record.change.before_bytes == kSomeChange.before_bytes);
  CHECK(record.change.page_lsn == kPageLsn);
}

TEST_CASE("A compensation comes back from its record, with what it undoes") {
  RecordChange compensation = kSomeChange;
  compensation.undone_from = Lsn{uint64_t{1} << 40};
  const Bytes bytes = EncodedChange(compensation, LogRecordType::kCompensation);
  const LogRecord record = DecodeOrFail(bytes);
  CHECK(record.header.type == LogRecordType::kCompensation);
  CHECK(record.change.undone_from == compensation.undone_from);
  CHECK(record.change.now_bytes == kSomeChange.now_bytes);
}

TEST_CASE("A blind put comes back from its record, with its value whole") {
  RecordChange put = kSomeChange;
  put.before = RecordState::kAbsent;
  put.before_bytes = {};
  const Bytes bytes = EncodedChange(put, LogRecordType::kBlindPut);
  CHECK(bytes.size() == kLogChangeOverhead + put.key.size() + put.now_bytes.size());
  const LogRecord record = DecodeOrFail(bytes);
  CHECK(record.header.type == LogRecordType::kBlindPut);
  CHECK(record.change.page == put.page);
  CHECK(record.change.key == put.key);
  CHECK(record.change.now_bytes == put.now_bytes);
  CHECK(record.change.before == RecordState::kAbsent);
  CHECK(record.change.page_lsn == kPageLsn);
}

TEST_CASE("A change in the earlier format is refused, with the remedy") {
  Bytes bytes = EncodedChange(kSomeChange);
  bytes[0] = std::byte{1};
  LogRecord record;
  const absl::Status decoded = DecodeLogRecord(bytes, &record);
  CHECK(decoded.code() == absl::StatusCode::kDataLoss);
  CHECK(std::string(decoded.message()).find("the version that wrote it") != std::string::npos);
}

TEST_CASE("The bytes of a change are as documented") {
  const Bytes bytes = EncodedChange({.tree = TreeId{3},
                                     .page = PageId{0x01020304},
                                     .key = "k",
                                     .now = RecordState::kValue,
                                     .now_bytes = "n",
                                     .before = RecordState::kGhost,
                                     .before_bytes = {}});
  const unsigned char expected[] = {10, 0x12, 1, 0, 3, 0, 0,    0,    77,   0,    0,   0,  0,
                                    0,  0,    0, 5, 0, 0, 0,    0,    0,    0,    0,   4,  3,
                                    2,  1,    1, 0, 0, 0, 0x0d, 0x0c, 0x0b, 0x0a, 'k', 'n'};
  REQUIRE(bytes.size() == sizeof(expected));
  CHECK(std::memcmp(bytes.data(), expected, sizeof(expected)) == 0);
}

TEST_CASE("The bytes of a change from one value to another are as documented") {
  RecordChange change{.tree = TreeId{3},
                      .page = PageId{4},
                      .key = "k",
                      .now = RecordState::kValue,
                      .now_bytes = "0123456789abcXef",
                      .before = RecordState::kValue,
                      .before_bytes = "0123456789abcdef"};
  Bytes bytes = EncodedChange(change);
  const unsigned char one_run[] = {'k', 13, 0, 1, 0, 'X' ^ 'd'};
  REQUIRE(bytes.size() == kLogChangeOverhead + sizeof(one_run));
  CHECK(bytes[1] == std::byte{0x2a});
  CHECK(std::memcmp(bytes.data() + kLogChangeOverhead, one_run, sizeof(one_run)) == 0);

  change.now_bytes = "0123456789abcXYZef";
  bytes = EncodedChange(change);
  const unsigned char middles[] = {'k', 13, 0, 2, 0, 'X', 'Y', 'Z', 'd'};
  REQUIRE(bytes.size() == kLogChangeOverhead + sizeof(middles));
  CHECK(std::memcmp(bytes.data() + kLogChangeOverhead, middles, sizeof(middles)) == 0);
}

TEST_CASE(
    "Of a value that becomes another one only the difference is logged, which leads both ways") {
  Rng rng(3);
  for (int round = 0; round < 4000; ++round) {
    std::string before(rng.Below(300), 'b');
    std::string now = before;
    for (uint64_t i = rng.Below(40); i > 0 && !now.empty(); --i) {
      now[rng.Below(now.size())] = static_cast<char>(rng.Below(256));
    }
    if (rng.Below(3) == 0) now.insert(rng.Below(now.size() + 1), std::string(rng.Below(60), 'n'));
    if (rng.Below(3) == 0) now.resize(rng.Below(now.size() + 1));
    RecordChange change = kSomeChange;
    change.before = RecordState::kValue;
    change.before_bytes = before;
    change.now_bytes = now;
    const Bytes bytes = EncodedChange(change);
    REQUIRE(bytes.size() <= kLogChangeOverhead + change.key.size() + before.size() + now.size());
    if (now == before) REQUIRE(bytes.size() == kLogChangeOverhead + change.key.size());
    const LogRecord record = DecodeOrFail(bytes);
    REQUIRE(record.change.key == kSomeChange.key);
    std::string value = before;
    REQUIRE(BytesNow(record.change, &value));
    REQUIRE(value == now);
    REQUIRE(BytesBefore(record.change, &value));
    REQUIRE(value == before);
  }
}

TEST_CASE("A difference is refused by a value of another size") {
  RecordChange change = kSomeChange;
  change.before = RecordState::kValue;
  const std::string before(60, 'b'), now(50, 'b');
  change.before_bytes = before;
  change.now_bytes = now;
  const Bytes bytes = EncodedChange(change);
  const LogRecord record = DecodeOrFail(bytes);
  REQUIRE(record.change.is_difference);
  std::string value = now;
  CHECK_FALSE(BytesNow(record.change, &value));
  value = before;
  CHECK_FALSE(BytesBefore(record.change, &value));
  CHECK(value == before);
}

TEST_CASE("A page comes back from its image, but for what its free middle held") {
  const uint32_t records = GENERATE(0u, 1u, 7u, 60u);
  Bytes page = Leaf(records);
  page[kPageHeaderSize / 2] = std::byte{99};  // in the header: the layout's business
  const PageImage image = ImageOf(PageId{12}, page);
  const Bytes bytes = EncodedImages({&image, 1}, {{PageId{3}, PageId{4}}});
  if (records < 10) CHECK(bytes.size() < 800);
  const LogRecord record = DecodeOrFail(bytes);
  REQUIRE(record.images.size() == 1);
  CHECK(record.pages == std::vector<PageId>{PageId{3}, PageId{4}});
  CHECK(record.page_size == 4096);
  Bytes copy(4096, std::byte{0xee});
  ExpandImage(record.images[0], record.page_size, Lsn{555}, copy.data());
  CHECK(std::memcmp(copy.data() + kPageHeaderSize, page.data() + kPageHeaderSize,
                    4096 - kPageHeaderSize) == 0);
  const PageHeader header = PageHeaderOf(copy);
  CHECK(header.lsn == 555);
  CHECK(header.page_type == static_cast<uint8_t>(PageType::kTreeLeaf));
  CHECK(header.checksum == 0);
}

TEST_CASE("An image leaves out the zeros at the end of a page that is no tree page") {
  Bytes page(4096);
  page[offsetof(PageHeader, page_type)] = std::byte{static_cast<uint8_t>(PageType::kOverflow)};
  page[100] = std::byte{7};
  const PageImage image = ImageOf(PageId{1}, page);
  CHECK(image.hole_begin == 101);
  const Bytes bytes = EncodedImages({&image, 1}, {});
  Bytes copy(4096, std::byte{0xee});
  ExpandImage(DecodeOrFail(bytes).images[0], 4096, Lsn{1}, copy.data());
  CHECK(copy[100] == std::byte{7});
  CHECK(copy[4095] == std::byte{0});
}

TEST_CASE("A split comes back from its record, with the new page") {
  const Bytes right = Leaf(20);
  const Bytes bytes = EncodedSplit(right);
  CHECK(bytes.size() < 20 * 40);
  const LogRecord record = DecodeOrFail(bytes);
  CHECK(record.split.page == PageId{12});
  CHECK(record.split.parent == PageId{kMaxPageIds - 1});
  CHECK(record.split.page_lsn == kPageLsn);
  CHECK(record.split.parent_lsn == kPageLsn + 1);
  CHECK(record.split.fence_prefix == 3);
  CHECK(record.split.separator == kSeparator);
  REQUIRE(record.images.size() == 1);
  CHECK(record.images[0].page == PageId{13});
  Bytes copy(4096, std::byte{0xee});
  ExpandImage(record.images[0], record.page_size, Lsn{555}, copy.data());
  CHECK(std::memcmp(copy.data() + kPageHeaderSize, right.data() + kPageHeaderSize,
                    4096 - kPageHeaderSize) == 0);
}

TEST_CASE("A record of a split is refused if its fence prefix is longer than its separator") {
  Bytes bytes = EncodedSplit(Leaf(20));
  bytes[kLogRecordHeaderSize + 36] = std::byte{kSeparator.size() + 1};
  LogRecord record;
  CHECK(absl::IsDataLoss(DecodeLogRecord(bytes, &record)));
}

TEST_CASE("A checkpoint comes back from its record") {
  const LogRecord record = DecodeOrFail(EncodedCheckpoint());
  CHECK(record.checkpoint.as_of == Lsn{1000});
  CHECK(record.checkpoint.next_txn == TxnId{8});
  CHECK(record.checkpoint.part == 1);
  CHECK(record.checkpoint.parts == 2);
  REQUIRE(record.transactions.size() == 2);
  CHECK(record.transactions[1].last == Lsn{6});
  REQUIRE(record.chains.size() == 1);
  CHECK(record.chains[0].size == 12345);
}

TEST_CASE("Allocations, frees, ends and drops come back from their records") {
  const PageId pages[] = {PageId{0}, PageId{17}};
  Bytes bytes(AllocationRecordSize(2));
  EncodeAllocation(HeaderOf(LogRecordType::kAllocation), pages, bytes.data());
  CHECK(DecodeOrFail(bytes).pages.size() == 2);

  bytes.resize(FreeRecordSize(2));
  EncodeFree(HeaderOf(LogRecordType::kFree), kInvalidPageId, pages, bytes.data());
  CHECK(DecodeOrFail(bytes).chain == kInvalidPageId);
  EncodeFree(HeaderOf(LogRecordType::kFree), PageId{17}, pages, bytes.data());
  CHECK(DecodeOrFail(bytes).chain == PageId{17});

  bytes.resize(kEndRecordSize);
  EncodeEnd(HeaderOf(LogRecordType::kCommit), bytes.data());
  CHECK(DecodeOrFail(bytes).header.type == LogRecordType::kCommit);

  bytes.resize(DropTreeRecordSize(4));
  EncodeDropTree(HeaderOf(LogRecordType::kDropTree), TreeId{6}, PageId{3}, "name", bytes.data());
  const LogRecord drop = DecodeOrFail(bytes);
  CHECK(drop.tree == TreeId{6});
  CHECK(drop.root == PageId{3});
  CHECK(drop.name == "name");
}

// A record that decodes must be safe to use; other bytes must be refused.
void DecodeHostile(const Bytes& bytes) {
  LogRecord record;
  const absl::Status decoded = DecodeLogRecord(bytes, &record);
  if (!decoded.ok()) {
    REQUIRE(decoded.code() == absl::StatusCode::kDataLoss);
    return;
  }
  Bytes page(kMaxPageSize);
  for (const PageImage& image : record.images) {
    ExpandImage(image, record.page_size, Lsn{1}, page.data());
  }
  REQUIRE(record.change.key.size() <= kMaxNodeKeySize);
  if (!record.change.is_difference) return;
  std::string value(record.change.difference.before_size, 'v');
  REQUIRE(BytesNow(record.change, &value));
  REQUIRE(value.size() == record.change.difference.now_size);
  REQUIRE(BytesBefore(record.change, &value));
  REQUIRE(value.size() == record.change.difference.before_size);
}

TEST_CASE("Any bytes are decoded or refused") {
  Rng rng(1);
  const Bytes page = Leaf(20);
  const PageImage image = ImageOf(PageId{12}, page);
  const std::string before(60, 'v');
  std::string other = before;
  other[7] = other[40] = 'n';
  RecordChange same_size = kSomeChange;
  same_size.before = RecordState::kValue;
  same_size.before_bytes = before;
  same_size.now_bytes = other;
  RecordChange shorter = same_size;
  shorter.now_bytes = shorter.now_bytes.substr(10);
  const std::vector<Bytes> seeds = {EncodedChange(kSomeChange),
                                    EncodedChange(same_size),
                                    EncodedChange(shorter),
                                    EncodedChange(kSomeChange, LogRecordType::kCompensation),
                                    EncodedChange(kSomeChange, LogRecordType::kBlindPut),
                                    EncodedImages({&image, 1}, {{PageId{3}}}),
                                    EncodedCheckpoint()};
  for (int round = 0; round < 30'000; ++round) {
    Bytes bytes = seeds[rng.Below(seeds.size())];
    for (uint64_t i = 1 + rng.Below(4); i > 0; --i) {
      // Mostly within the header and the counts, where it hurts.
      const uint64_t bound = rng.Below(4) == 0 ? bytes.size() : std::min<size_t>(64, bytes.size());
      bytes[rng.Below(bound)] = static_cast<std::byte>(rng.Below(256));
    }
    if (rng.Below(4) == 0) bytes.resize(rng.Below(bytes.size() + 1));
    DecodeHostile(bytes);
  }
  for (int round = 0; round < 30'000; ++round) {
    Bytes bytes(rng.Below(120));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.Below(256));
    if (!bytes.empty()) bytes[0] = static_cast<std::byte>(rng.Below(13));
    DecodeHostile(bytes);
  }
}

}  // namespace
}  // namespace latchkey::log_record_test
