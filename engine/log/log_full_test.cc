// Databases whose log is small, full or far behind: what it takes of its device, when checkpoints
// come, and that a rollback never lacks space.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/device/memory_device.h"
#include "storage/device/testing/forwarding_device.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/wal/log_format.h"

namespace latchkey::log_full_test {
namespace {

// A device as most are: every request, and so every group of a log, takes whole 4 KiB.
class WideDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  DeviceGeometry geometry() const override {
    DeviceGeometry geometry = ForwardingDevice::geometry();
    geometry.logical_block = geometry.atomic_write_unit = 4096;
    return geometry;
  }
};

std::unique_ptr<BlockDevice> NewDevice(Runtime& runtime, bool is_wide) {
  auto device = MemoryDevice::Create(runtime, {.capacity_limit_bytes = uint64_t{256} << 20});
  REQUIRE(device.ok());
  if (!is_wide) return *std::move(device);
  return std::make_unique<WideDevice>(*std::move(device));
}

struct Small {
  Durability durability = Durability::kGroup;
  uint64_t checkpoint_log_bytes = 1 << 20;
  uint64_t log_max_bytes = 0;
  std::string replacement = "clock";
  TornWriteProtection torn_write_protection = TornWriteProtection::kDoublewrite;
  uint32_t page_size = 4096;
  uint32_t log_segment_bytes = 64 << 10;  ///< 0: as a new database has
  bool has_wide_blocks = true;            ///< of 4 KiB, else of 512 bytes
};

std::unique_ptr<DatabaseImpl> OpenSmall(Runtime& runtime, const Small& small) {
  Options options;
  options.page_size = small.page_size;
  options.cache_bytes = std::max(6u << 20, 512 * small.page_size);
  options.version_store_bytes = 4 << 20;
  options.durability = small.durability;
  options.torn_write_protection = small.torn_write_protection;
  options.checkpoint_log_bytes = small.checkpoint_log_bytes;
  options.techniques.segment_size = std::max(64u << 10, 8 * small.page_size);
  options.techniques.replacement = small.replacement;
  DatabaseDevices devices;
  devices.data = NewDevice(runtime, small.has_wide_blocks);
  devices.log = NewDevice(runtime, small.has_wide_blocks);
  devices.journal = NewDevice(runtime, small.has_wide_blocks);
  devices.sizing = {.log_segment_bytes = small.log_segment_bytes,
                    .log_initial_bytes = uint64_t{4} * small.log_segment_bytes,
                    .log_max_bytes = small.log_max_bytes,
                    .journal_segment_bytes = 16 << 10,
                    .reserve_bytes = 12 * (64 << 10),
                    .doublewrite_pages = 16,
                    .assume_device_costs = true};
  auto db = DatabaseImpl::OpenOverDevices(runtime, std::move(devices), options);
  if (!db.ok()) FAIL(db.status().message());
  return *std::move(db);
}

TreeImpl& TreeOf(DatabaseImpl& db) {
  auto tree = db.OpenTree("tree", /*create=*/true);
  if (!tree.ok()) FAIL(tree.status().message());
  return **tree;
}

std::string KeyOf(uint64_t i) { return std::to_string(100'000 + i); }

LogStats StatsOf(DatabaseImpl& db) { return db.engine_log()->log().stats(); }

TEST_CASE("The log's file stays within a few checkpoint intervals, however much is written") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    for (const Durability durability : {Durability::kGroup, Durability::kCommit}) {
      const Small small{.durability = durability};
      auto db = OpenSmall(runtime, small);
      TreeImpl& tree = TreeOf(*db);
      Rng rng(5);
      const uint64_t longest = kThreadSanitizer ? 4u << 20 : 24u << 20;
      const uint64_t target = durability == Durability::kGroup ? longest : longest / 4;
      while (StatsOf(*db).record_bytes + StatsOf(*db).group_bytes < target) {
        REQUIRE_OK(db->RunTransaction([&](TransactionImpl& txn) -> absl::Status {
          absl::Status status;
          for (int i = 0; i < 10 && status.ok(); ++i) {
            status = txn.Put(tree, KeyOf(rng.Below(3000)), std::string(150, 'v'));
          }
          return status;
        }));
      }
      const LogStats log = StatsOf(*db);
      // In some schedules a few blocks more than the usual three intervals.
      CHECK(log.allocated_bytes <= 3 * small.checkpoint_log_bytes + (64 << 10));
      CHECK(db->checkpoints() >= log.group_bytes / small.checkpoint_log_bytes / 2);
      CHECK(db->checkpoints() <= log.group_bytes / small.checkpoint_log_bytes + 2);
      REQUIRE_OK(db->Close());
    }
  });
  INFO(ran);
  CHECK(ran.ok());
}

