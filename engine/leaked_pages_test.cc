// Without a log a forgotten page is never found again. Each allocation of a call that frees pages
// fails in turn; afterwards every page has an owner or is free.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "engine/database_impl.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/sanitizers.h"
#include "storage/base/status_macros.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/testing/allocation_faults.h"

namespace latchkey::leaked_pages_test {
namespace {

class Unlogged {
 public:
  explicit Unlogged(SimulatedRuntime& runtime)
      : runtime_(runtime), disks_(runtime, {.record = false}) {
    disks_.AddDisk("data");
    Open();
  }

  void Open() {
    DatabaseDevices devices;
    devices.data = disks_.Open(0);
    devices.sizing = {.reserve_bytes = 1, .assume_device_costs = true};
    Options options;
    options.cache_bytes = 8 << 20;
    options.durability = Durability::kNone;
    options.techniques.segment_size = is_new_ ? 64 << 10 : 0;
    is_new_ = false;
    auto opened = DatabaseImpl::OpenOverDevices(runtime_, std::move(devices), options);
    INFO(opened.status());
    REQUIRE(opened.ok());
    db_ = *std::move(opened);
  }
  // Runs `body` while allocation `fails` and all behind it, or that one alone, fail.
  template <typename Body>
  absl::Status WithoutMemory(uint64_t fails, bool from_then_on, Body body) {
    AllocationFaults::Arm(fails, from_then_on);
    absl::Status done;
    {
      const CountedAllocations engine;
      done = CatchOutOfMemory(body);
    }
    AllocationFaults::Disarm();
    return done;
  }
  // Counts every page; again after a close and an open.
  void CheckOwners() {
    for (const bool reopens : {false, true}) {
      if (reopens) {
        REQUIRE(db_->Close().ok());
        Open();
      }
      const absl::Status sound = db_->Verify();
      INFO(sound);
      REQUIRE(sound.ok());
    }
  }
  DatabaseImpl& db() { return *db_; }

 private:
  SimulatedRuntime& runtime_;
  CrashRecorder disks_;
  bool is_new_ = true;
  std::unique_ptr<DatabaseImpl> db_;
};

// Calls `life(database, k, from_then_on)` for k = 0, 1, ... until no allocation fails any more.
// Under a sanitizer, where copying pages takes a hundred times as long, only for some k.
template <typename Life>
void ForEachAllocation(Life life) {
  const uint64_t step = kSanitizer ? 29 : 1;
  const ExemptAllocations test;
  for (const bool from_then_on : {false, true}) {
    uint64_t injected = 1;
    for (uint64_t k = 0; injected > 0; k += step) {
      CAPTURE(k, from_then_on);
      SimulatedRuntime runtime;
      const absl::Status ran = runtime.Run([&] {
        const ExemptAllocations main_actor;
        Unlogged database(runtime);
        life(database, k, from_then_on);
        injected = AllocationFaults::injected();
        database.CheckOwners();
        REQUIRE(database.db().Close().ok());
      });
      INFO(ran);
      REQUIRE(ran.ok());
    }
  }
}

// Lists of data pages that take more than one page.
const std::string& LongValue() {
  static const std::string value(3 << 20, 'v');
  return value;
}

TEST_CASE("A dropped tree leaves no page behind, whichever allocation fails") {
  ForEachAllocation([](Unlogged& database, uint64_t k, bool from_then_on) {
    DatabaseImpl& db = database.db();
    TreeImpl* const tree = *db.OpenTree("dropped", /*create=*/true);
    auto txn = db.Begin();
    for (int i = 0; i < 60; ++i) {
      REQUIRE(txn->Put(*tree, "key" + std::to_string(i), std::string(i % 8 == 0 ? 9000 : 400, 'x'))
                  .ok());
    }
    REQUIRE(txn->Put(*tree, "long", LongValue()).ok());
    REQUIRE(txn->Commit().ok());
    txn.reset();
    const absl::Status dropped =
        database.WithoutMemory(k, from_then_on, [&] { return db.DropTree("dropped"); });
    // It is gone, or the call had no effect.
    CHECK((dropped.ok() || IsOutOfMemory(dropped)));
    CHECK(db.OpenTree("dropped", /*create=*/false).ok() == !dropped.ok());
  });
}

TEST_CASE("A value of many pages leaves none behind, whichever allocation fails") {
  ForEachAllocation([](Unlogged& database, uint64_t k, bool from_then_on) {
    DatabaseImpl& db = database.db();
    TreeImpl* const tree = *db.OpenTree("tree", /*create=*/true);
    auto before = db.Begin();
    REQUIRE(before->Put(*tree, "key", LongValue()).ok());
    REQUIRE(before->Commit().ok());
    before.reset();
    const bool rolls_back = k % 2 == 0;
    // The first write of its transaction, and one that replaces a chain of its own.
    database
        .WithoutMemory(k / 2, from_then_on,
                       [&]() -> absl::Status {
                         auto txn = db.Begin();
                         for (const char* key : {"key", "other", "other"}) {
                           txn->Put(*tree, key, LongValue()).IgnoreError();
                         }
                         // One in parts that is finished, and one that is not.
                         UnfinishedValue& parts = txn->unfinished_value();
                         for (const bool finishes : {true, false}) {
                           const absl::StatusOr<uint64_t> number = parts.Begin(*tree, "parts");
                           if (!number.ok()) continue;
                           for (int i = 0; i < 3; ++i) {
                             parts.Append(*number, LongValue().substr(0, 300'000)).IgnoreError();
                           }
                           if (finishes) parts.Finish(*number).IgnoreError();
                           if (!finishes && !rolls_back) parts.Drop(*number);
                         }
                         return rolls_back ? txn->Rollback() : txn->Commit();
                       })
        .IgnoreError();
  });
}

}  // namespace
}  // namespace latchkey::leaked_pages_test
