// Values that are written and read in parts. The tests compare their bytes, show when which transaction sees them, end
// writers in every way, and look for pages that a value leaves in use when it is given up.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/btree/node_format.h"
#include "engine/database_impl.h"
#include "engine/testing/crash_disks.h"
#include "engine/testing/testing_database.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey::value_parts_test {
namespace {

using Catch::Contains;

constexpr size_t kPage = 4096;
constexpr size_t kDataPayload = kPage - kPageHeaderSize, kListPayload = kPage - 48;
constexpr size_t kPerList = kListPayload / 8 * kDataPayload;

// Differs at every place and between seeds.
std::string Value(size_t size, uint64_t seed = 1) {
  std::string value(size, '\0');
  Rng rng(seed);
  for (char& byte : value) byte = static_cast<char>(rng.Below(256));
  return value;
}

// Random sizes from 1 byte to some pages, so that parts end at any place of a page.
absl::Status AppendAll(ValueWriter& writer, std::string_view value, Rng& rng) {
  while (!value.empty()) {
    const size_t size =
        std::min<size_t>(value.size(), 1 + rng.Below(rng.Below(2) == 0 ? 50 : 20000));
    LATCHKEY_RETURN_IF_ERROR(writer.Append(value.substr(0, size)));
    value.remove_prefix(size);
  }
  return absl::OkStatus();
}

absl::Status PutInParts(Transaction& txn, Tree tree, std::string_view key, std::string_view value,
                        Rng& rng) {
  ValueWriter writer = txn.PutInParts(tree, key);
  LATCHKEY_RETURN_IF_ERROR(writer.status());
  LATCHKEY_RETURN_IF_ERROR(AppendAll(writer, value, rng));
  return writer.Finish();
}

std::string GetOrFail(Database& db, Tree tree, std::string_view key) {
  std::string value;
  REQUIRE_OK(db.Get(tree, key, &value));
  return value;
}

TEST_CASE("A value written in parts of any sizes is read back, whole and in parts") {
  const auto durability = GENERATE(Durability::kCommit, Durability::kNone);
  auto db = OpenInMemory(ImpatientOptions(durability));
  const Tree tree = TreeOrFail(*db, "t");
  Rng rng(5);
  const size_t inline_limit = MaxInlineValue(kPage, 3);
  for (const size_t size : {size_t{0}, size_t{1}, inline_limit, inline_limit + 1, kListPayload,
                            kListPayload + 1, kDataPayload, kDataPayload + 1, 2 * kDataPayload,
                            kPerList - 1, kPerList, kPerList + 1, 2 * kPerList + 12345}) {
    CAPTURE(size);
    const std::string value = Value(size, size + 1);
    REQUIRE_OK(db->RunTransaction(
        [&](Transaction& txn) { return PutInParts(txn, tree, "key", value, rng); }));
    CHECK(GetOrFail(*db, tree, "key") == value);
    Transaction txn = db->Begin();
    for (int i = 0; i < 40; ++i) {
      const uint64_t offset = rng.Below(size + 10);
      const size_t wanted = rng.Below(i % 2 == 0 ? 100 : size + 10);
      CAPTURE(offset, wanted);
      std::string part = "left over";
      uint64_t whole = 1;
      REQUIRE_OK(txn.GetPart(tree, "key", offset, wanted, &part, &whole));
      CHECK(whole == size);
      CHECK((part == (offset < size ? value.substr(offset, wanted) : "")));
    }
  }
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A value larger than the cache is written and read in parts") {
  auto db = OpenInMemory(ImpatientOptions(Durability::kCommit));
  const Tree tree = TreeOrFail(*db, "t");
  constexpr size_t kParts = 48, kPart = 1 << 20;
  REQUIRE_OK(db->RunTransaction([&](Transaction& txn) -> absl::Status {
    ValueWriter writer = txn.PutInParts(tree, "large");
    for (size_t i = 0; i < kParts; ++i)
      LATCHKEY_RETURN_IF_ERROR(writer.Append(std::string(kPart, static_cast<char>(i))));
    return writer.Finish();
  }));
  CHECK(db->GetStatistics().memory_bytes <= 8 << 20);
  Transaction txn = db->Begin();
  std::string part;
  for (size_t i = 0; i < kParts; ++i) {
    REQUIRE_OK(txn.GetPart(tree, "large", i * kPart, kPart, &part));
    CHECK((part == std::string(kPart, static_cast<char>(i))));
  }
}

TEST_CASE(
    "Before Finish everybody sees the old value, afterwards the transaction, after the commit "
    "all") {
  auto db = OpenInMemory(ImpatientOptions(Durability::kCommit));
  const Tree tree = TreeOrFail(*db, "t");
  const std::string old = Value(30000, 1), now = Value(50000, 2);
  REQUIRE_OK(db->Put(tree, "key", old));
  Transaction earlier = db->Begin();
  std::string value;
  REQUIRE_OK(earlier.Get(tree, "key", &value));

  Transaction txn = db->Begin();
  ValueWriter writer = txn.PutInParts(tree, "key");
  REQUIRE_OK(writer.Append(now));
  REQUIRE_OK(txn.Get(tree, "key", &value));
  CHECK(value == old);
  REQUIRE_OK(writer.Finish());
  REQUIRE_OK(txn.Get(tree, "key", &value));
  CHECK(value == now);
  CHECK(GetOrFail(*db, tree, "key") == old);
  REQUIRE_OK(txn.Commit());
  CHECK(GetOrFail(*db, tree, "key") == now);
  // The older snapshot goes on reading parts of the value that it sees.
  REQUIRE_OK(earlier.GetPart(tree, "key", 29990, 100, &value));
  CHECK(value == old.substr(29990));
}

TEST_CASE("From its first call on a value in parts holds the lock of its key") {
  auto db = OpenInMemory(ImpatientOptions(Durability::kCommit));
  const Tree tree = TreeOrFail(*db, "t");
  for (const bool exists : {false, true}) {
    if (exists) REQUIRE_OK(db->Put(tree, "key", "old"));
    Transaction txn = db->Begin();
    ValueWriter writer = txn.PutInParts(tree, "key");
    REQUIRE_OK(writer.status());
    Transaction other = db->Begin();
    CHECK(absl::IsAborted(other.Put(tree, "key", "mine")));
    ValueWriter refused = db->Begin().PutInParts(tree, "key");
    CHECK(absl::IsAborted(refused.status()));
    CHECK(absl::IsAborted(refused.Append("x")));
    REQUIRE_OK(writer.Append("new"));
    REQUIRE_OK(writer.Finish());
    REQUIRE_OK(txn.Commit());
    CHECK(GetOrFail(*db, tree, "key") == "new");
  }
}

TEST_CASE("A value that is given up leaves the old one and no page, however it ends") {
  const auto durability = GENERATE(Durability::kCommit, Durability::kNone);
  if (kSanitizer && durability == Durability::kNone) return;  // a part of what a log takes
  const auto end = GENERATE(0, 1, 2, 3, 4);
  auto db = OpenInMemory(ImpatientOptions(durability));
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "key", "old"));
  const std::string value = Value(3 * kPerList);
  {
    Transaction txn = db->Begin();
    REQUIRE_OK(txn.Put(tree, "other", value));
    const absl::StatusOr<Savepoint> savepoint = txn.SetSavepoint();
    REQUIRE(savepoint.ok());
    auto writer = std::make_unique<ValueWriter>(txn.PutInParts(tree, "key"));
    REQUIRE_OK(writer->Append(value));
    if (end == 0) {
      writer.reset();
      REQUIRE_OK(txn.Commit());
    } else if (end == 1) {
      REQUIRE_OK(txn.Rollback());
      CHECK(absl::IsFailedPrecondition(writer->Append("more")));
      CHECK(absl::IsFailedPrecondition(writer->Finish()));
    } else if (end == 2) {
      REQUIRE_OK(txn.RollbackTo(*savepoint));
      CHECK_THAT(std::string(writer->Append("more").message()), Contains("is over"));
      ValueWriter second = txn.PutInParts(tree, "key");
      writer.reset();  // it is over, so this does not end the second one
      REQUIRE_OK(second.Append("second"));
      REQUIRE_OK(second.Finish());
      REQUIRE_OK(txn.Delete(tree, "key"));
      REQUIRE_OK(txn.Put(tree, "key", "old"));
      REQUIRE_OK(txn.Commit());
    } else if (end == 3) {
      *writer = txn.PutInParts(tree, "third");  // refused while the first one is unfinished
      CHECK_THAT(std::string(writer->status().message()), Contains("another value in parts"));
      REQUIRE_OK(txn.Commit());
    }  // else the writer ends before its transaction, which is not finished
  }
  CHECK(GetOrFail(*db, tree, "key") == "old");
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A return to a savepoint of another transaction leaves an unfinished value as it is") {
  auto db = OpenInMemory(ImpatientOptions(Durability::kCommit));
  const Tree tree = TreeOrFail(*db, "t");
  Transaction txn = db->Begin(), other = db->Begin();
  const absl::StatusOr<Savepoint> foreign = other.SetSavepoint();
  REQUIRE(foreign.ok());
  ValueWriter writer = txn.PutInParts(tree, "key");
  REQUIRE_OK(writer.Append("value"));
  CHECK(absl::IsInvalidArgument(txn.RollbackTo(*foreign)));
  REQUIRE_OK(writer.Finish());
  REQUIRE_OK(txn.Commit());
  CHECK(GetOrFail(*db, tree, "key") == "value");
}