TEST_CASE("A long transaction makes the log grow by little more than it writes") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    auto db = OpenSmall(runtime, {});
    TreeImpl& tree = TreeOf(*db);
    auto txn = db->Begin();
    const uint64_t before = StatsOf(*db).record_bytes;
    for (uint64_t i = 0; i < 10'000; ++i) REQUIRE_OK(txn->Put(tree, KeyOf(i), "a short value"));
    const uint64_t written = StatsOf(*db).record_bytes - before;
    // The undo of a put reserves more than its record takes, with the tax for groups. A step of
    // growth has 2 MiB.
    CHECK(StatsOf(*db).allocated_bytes < (2u << 20) + 6 * written);
    REQUIRE_OK(txn->Rollback());
    REQUIRE_OK(db->Close());
  });
  INFO(ran);
  CHECK(ran.ok());
}

TEST_CASE("Without writes there are no checkpoints, and the checkpointer sleeps") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    auto db = OpenSmall(runtime, {});
    const uint64_t before = db->checkpoints();
    const uint64_t hand_overs = runtime.stats().hand_overs;
    runtime.SleepFor(3600 * kNanosPerSecond);
    CHECK(db->checkpoints() == before);
    CHECK(runtime.stats().hand_overs < hand_overs + 1000);
    REQUIRE_OK(db->Close());
  });
  INFO(ran);
  CHECK(ran.ok());
}

TEST_CASE(
    "With group durability trees that are made or dropped are durable within the delay, too") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    auto db = OpenSmall(runtime, {});
    const Log& log = db->engine_log()->log();
    const auto is_durable_in_time = [&] {
      const Lsn logged = log.next();
      runtime.SleepFor(kNanosPerSecond);
      return log.durable() >= logged;
    };
    TreeOf(*db);
    CHECK(is_durable_in_time());
    REQUIRE_OK(db->DropTree("tree"));
    CHECK(is_durable_in_time());
    REQUIRE_OK(db->Close());
  });
  INFO(ran);
  CHECK(ran.ok());
}

// A full log waits for a checkpoint, and that asks the catalogue where it is.
TEST_CASE("Making a tree at a full log does not keep the checkpoint away that makes room") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    const uint64_t log_bytes = 1 << 20;
    auto db = OpenSmall(runtime, {.checkpoint_log_bytes = 64 << 20, .log_max_bytes = log_bytes});
    const uint64_t full_logs = kSanitizer ? 2 : 4;
    while (StatsOf(*db).record_bytes < full_logs * log_bytes) {
      const std::string name = "tree " + KeyOf(db->ListTrees().size());
      REQUIRE_OK(db->OpenTree(name, /*create=*/true).status());
    }
    CHECK(db->checkpoints() >= full_logs);
    while (db->ListTrees().size() > 10) REQUIRE_OK(db->DropTree(db->ListTrees().back()));
    REQUIRE_OK(db->Close());
  });
  INFO(ran);
  CHECK(ran.ok());
}

