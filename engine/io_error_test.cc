// Devices that fail below a database: what is refused from then on, what goes on, and what the next
// open finds. tools/campaign/faults/fault_campaign.h tries every call; here are the stories behind.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "engine/testing/testing_database.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::io_error_test {
namespace {

using Catch::Contains;

constexpr uint32_t kData = 0, kLog = 1, kJournal = 2;

/// Three disks in virtual time, and a small database on them.
struct Machine {
  explicit Machine(const CrashRecorderOptions& options = {.record = false})
      : disks(runtime, options) {
    for (const char* name : {"data", "log", "journal"}) disks.AddDisk(name);
  }
  /// With what the disks of another one hold, on devices that work.
  explicit Machine(const Machine& before) : disks(runtime, {.record = false}) {
    for (uint32_t disk = kData; disk <= kJournal; ++disk) {
      disks.AddDisk("again", before.disks.content(disk));
    }
  }

  void Run(const std::function<void()>& body) {
    const absl::Status ran = runtime.Run(body);
    INFO(ran);
    REQUIRE(ran.ok());
  }

  absl::StatusOr<std::unique_ptr<DatabaseImpl>> TryOpen(Durability durability = Durability::kCommit,
                                                        uint64_t log_max_bytes = 0) {
    DatabaseDevices devices = DevicesOn(disks, SmallSizing());
    devices.sizing.log_max_bytes = log_max_bytes;
    Options options;
    options.cache_bytes = 2 << 20;
    options.durability = durability;
    options.techniques.segment_size = 64 << 10;
    return DatabaseImpl::OpenOverDevices(runtime, std::move(devices), options);
  }
  std::unique_ptr<DatabaseImpl> Open(Durability durability = Durability::kCommit,
                                     uint64_t log_max_bytes = 0) {
    auto db = TryOpen(durability, log_max_bytes);
    INFO(db.status());
    REQUIRE(db.ok());
    return *std::move(db);
  }
  uint64_t Failed(uint32_t disk, DeviceCall call) const { return disks.failed_calls(disk, call); }

