// A database on a disk that is full for its map journal, though not for its log: commits go on, and
// what they have acknowledged outlives a crash.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/testing_database.h"
#include "layout/separate/separator.h"
#include "layout/testing/failing_writes.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::full_journal_test {
namespace {

constexpr uint64_t kLeastJournal = 4 * 8192;

class FullDisk {
 public:
  FullDisk(Runtime& runtime, std::string layout, std::array<DiskImage, 3> content = {})
      : layout_(std::move(layout)), disks_(runtime, {.record = false}) {
    const bool is_new = content[0].size() == 0;
    for (size_t i = 0; i < content.size(); ++i) {
      disks_.AddDisk(std::to_string(i), std::move(content[i]));
    }
    auto journal = std::make_unique<FailingWrites>(std::shared_ptr<BlockDevice>(disks_.Open(2)));
    journal->most_bytes = kLeastJournal;
    refusals_ = journal->refusals;
    DatabaseDevices devices;
    devices.data = disks_.Open(0);
    devices.log = disks_.Open(1);
    devices.journal = std::move(journal);
    // Room for all of the log, so that no checkpoint of the database makes room in the journal.
    devices.sizing = {.log_segment_bytes = 256 << 10,
                      .log_initial_bytes = 16 << 20,
                      .journal_segment_bytes = 8 << 10,
                      .reserve_bytes = 12 * (64 << 10),
                      .doublewrite_pages = 16,
                      .assume_device_costs = true};
    Options options;
    options.cache_bytes = 2 << 20;
    options.durability = Durability::kCommit;
    options.checkpoint_log_bytes = 64 << 20;
    options.techniques.layout = layout_;
    options.techniques.segment_size = is_new ? 64 << 10 : 0;
    auto db = DatabaseImpl::OpenOverDevices(runtime, std::move(devices), options);
    INFO(db.status());
    REQUIRE(db.ok());
    db_ = *std::move(db);
  }

  DatabaseImpl& db() { return *db_; }
  uint64_t refusals() const { return *refusals_; }
  /// As the power goes. REQUIRES: the last call but the destructor.
  std::array<DiskImage, 3> Crash() {
    std::array<DiskImage, 3> content = {disks_.content(0), disks_.content(1), disks_.content(2)};
    disks_.PowerOff();
    db_.reset();
    return content;
  }

 private:
  const std::string layout_;
  CrashRecorder disks_;
  std::shared_ptr<std::atomic<uint64_t>> refusals_;
  std::unique_ptr<DatabaseImpl> db_;
};

using Model = std::map<std::string, std::string>;

void Put(DatabaseImpl& db, Rng& rng, Model& model) {
  TreeImpl& tree = **db.OpenTree("tree", /*create=*/true);
  Model put;
  for (int i = 0; i < 20; ++i) {
    put[std::to_string(100'000 + rng.Below(8'000))] =
        std::string(200 + rng.Below(400), static_cast<char>('a' + rng.Below(26)));
  }
  REQUIRE_OK(db.RunTransaction([&](TransactionImpl& txn) -> absl::Status {
    for (const auto& [key, value] : put) {
      if (absl::Status done = txn.Put(tree, key, value); !done.ok()) return done;
    }
    return absl::OkStatus();
  }));
  for (auto& [key, value] : put) model[key] = std::move(value);
}

void Check(DatabaseImpl& db, const Model& model) {
  REQUIRE_OK(db.Verify());
  TreeImpl& tree = **db.OpenTree("tree", /*create=*/false);
  std::string value;
  for (const auto& [key, expected] : model) {
    REQUIRE_OK(db.Get(tree, key, &value));
    REQUIRE(value == expected);
  }
}

TEST_CASE("A disk that is full for the map journal refuses no commit, and a crash loses none") {
  const std::string layout = GENERATE(
      from_range(kThreadSanitizer ? std::vector<std::string>{"hylog"} : LayoutsUnderTest()));
  CAPTURE(layout);
  SimulatedRuntime runtime({.seed = 3, .may_be_abandoned = true});
  const absl::Status ran = runtime.Run([&] {
    Rng rng(31);
    Model model;
    std::array<DiskImage, 3> left;
    for (int round = 0; round < 2; ++round) {
      CAPTURE(round);
      FullDisk disk(runtime, layout, std::move(left));
      if (round > 0) Check(disk.db(), model);
      const uint64_t before = disk.refusals();
      int transactions = 0;
      for (; transactions < 3'000 && disk.refusals() < before + 10; ++transactions) {
        Put(disk.db(), rng, model);
      }
      CHECK(disk.refusals() > before);
      CHECK(disk.db().store().WriteStatus().ok());
      left = disk.Crash();
    }
    FullDisk disk(runtime, layout, std::move(left));
    Check(disk.db(), model);
    REQUIRE_OK(disk.db().Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
}

}  // namespace
}  // namespace latchkey::full_journal_test