TEST_CASE("A transaction with an unfinished value is not committed") {
  auto db = OpenInMemory(ImpatientOptions(Durability::kCommit));
  const Tree tree = TreeOrFail(*db, "t");
  Transaction txn = db->Begin();
  ValueWriter writer = txn.PutInParts(tree, "key");
  REQUIRE_OK(writer.Append("value"));
  CHECK_THAT(std::string(txn.Commit().message()), Contains("not finished"));
  REQUIRE_OK(writer.Finish());
  REQUIRE_OK(txn.Commit());
  CHECK(GetOrFail(*db, tree, "key") == "value");
}

TEST_CASE("Calls for values in parts that cannot work name the reason") {
  auto db = OpenInMemory(ImpatientOptions(Durability::kCommit));
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "key", "value"));
  Transaction txn = db->Begin();
  std::string part;
  CHECK(absl::IsNotFound(txn.GetPart(tree, "none", 0, 1, &part)));
  CHECK(absl::IsInvalidArgument(txn.GetPart(tree, "key", 0, 1, nullptr)));
  CHECK(absl::IsInvalidArgument(txn.GetPart(Tree(), "key", 0, 1, &part)));
  CHECK(absl::IsInvalidArgument(txn.GetPart(tree, std::string(1025, 'k'), 0, 1, &part)));
  CHECK(absl::IsInvalidArgument(txn.PutInParts(tree, std::string(1025, 'k')).status()));
  CHECK(absl::IsInvalidArgument(txn.PutInParts(Tree(), "key").status()));
  part = "key";
  REQUIRE_OK(txn.GetPart(tree, part, 1, 3, &part));
  CHECK(part == "alu");

  Transaction reader = db->Begin({.read_only = true});
  CHECK_THAT(std::string(reader.PutInParts(tree, "key").status().message()), Contains("read-only"));
  ValueWriter writer = txn.PutInParts(tree, "key");
  ValueWriter moved = std::move(writer);
  CHECK_THAT(std::string(writer.Append("x").message()),
             Contains("was moved"));  // NOLINT: that is the test
  REQUIRE_OK(moved.Append("x"));
  REQUIRE_OK(db->Close());
  CHECK(absl::IsFailedPrecondition(moved.Append("x")));
  CHECK(absl::IsFailedPrecondition(moved.Finish()));
}

