// Snapshots and transactions that outgrow memory, through the public interface and on faulty disks.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "engine/database_impl.h"
#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"
#include "storage/base/sanitizers.h"
#include "storage/base/testing/temp_dir.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::spill_test {
namespace {

std::string Key(uint64_t i) { return fmt::format("key {:010}", i); }

Options Small(Durability durability) {
  Options options;
  options.cache_bytes = 8 << 20;
  options.durability = durability;
  return options;
}

TEST_CASE("a batch of 100,000 puts commits in a small database, beside a snapshot without it") {
  const Durability durability = GENERATE(Durability::kNone, Durability::kGroup);
  auto db = OpenInMemory(Small(durability));
  const Tree tree = TreeOrFail(*db, "t");
  constexpr uint64_t kPuts = kThreadSanitizer ? 30'000 : 100'000;
  for (uint64_t i = 0; i < kPuts; i += 1000) REQUIRE_OK(db->Put(tree, Key(i), "before"));
  Transaction reader = db->Begin({.read_only = true});
  std::string value;
  REQUIRE_OK(reader.Get(tree, Key(0), &value));
  WriteBatch batch;
  for (uint64_t i = 0; i < kPuts; ++i) batch.Put(tree, Key(i), fmt::format("value {}", i));
  REQUIRE_OK(db->Write(batch));
  for (uint64_t i = 0; i < kPuts; i += 500) {
    REQUIRE_OK(db->Get(tree, Key(i), &value));
    CHECK(value == fmt::format("value {}", i));
    const absl::Status before = reader.Get(tree, Key(i), &value);
    if (i % 1000 == 0) {
      CHECK((before.ok() && value == "before"));
    } else {
      CHECK(absl::IsNotFound(before));
    }
  }
  CHECK(db->GetStatistics().version_bytes_spilled > 0);
  REQUIRE_OK(reader.Commit());
  REQUIRE_OK(db->Verify());
  CHECK(db->GetStatistics().version_bytes_spilled == 0);
}

TEST_CASE("a transaction of 100,000 changes rolls back whole in a small database") {
  const Durability durability = GENERATE(Durability::kNone, Durability::kGroup);
  auto db = OpenInMemory(Small(durability));
  const Tree tree = TreeOrFail(*db, "t");
  constexpr uint64_t kChanges = kThreadSanitizer ? 30'000 : 100'000;
  for (uint64_t i = 0; i < kChanges; i += 10) REQUIRE_OK(db->Put(tree, Key(i), "before"));
  {
    Transaction large = db->Begin();
    for (uint64_t i = 0; i < kChanges; ++i) {
      REQUIRE_OK(i % 20 == 0 ? large.Delete(tree, Key(i)) : large.Put(tree, Key(i), "in vain"));
    }
    CHECK(db->GetStatistics().version_bytes_spilled > 0);
    REQUIRE_OK(large.Rollback());
  }
  Transaction reader = db->Begin();
  Cursor cursor = reader.NewCursor(tree);
  uint64_t found = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    REQUIRE(cursor.key() == Key(10 * found));
    REQUIRE(cursor.value() == "before");
    ++found;
  }
  CHECK(found == kChanges / 10);
  REQUIRE_OK(reader.Commit());
  REQUIRE_OK(db->Verify());
}

TEST_CASE("a scan sees its snapshot again and again while every record is rewritten") {
  auto db = OpenInMemory(Small(Durability::kNone));
  const Tree tree = TreeOrFail(*db, "t");
  constexpr uint64_t kRecords = kSanitizer ? 8'000 : 20'000;
  for (uint64_t i = 0; i < kRecords; ++i) REQUIRE_OK(db->Put(tree, Key(i), "0"));
  Transaction reader = db->Begin({.read_only = true});
  const auto count_first = [&] {
    Cursor cursor = reader.NewCursor(tree);
    uint64_t first = 0;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) first += cursor.value() == "0";
    REQUIRE_OK(cursor.status());
    return first;
  };
  REQUIRE(count_first() == kRecords);
  for (int round = 1; round <= 3; ++round) {
    for (uint64_t i = 0; i < kRecords; ++i) {
      REQUIRE_OK(db->Put(tree, Key(i * 7919 % kRecords), std::string(100, 'v')));
    }
    REQUIRE(count_first() == kRecords);
  }
  CHECK(db->GetStatistics().version_bytes_spilled > 0);
  CHECK(db->GetStatistics().snapshots_too_old == 0);
  REQUIRE_OK(reader.Commit());
}