  SimulatedRuntime runtime;
  CrashRecorder disks;
};

TreeImpl& TreeOf(DatabaseImpl& db, std::string_view name = "tree") {
  auto tree = db.OpenTree(name, /*create=*/true);
  INFO(tree.status());
  REQUIRE(tree.ok());
  return **tree;
}

absl::Status Put(DatabaseImpl& db, TreeImpl& tree, const std::string& key,
                 const std::string& value) {
  return db.RunTransaction([&](TransactionImpl& txn) { return txn.Put(tree, key, value); });
}

std::map<std::string, std::string> RecordsOf(DatabaseImpl& db, TreeImpl& tree, int keys) {
  std::map<std::string, std::string> records;
  std::string value;
  for (int i = 0; i < keys; ++i) {
    const std::string key = "key" + std::to_string(i);
    const absl::Status found = db.Get(tree, key, &value);
    if (found.ok()) records[key] = value;
    INFO(found);
    CHECK((found.ok() || absl::IsNotFound(found)));
  }
  return records;
}

void CheckReadOnly(const absl::Status& refused) {
  CHECK(absl::IsUnavailable(refused));
  CHECK_THAT(std::string(refused.message()), Contains("reopen"));
}

TEST_CASE("A failed sync or write of a log ends commits until the next open, that of a page none") {
  // Commits went on in the log after the data file or the map journal had failed. And one page that
  // could not be written ended them all, though it can be written again.
  constexpr int kKeys = 12;
  const FaultKind kind = GENERATE(FaultKind::kSyncError, FaultKind::kWriteError);
  CAPTURE(FaultKindName(kind));
  std::map<uint32_t, int> hit;  // by disk
  for (uint64_t call = 0;; ++call) {
    CAPTURE(call);
    Machine machine;
    bool clean = false;
    std::map<std::string, std::string> acknowledged;
    machine.Run([&] {
      auto db = machine.Open();
      TreeImpl& tree = TreeOf(*db);
      machine.disks.SetFault(Fault{.kind = kind, .at_call = call});
      const auto is_fatal = [&machine] {
        return machine.disks.injected_faults() > machine.Failed(kData, DeviceCall::kWrite);
      };
      for (int i = 0; i < kKeys; ++i) {
        const std::string key = "key" + std::to_string(i);
        const bool refused = is_fatal();
        const absl::Status done = Put(*db, tree, key, "value");
        if (done.ok()) acknowledged[key] = "value";
        if (refused) CheckReadOnly(done);
        if (!is_fatal()) CHECK(done.ok());
        const bool too_late = is_fatal();
        if (i % 3 != 2) continue;
        const absl::Status checkpoint = db->Checkpoint();
        if (too_late) CheckReadOnly(checkpoint);
        if (!is_fatal()) CHECK(checkpoint.ok());
      }
      clean = machine.disks.injected_faults() == 0;
      for (uint32_t disk = 0; disk < 3; ++disk) {
        hit[disk] += static_cast<int>(machine.Failed(disk, DeviceCall::kSync) +
                                      machine.Failed(disk, DeviceCall::kWrite));
      }
      // Committed records can still be read.
      for (const auto& [key, value] : acknowledged) {
        std::string found;
        REQUIRE_OK(db->Get(tree, key, &found));
        CHECK(found == value);
      }
      const bool too_late = is_fatal();
      const absl::Status closed = db->Close();
      if (too_late) {
        CheckReadOnly(closed);
      } else {
        CHECK((closed.ok() || is_fatal()));
      }
    });
    if (clean) break;
    Machine again(machine);
    again.Run([&] {
      auto db = again.Open();
      REQUIRE_OK(db->Verify());
      const auto found = RecordsOf(*db, TreeOf(*db), kKeys);
      for (const auto& [key, value] : acknowledged) CHECK(found.contains(key));
      REQUIRE_OK(Put(*db, TreeOf(*db), "behind", "value"));
      REQUIRE_OK(db->Close());
    });
  }
  for (const uint32_t disk : {kData, kLog, kJournal}) {
    CAPTURE(disk);
    CHECK(hit[disk] > 0);
  }
}

TEST_CASE("Without a log, too, nothing is committed once a page could not be written") {
  Machine machine;
  machine.Run([&] {
    auto db = machine.Open(Durability::kNone);
    TreeImpl& tree = TreeOf(*db);
    REQUIRE_OK(Put(*db, tree, "key", "value"));
    machine.disks.SetFault(Fault{.kind = FaultKind::kSyncError});
    CHECK_FALSE(db->Checkpoint().ok());
    CheckReadOnly(Put(*db, tree, "key", "newer"));
    std::string found;
    REQUIRE_OK(db->Get(tree, "key", &found));
    CHECK(found == "value");
    REQUIRE_OK(
        db->RunTransaction([&](TransactionImpl& txn) { return txn.Get(tree, "key", &found); }));
    CheckReadOnly(db->Close());
  });
}

// A transaction without a snapshot has read nothing that a commit could check.
TEST_CASE("A serializable transaction whose first value found no room on the disk can commit") {
  Machine machine(CrashRecorderOptions{.record = false, .capacity_limit_bytes = 8 << 20});
  machine.Run([&] {
    auto db = machine.Open();
    TreeImpl& tree = TreeOf(*db);
    REQUIRE_OK(Put(*db, tree, "key1", "value"));
    auto txn = db->Begin({.isolation = Isolation::kSerializable});
    const absl::Status full = txn->Put(tree, "key2", std::string(16 << 20, 'x'));
    INFO(full);
    CHECK(absl::IsResourceExhausted(full));
    REQUIRE_OK(txn->Commit());
    REQUIRE_OK(db->Verify());
    CHECK(RecordsOf(*db, tree, 3).size() == 1);
    REQUIRE_OK(db->Close());
  });
}

TEST_CASE("A tree whose drop is refused stays, now and behind the next open") {
  // The intent to drop it was logged, the rest did not fit, and the next open went on with it.
  Machine machine;
  machine.Run([&] {
    auto db = machine.Open(Durability::kCommit, 512 << 10);
    REQUIRE_OK(Put(*db, TreeOf(*db, "dropped"), "key0", "value"));
    Log& log = db->engine_log()->log();
    uint64_t reserved = 0;
    const auto reserve = [&](uint64_t bytes) {
      while (log.Reserve(bytes).ok()) reserved += bytes;
    };
    reserve(4096);
    reserve(64);
    // Room for the intent, not for the change of the catalogue.
    const uint64_t left = log.RecordSpace(64) + 2 * (log.RecordSpace(32) + log.PaidGroupSpace());
    log.Release(left);
    reserved -= left;
    const uint64_t before = log.stats().records;
    CHECK(absl::IsResourceExhausted(db->DropTree("dropped")));
    CHECK(log.stats().records > before);  // it was the intent, and its end
    log.Release(reserved);
    CHECK(RecordsOf(*db, TreeOf(*db, "dropped"), 1).size() == 1);
    REQUIRE_OK(Put(*db, TreeOf(*db, "dropped"), "key1", "value"));
    REQUIRE_OK(db->Close());
  });
  Machine again(machine);
  again.Run([&] {
    auto db = again.Open();
    REQUIRE_OK(db->Verify());
    CHECK(RecordsOf(*db, TreeOf(*db, "dropped"), 2).size() == 2);
    REQUIRE_OK(db->DropTree("dropped"));
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(db->Close());
  });
}

// A database that was closed, with two trees, opened again and changed a little.
std::unique_ptr<DatabaseImpl> OpenChanged(Machine& machine) {
  {
    auto db = machine.Open();
    REQUIRE_OK(Put(*db, TreeOf(*db), "key0", "value"));
    REQUIRE_OK(Put(*db, TreeOf(*db, "dropped"), "key0", "value"));
    REQUIRE_OK(db->Close());
  }
  auto db = machine.Open();
  REQUIRE_OK(Put(*db, TreeOf(*db), "key1", "value"));
  return db;
}

TEST_CASE("A disk without room for the map journal refuses changes for as long, and no longer") {
  // The store turned read-only, and pages that were freed meanwhile were lost.
  const bool drops = GENERATE(false, true);
  CAPTURE(drops);
  int met = 0;
  bool clean = false;
  for (uint64_t call = 0; !clean; ++call) {
    CAPTURE(call);
    Machine machine;
    machine.Run([&] {
      auto db = OpenChanged(machine);
      machine.disks.SetFault(Fault{.kind = FaultKind::kNoSpace, .at_call = call});
      // The freed pages may be the first change of the store.
      if (drops) db->DropTree("dropped").IgnoreError();
      const absl::Status full = db->Checkpoint();
      clean = machine.disks.injected_faults() == 0;
      if (machine.Failed(kJournal, DeviceCall::kResize) == 0) return;
      ++met;
      if (!drops) CHECK(absl::IsResourceExhausted(full));
      CHECK(db->store().WriteStatus().ok());
      REQUIRE_OK(Put(*db, TreeOf(*db), "key2", "value"));
      REQUIRE_OK(db->Checkpoint());
      REQUIRE_OK(db->Verify());
      CHECK(RecordsOf(*db, TreeOf(*db), 3).size() == 3);
      REQUIRE_OK(db->Close());
    });
  }
  CHECK(met > 0);
}

TEST_CASE(
    "A copy of the superblock that cannot be read does not keep a checkpoint from its write") {
  uint64_t reads = 0;
  for (uint64_t call = 0;; ++call) {
    CAPTURE(call);
    Machine machine;
    bool clean = false;
    machine.Run([&] {
      auto db = OpenChanged(machine);
      REQUIRE_OK(db->Checkpoint());
      REQUIRE_OK(Put(*db, TreeOf(*db), "key1", "newer"));
      machine.disks.SetFault(Fault{.kind = FaultKind::kReadError, .at_call = call});
      REQUIRE_OK(db->Checkpoint());
      clean = machine.disks.injected_faults() == 0;
      REQUIRE_OK(Put(*db, TreeOf(*db), "key2", "value"));
      REQUIRE_OK(db->Close());
    });
    Machine again(machine);
    again.Run([&] {
      auto db = again.Open();
      REQUIRE_OK(db->Verify());
      CHECK(RecordsOf(*db, TreeOf(*db), 3).size() == 3);
    });
    if (clean) break;
    ++reads;
  }
  CHECK(reads > 0);
}

TEST_CASE("An open that the device lets down says so, and finds everything another time") {
  // Superblocks that could not be read were called damaged, and short reads were out of range.
  const FaultKind kind = GENERATE(FaultKind::kReadError, FaultKind::kShort);
  CAPTURE(FaultKindName(kind));
  Machine machine;
  machine.Run([&] {
    OpenChanged(machine);
    for (uint64_t call = 0;; ++call) {
      CAPTURE(call);
      machine.disks.SetFault(Fault{.kind = kind, .at_call = call, .from_then_on = true});
      const absl::Status opened = machine.TryOpen().status();
      if (machine.disks.injected_faults() == 0) break;
      CHECK((opened.ok() || absl::IsUnavailable(opened)));
      machine.disks.SetFault(std::nullopt);
      auto db = machine.Open();
      CHECK(RecordsOf(*db, TreeOf(*db), 2).size() == 2);
      REQUIRE_OK(db->Close());
    }
  });
}

TEST_CASE("Without a log, what a device lets nobody roll back is never taken for committed") {
  // A close that went on would have left the changes in the file, and the next open would have
  // shown them.
  constexpr int kRecords = 8000;
  const bool at_close = GENERATE(false, true);
  Machine machine;
  machine.Run([&] {
    auto db = machine.Open(Durability::kNone);
    TreeImpl& tree = TreeOf(*db);
    const auto key_of = [](int i) { return "key" + std::to_string(10'000 + i); };
    for (int i = 0; i < kRecords; ++i) {
      REQUIRE(Put(*db, tree, key_of(i), std::string(400, 'v')).ok());
    }
    std::unique_ptr<TransactionImpl> txn = db->Begin();
    for (int i = 0; i < 10; ++i) REQUIRE(txn->Put(tree, key_of(i), "uncommitted").ok());
    std::string value;
    for (int i = 0; i < kRecords; ++i) REQUIRE(db->Get(tree, key_of(i), &value).ok());
    machine.disks.SetFault(Fault{.kind = FaultKind::kReadError, .from_then_on = true});
    if (!at_close) txn.reset();
    const absl::Status closed = db->Close();
    CHECK(absl::IsUnavailable(closed));
    CHECK_THAT(std::string(closed.message()), Contains("could not be rolled back"));
  });
  Machine again(machine);
  again.Run([&] {
    const absl::Status opened = again.TryOpen(Durability::kNone).status();
    CHECK(absl::IsFailedPrecondition(opened));
    CHECK_THAT(std::string(opened.message()), Contains("not closed"));
  });
}

// The second write was done, and then the chain of the first could not be read to free it. The call
// was answered Unavailable, and Commit committed it all the same. Had the second value a chain, too,
// that chain was freed although its record named it.
TEST_CASE("A write whose replaced chain cannot be freed is done, and is answered OK") {
  const std::string first(6000, 'a');
  const std::string second = GENERATE(std::string("b"), std::string(7000, 'b'));
  CAPTURE(second.size());
  Machine machine;
  machine.Run([&] {
    auto db = machine.Open();
    TreeImpl& tree = TreeOf(*db);
    TreeImpl& other = TreeOf(*db, "other");
    REQUIRE_OK(Put(*db, tree, "beside", "value"));
    auto txn = db->Begin();
    REQUIRE_OK(txn->Put(tree, "key", first));
    // The pages of the chain leave the cache, and the leaf comes back.
    for (int i = 0; i < 1500; ++i) {
      REQUIRE_OK(Put(*db, other, "key" + std::to_string(i), std::string(1000, 'x')));
    }
    std::string value;
    REQUIRE_OK(txn->Get(tree, "beside", &value));
    machine.disks.SetFault(Fault{.kind = FaultKind::kReadError, .from_then_on = true});
    const absl::Status done = txn->Put(tree, "key", second);
    INFO(done);
    CHECK(done.ok());
    CHECK(machine.disks.injected_faults() > 0);
    machine.disks.StopFaults();
    REQUIRE_OK(txn->Commit());
    REQUIRE_OK(db->Get(tree, "key", &value));
    CHECK(value == second);
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(db->Close());
  });
  Machine again(machine);
  again.Run([&] {
    auto db = again.Open();
    std::string value;
    REQUIRE_OK(db->Get(TreeOf(*db), "key", &value));
    CHECK(value == second);
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(db->Close());
  });
}

}  // namespace
}  // namespace latchkey::io_error_test