TEST_CASE("More than the largest value is refused, and the writer goes on") {
  auto db = OpenInMemory(ImpatientOptions(Durability::kNone));
  const Tree tree = TreeOrFail(*db, "t");
  Transaction txn = db->Begin();
  ValueWriter writer = txn.PutInParts(tree, "key");
  REQUIRE_OK(writer.Append("abc"));
  static const char byte = 'x';
  const std::string_view huge(&byte, Database::kMaxValueSize);  // its bytes are never looked at
  CHECK_THAT(std::string(writer.Append(huge).message()), Contains("too many"));
  REQUIRE_OK(writer.Append("def"));
  REQUIRE_OK(writer.Finish());
  REQUIRE_OK(txn.Commit());
  CHECK(GetOrFail(*db, tree, "key") == "abcdef");
}

// A new database on disks that a test fills, or whose power it cuts.
std::unique_ptr<Database> OpenOn(CrashRecorder& disks, uint32_t segment_size) {
  Options options = ImpatientOptions(Durability::kCommit);
  options.techniques.segment_size = segment_size;
  auto db =
      DatabaseImpl::OpenOverDevices(ThreadRuntime(), DevicesOn(disks, SmallSizing()), options);
  if (!db.ok()) FAIL(db.status().message());
  return DatabaseImpl::AsDatabase(*std::move(db));
}