TEST_CASE("the spill file has no name, and one that was left is removed") {
  const TempDir dir;
  const std::string path = dir.File("db");
  { auto db = OpenOrFail(path, Small(Durability::kCommit)); }
  std::ofstream(path + "/spill.lk") << "of a process that died before it took the name away";
  auto db = OpenOrFail(path, Small(Durability::kCommit));
  CHECK(!std::filesystem::exists(path + "/spill.lk"));
}

TEST_CASE("when the spill device fails the snapshot is too old, and the database goes on") {
  const bool fails_reads = GENERATE(false, true);
  const uint64_t seed = GENERATE(range<uint64_t>(1, kSanitizer ? 2 : 4));
  CAPTURE(fails_reads, seed);
  SimulatedRuntime runtime{SimulationOptions{.seed = seed}};
  CrashRecorder disks(runtime, {.record = false}), spill_disks(runtime, {.record = false});
  const absl::Status ran = runtime.Run([&] {
    DatabaseDevices devices;
    devices.data = disks.Open(disks.AddDisk("data"));
    devices.spill = spill_disks.Open(spill_disks.AddDisk("spill"));
    devices.sizing = {.reserve_bytes = 1, .assume_device_costs = true};
    Options options = Small(Durability::kNone);
    options.techniques.segment_size = 64 << 10;
    auto opened = DatabaseImpl::OpenOverDevices(runtime, std::move(devices), options);
    INFO(opened.status());
    REQUIRE(opened.ok());
    std::unique_ptr<Database> db = DatabaseImpl::AsDatabase(*std::move(opened));
    const Tree tree = TreeOrFail(*db, "t");
    for (uint64_t i = 0; i < 20'000; ++i) REQUIRE_OK(db->Put(tree, Key(i), "0"));
    Transaction reader = db->Begin({.read_only = true});
    std::string value;
    REQUIRE_OK(reader.Get(tree, Key(0), &value));
    if (!fails_reads) {
      spill_disks.SetFault(
          Fault{.kind = FaultKind::kWriteError, .at_call = 1, .from_then_on = true});
    }
    for (uint64_t i = 0; i < 20'000; ++i) REQUIRE_OK(db->Put(tree, Key(i), std::string(100, 'v')));
    if (fails_reads) {
      CHECK(db->GetStatistics().version_bytes_spilled > 0);
      spill_disks.SetFault(Fault{.kind = FaultKind::kReadError, .from_then_on = true});
    }
    absl::Status aged = absl::OkStatus();
    for (uint64_t i = 0; i < 20'000 && aged.ok(); ++i) aged = reader.Get(tree, Key(i), &value);
    CHECK(absl::IsAborted(aged));
    for (uint64_t i = 0; i < 20'000; ++i) {
      REQUIRE_OK(db->Get(tree, Key(i), &value));
      REQUIRE(value == std::string(100, 'v'));
    }
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(db->Close());
  });
  INFO(ran);
  REQUIRE(ran.ok());
}

TEST_CASE("a database closes, goes and opens again while its versions are settled and spilled") {
  const Durability durability = GENERATE(Durability::kNone, Durability::kGroup);
  const bool closes = GENERATE(false, true);
  CAPTURE(durability, closes);
  const TempDir dir;
  const std::string path = dir.File("db");
  constexpr uint64_t kRecords = 3000;
  std::string value;
  for (uint64_t life = 1; life <= 6; ++life) {
    auto db = OpenOrFail(path, Small(durability));
    const Tree tree = TreeOrFail(*db, "t");
    Transaction reader = db->Begin({.read_only = true});
    const absl::Status before = reader.Get(tree, Key(0), &value);
    CHECK((life == 1 ? absl::IsNotFound(before) : before.ok()));
    const uint64_t puts = kRecords + life * 511;  // so that each life ends at another point
    for (uint64_t i = 0; i < puts; ++i) {
      REQUIRE_OK(db->Put(tree, Key(i % kRecords), fmt::format("{} of life {}", i, life)));
    }
    const absl::Status still = reader.Get(tree, Key(0), &value);
    CHECK((life == 1 ? absl::IsNotFound(still) : still.ok()));
    if (life > 1) CHECK(value.ends_with(fmt::format("of life {}", life - 1)));
    if (closes) {
      REQUIRE_OK(reader.Commit());
      REQUIRE_OK(db->Verify());
      REQUIRE_OK(db->Close());
    }
  }
}

}  // namespace
}  // namespace latchkey::spill_test
