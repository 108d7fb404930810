#include "tools/cli/db_transfer.h"

#include <string>

#include "engine/testing/testing_database.h"
#include "storage/base/rng.h"

namespace latchkey::db_transfer_test {
namespace {

/// Cancels a dump or load after a number of reports or batches.
struct StopAfter {
  explicit StopAfter(int reports) : left(reports) {
    hooks.stop = &stop;
    hooks.progress = [this](uint64_t) { stop = --left <= 0; };
  }
  int left;
  std::atomic<bool> stop{false};
  TransferHooks hooks;
};

void Fill(Database& db, size_t records) {
  Rng rng(1);
  const Tree small = TreeOrFail(db, "small"), large = TreeOrFail(db, "large");
  for (size_t i = 0; i < records; ++i) {
    REQUIRE_OK(db.Put(small, std::to_string(i), std::string(rng.Below(50), 'v')));
  }
  for (size_t i = 0; i < 5; ++i) {
    REQUIRE_OK(db.Put(large, std::to_string(i), std::string(20'000 + i, 'l')));
  }
}

std::string DumpOf(Database& db, DumpForm form = DumpForm::kText) {
  StringSink sink;
  REQUIRE_OK(DumpDatabase(db, "", form, sink, {}).status());
  return sink.bytes();
}

absl::StatusOr<uint64_t> Load(Database& db, const std::string& dump, LoadOptions options = {},
                              const TransferHooks& hooks = {}) {
  StringSource first(dump), second(dump);
  const absl::StatusOr<DumpSummary> valid = ValidateDump(first, {});
  if (!valid.ok()) return valid.status();
  return LoadDump(db, second, *valid, options, hooks);
}

/// Loads with batches of one record until the hook stops it: a part is loaded, not all.
void LoadPart(Database& db, const std::string& dump) {
  LoadOptions options;
  options.batch_bytes = 1;
  StopAfter stop(1);
  const auto loaded = Load(db, dump, options, stop.hooks);
  REQUIRE(absl::IsCancelled(loaded.status()));
  CHECK(std::string(loaded.status().message()).find("--resume") != std::string::npos);
}

}  // namespace

TEST_CASE("a database loaded from a dump dumps the same") {
  const auto db = OpenInMemory();
  Fill(*db, 3000);
  for (const DumpForm form : {DumpForm::kText, DumpForm::kBinary}) {
    const auto copy = OpenInMemory();
    CHECK(Load(*copy, DumpOf(*db, form)).value() == 3005);
    CHECK(DumpOf(*copy) == DumpOf(*db));
    CHECK(copy->ListTrees() == db->ListTrees());
  }
}

TEST_CASE("one tree can be dumped alone") {
  const auto db = OpenInMemory();
  Fill(*db, 10);
  StringSink sink;
  CHECK(DumpDatabase(*db, "large", DumpForm::kBinary, sink, {})->records == 5);
  CHECK(absl::IsNotFound(DumpDatabase(*db, "none", DumpForm::kBinary, sink, {}).status()));
}

TEST_CASE("a malformed dump leaves the database as it was") {
  const auto db = OpenInMemory();
  Fill(*db, 100);
  const std::string before = DumpOf(*db);
  const auto other = OpenInMemory();
  Fill(*other, 300);
  std::string dump = DumpOf(*other);
  dump[dump.size() / 2] ^= 1;
  CHECK(absl::IsDataLoss(Load(*db, dump).status()));
  CHECK(DumpOf(*db) == before);
}

TEST_CASE("an interrupted load goes on where it stopped") {
  const auto db = OpenInMemory();
  Fill(*db, 5000);
  const std::string dump = DumpOf(*db);
  const auto copy = OpenInMemory();
  LoadPart(*copy, dump);
  const auto found = FindInterruptedLoad(*copy).value();
  REQUIRE(found.has_value());
  CHECK(found->records > 0);
  CHECK(found->records < found->total);

  const auto resumed = Load(*copy, dump, {.start = LoadStart::kResume});
  CHECK(resumed.value() == 5005 - found->records);
  CHECK(DumpOf(*copy) == dump);
  CHECK_FALSE(FindInterruptedLoad(*copy)->has_value());
}

TEST_CASE("an interrupted load is not forgotten: another one says resume or restart") {
  const auto db = OpenInMemory();
  Fill(*db, 5000);
  const std::string dump = DumpOf(*db);
  const auto copy = OpenInMemory();
  LoadPart(*copy, dump);
  const absl::Status fresh = Load(*copy, dump).status();
  CHECK(absl::IsFailedPrecondition(fresh));
  CHECK(std::string(fresh.message()).find("--resume") != std::string::npos);

  REQUIRE_OK(db->Put(TreeOrFail(*db, "small"), "one more", ""));
  const absl::Status other = Load(*copy, DumpOf(*db), {.start = LoadStart::kResume}).status();
  CHECK(absl::IsFailedPrecondition(other));
  CHECK(std::string(other.message()).find("another dump") != std::string::npos);

  CHECK(Load(*copy, DumpOf(*db), {.start = LoadStart::kRestart}).value() == 5006);
  CHECK(DumpOf(*copy) == DumpOf(*db));
}

TEST_CASE("loading replaces the keys that are there and keeps the others") {
  const auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "a", "old"));
  REQUIRE_OK(db->Put(tree, "b", "kept"));
  REQUIRE_OK(Load(*db, "latchkey-dump text 1\ntree t\n=a\tnew\nend 1 1 -\n").status());
  std::string value;
  REQUIRE_OK(db->Get(tree, "a", &value));
  CHECK(value == "new");
  REQUIRE_OK(db->Get(tree, "b", &value));
  CHECK(value == "kept");
}

TEST_CASE("a dump cannot bring the tree that loads keep their progress in") {
  const auto db = OpenInMemory();
  const std::string dump = std::string("latchkey-dump text 1\ntree ") + kLoadTree + "\nend - - -\n";
  CHECK(absl::IsDataLoss(Load(*db, dump).status()));
}

}  // namespace latchkey::db_transfer_test