// Fills the log with one transaction's changes, all over the tree, while others leave no room in
// the leaves for what comes back; then takes them back.
void RollBackAtFullLog(Runtime& runtime, const std::string& replacement,
                       TornWriteProtection protection) {
  constexpr uint64_t kMaxLog = 8u << 20;
  auto db = OpenSmall(runtime, {.durability = Durability::kCommit,
                                .log_max_bytes = kMaxLog,
                                .replacement = replacement,
                                .torn_write_protection = protection});
  TreeImpl& tree = TreeOf(*db);
  constexpr uint64_t kKeys = 6000;
  const std::string old_value(700, 'o');
  for (uint64_t i = 0; i < kKeys;) {
    REQUIRE_OK(db->RunTransaction([&](TransactionImpl& txn) -> absl::Status {
      absl::Status status;
      for (int n = 0; n < 20 && status.ok(); ++n) status = txn.Put(tree, KeyOf(i++), old_value);
      return status;
    }));
  }
  auto txn = db->Begin();
  absl::Status written;
  uint64_t changes = 0;
  const auto put_beside = [&](uint64_t change) {
    return db->RunTransaction([&](TransactionImpl& other) {
      return other.Put(tree, KeyOf(change * 7 % kKeys) + "x", std::string(600, 'x'));
    });
  };
  for (; written.ok() && changes < kKeys; ++changes) {
    written = txn->Put(tree, KeyOf(changes * 7 % kKeys), "new");
    if (written.ok() && changes % 3 == 0) written = put_beside(changes);
  }
  CHECK(absl::IsResourceExhausted(written));
  CHECK_THAT(std::string(written.message()), Catch::Contains("no room"));
  CHECK(changes > 500);
  // Others take what is left, down to the last byte.
  for (uint64_t i = 0; i < changes; ++i) put_beside(i).IgnoreError();
  REQUIRE_OK(txn->Rollback());
  REQUIRE_OK(db->Verify());
  std::string value;
  for (uint64_t i = 0; i < kKeys; ++i) {
    REQUIRE_OK(db->Get(tree, KeyOf(i), &value));
    REQUIRE(value == old_value);
  }
  CHECK(StatsOf(*db).allocated_bytes <= kMaxLog);
  // There is room again.
  REQUIRE_OK(db->RunTransaction(
      [&](TransactionImpl& other) { return other.Put(tree, "after", "the rollback"); }));
  REQUIRE_OK(db->Close());
}

TEST_CASE("A rollback at a full log finds its space, whichever pages the policy evicts") {
  for (const char* replacement : {"random", "lru", "clock", "gclock", "2q"}) {
    CAPTURE(replacement);
    SimulatedRuntime runtime;
    const absl::Status ran = runtime.Run(
        [&] { RollBackAtFullLog(runtime, replacement, TornWriteProtection::kDoublewrite); });
    INFO(ran);
    CHECK(ran.ok());
  }
}

TEST_CASE("A rollback at a full log finds its space where images protect its pages, too") {
  SimulatedRuntime runtime;
  const absl::Status ran =
      runtime.Run([&] { RollBackAtFullLog(runtime, "clock", TornWriteProtection::kImages); });
  INFO(ran);
  CHECK(ran.ok());
}

// With three segments of 128 KiB a single change of a tree with pages of 64 KiB found no room.
TEST_CASE(
    "A rollback and a checkpoint find their space in a log of the least size, at every page size") {
  const uint32_t page_size = GENERATE(4096, 16384, 65536);
  const bool has_wide_blocks = GENERATE(true, false);
  CAPTURE(page_size, has_wide_blocks);
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    const uint64_t most = kLogSegmentsBegin + 3 * std::max(128u << 10, 32 * page_size);
    auto db = OpenSmall(runtime, {.durability = Durability::kCommit,
                                  .log_max_bytes = most,
                                  .page_size = page_size,
                                  .log_segment_bytes = 0,
                                  .has_wide_blocks = has_wide_blocks});
    TreeImpl& tree = TreeOf(*db);
    const uint64_t keys = 20 * page_size / 1024;
    for (uint64_t i = 0; i < keys; ++i) {
      REQUIRE_OK(db->RunTransaction(
          [&](TransactionImpl& txn) { return txn.Put(tree, KeyOf(i), std::string(700, 'o')); }));
    }
    const auto put_beside = [&](uint64_t i) {
      return db->RunTransaction([&](TransactionImpl& other) {
        return other.Put(tree, KeyOf(i % keys) + "x", std::string(600, 'x'));
      });
    };
    auto txn = db->Begin();
    for (uint64_t i = 0; i < keys; ++i) {
      if (!txn->Put(tree, KeyOf(i), "n").ok()) break;
    }
    // Others leave the leaves no room for what comes back, and take all of the log that they get.
    uint64_t beside = 0;
    absl::Status full;
    for (; full.ok() && beside < 100 * keys; ++beside) full = put_beside(beside);
    CHECK(absl::IsResourceExhausted(full));
    REQUIRE_OK(txn->Rollback());
    REQUIRE_OK(db->Checkpoint());
    REQUIRE_OK(db->Verify());
    std::string value;
    for (uint64_t i = 0; i < keys; ++i) {
      REQUIRE_OK(db->Get(tree, KeyOf(i), &value));
      REQUIRE(value == std::string(700, 'o'));
    }
    CHECK(StatsOf(*db).allocated_bytes <= most);
    REQUIRE_OK(put_beside(0));
    REQUIRE_OK(db->Close());
  });
  INFO(ran);
  CHECK(ran.ok());
}

}  // namespace
}  // namespace latchkey::log_full_test