TEST_CASE("A full disk ends a value in parts, and the transaction goes on") {
  CrashRecorder disks(ThreadRuntime(), {.record = false, .capacity_limit_bytes = 16 << 20});
  for (const char* name : {"data", "log", "journal"}) disks.AddDisk(name);
  auto db = OpenOn(disks, 64 << 10);
  const Tree tree = TreeOrFail(*db, "t");
  Transaction txn = db->Begin();
  REQUIRE_OK(txn.Put(tree, "before", "1"));
  ValueWriter writer = txn.PutInParts(tree, "key");
  absl::Status full;
  for (int i = 0; i < 1000 && full.ok(); ++i) full = writer.Append(Value(100000));
  INFO(full);
  CHECK(absl::IsResourceExhausted(full));
  CHECK(absl::IsFailedPrecondition(writer.Finish()));
  REQUIRE_OK(txn.Put(tree, "after", "2"));
  REQUIRE_OK(txn.Commit());
  CHECK(GetOrFail(*db, tree, "after") == "2");
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A crash before the commit leaves no page of a value in parts") {
  for (const bool finishes : {false, true}) {
    for (const bool checkpoints : {false, true}) {
      CAPTURE(finishes, checkpoints);
      CrashImages images;
      {
        CrashDisks disks;
        auto database = OpenOn(disks.recorder(), 64 << 10);
        const Tree tree = TreeOrFail(*database, "t");
        REQUIRE_OK(database->Put(tree, "key", "old"));
        Transaction txn = database->Begin();
        ValueWriter writer = txn.PutInParts(tree, "key");
        REQUIRE_OK(writer.Append(Value(kPerList + 100000)));
        if (finishes) REQUIRE_OK(writer.Finish());
        if (checkpoints) REQUIRE_OK(database->Checkpoint());
        REQUIRE_OK(database->Put(tree, "other", "acknowledged"));
        images = disks.CutPower(CrashVariant::kAll);
      }
      CrashDisks disks(std::move(images));
      auto database = OpenOn(disks.recorder(), 0);
      const Tree tree = TreeOrFail(*database, "t");
      CHECK(GetOrFail(*database, tree, "key") == "old");
      CHECK(GetOrFail(*database, tree, "other") == "acknowledged");
      REQUIRE_OK(database->Verify());
    }
  }
}

}  // namespace
}  // namespace latchkey::value_parts_test
