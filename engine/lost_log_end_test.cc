// Logs that have lost their end to something else than a crash: rot, an older copy, a lost write. A
// log that ends early looks like one whose last group a crash has torn; only what else is on the
// disks tells, since the log goes first: whatever a page, the map journal or a superblock shows has
// been in the log.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/crash_disks.h"
#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"

namespace latchkey::lost_log_end_test {
namespace {

constexpr int kRows = 2400;
constexpr size_t kValueBytes = 900;

/// How what was committed last came to be on the disks besides the log.
enum class Trace { kNone, kPagesInPlace, kJournalRound, kCheckpoint };

struct Setting {
  std::string layout;
  Trace trace = Trace::kNone;
  bool tears_no_page = false;
};

// The cache holds half of the rows, so that pages are evicted, or all of the few that leave no
// trace.
Options OptionsOf(const Setting& setting) {
  Options options;
  options.cache_bytes = 2 << 20;
  options.checkpoint_log_bytes = 256 << 20;
  options.techniques.layout = setting.layout;
  options.techniques.segment_size = 64 << 10;
  // A page cleaner that writes a page in the background leaves a trace.
  if (setting.trace == Trace::kNone) options.techniques.cleaners = 0;
  return options;
}

absl::StatusOr<std::unique_ptr<DatabaseImpl>> Open(CrashDisks& disks, const Setting& setting) {
  const DatabaseSizing sizing = {.log_segment_bytes = 64 << 10,
                                 .log_initial_bytes = 1 << 20,
                                 .reserve_bytes = 12 * (64 << 10),
                                 .doublewrite_pages = 16,
                                 .tears_no_page = setting.tears_no_page,
                                 .assume_device_costs = true};
  return DatabaseImpl::OpenOverDevices(ThreadRuntime(), disks.Devices(sizing), OptionsOf(setting));
}

std::string KeyOf(int row) { return "key" + std::to_string(row); }

void PutRows(DatabaseImpl& db, int rows, char value) {
  auto tree = db.OpenTree("rows", /*create=*/true);
  REQUIRE(tree.ok());
  for (int row = 0; row < rows; ++row) {
    REQUIRE_OK(db.RunTransaction([&](TransactionImpl& txn) {
      return txn.Put(**tree, KeyOf(row), std::string(kValueBytes, value));
    }));
  }
}

/// The disks of a database after a crash, with a log that has lost all that was committed last.
CrashImages WithoutLogEnd(const Setting& setting) {
  CrashDisks disks;
  auto db = Open(disks, setting);
  INFO(db.status().message());
  REQUIRE(db.ok());
  const int rows = setting.trace == Trace::kNone ? 50 : kRows;
  PutRows(**db, rows, 'a');
  REQUIRE_OK((*db)->Checkpoint());
  PutRows(**db, 1, 'b');
  DiskImage older_log = disks.recorder().content(1);
  PutRows(**db, rows, 'c');
  if (setting.trace == Trace::kJournalRound) REQUIRE_OK((*db)->store().Flush());
  if (setting.trace == Trace::kCheckpoint) REQUIRE_OK((*db)->Checkpoint());
  CrashImages images = disks.CutPower(CrashVariant::kAll);
  db->reset();
  images[1] = std::move(older_log);
  return images;
}

void CheckRefused(const absl::Status& refused) {
  INFO(refused.message());
  CHECK(absl::IsDataLoss(refused));
  CHECK(std::string(refused.message()).find("salvage") != std::string::npos);
}

TEST_CASE("A log that has lost its end is refused when the disks show what was in it") {
  const std::string layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  if (kThreadSanitizer && layout != "hylog") return;  // one thread has no races to find
  const Trace trace = GENERATE(Trace::kJournalRound, Trace::kCheckpoint);
  CAPTURE(layout, static_cast<int>(trace));
  const Setting setting{.layout = layout, .trace = trace};
  CrashDisks disks(WithoutLogEnd(setting));
  CheckRefused(Open(disks, setting).status());
}

TEST_CASE("Pages written over their place tell how long the log was, before any journal does") {
  const Setting setting{.layout = "overwrite", .trace = Trace::kPagesInPlace};
  CrashDisks disks(WithoutLogEnd(setting));
  const absl::Status refused = Open(disks, setting).status();
  CheckRefused(refused);
  CHECK(std::string(refused.message()).find("but the database has been at") != std::string::npos);
}

TEST_CASE(
    "Without doublewrite areas a page that is newer than the log is refused when it is read") {
  const Setting setting{
      .layout = "overwrite", .trace = Trace::kPagesInPlace, .tears_no_page = true};
  CrashDisks disks(WithoutLogEnd(setting));
  const auto db = Open(disks, setting);
  CheckRefused(db.ok() ? (*db)->Verify() : db.status());
}

TEST_CASE("A log that has lost its end without a trace is that of an earlier crash") {
  const std::string layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  CAPTURE(layout);
  const Setting setting{.layout = layout, .trace = Trace::kNone};
  CrashDisks disks(WithoutLogEnd(setting));
  const auto db = Open(disks, setting);
  INFO(db.status().message());
  REQUIRE(db.ok());
  REQUIRE_OK((*db)->Verify());
  const auto tree = (*db)->OpenTree("rows", /*create=*/false);
  REQUIRE(tree.ok());
  for (const auto& expected : {std::pair(0, 'b'), std::pair(1, 'a'), std::pair(2, 'a')}) {
    std::string found;
    REQUIRE_OK((*db)->RunTransaction(
        [&](TransactionImpl& txn) { return txn.Get(**tree, KeyOf(expected.first), &found); }));
    CHECK(found == std::string(kValueBytes, expected.second));
  }
}

}  // namespace
}  // namespace latchkey::lost_log_end_test
