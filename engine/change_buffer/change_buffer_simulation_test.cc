// The change buffer under seeded schedules: what snapshots see beside puts that wait, and what a
// power failure at any moment leaves of such puts.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "engine/testing/recorded_machine.h"
#include "engine/testing/testing_database.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::change_buffer_simulation_test {
namespace {

constexpr uint64_t kWriters = 4, kKeysOfEach = 3'000;
constexpr double kPreemptions = 0.1;

Options BufferOptions(const std::string& layout, Durability durability) {
  Options options = BusyOptions(layout, durability);
  options.techniques.change_buffer_bytes = 128 << 10;
  return options;
}

std::string KeyOf(uint64_t n) { return fmt::format("{:06}", n); }
std::string ValueOf(uint64_t version) {
  return fmt::format("{} {}", version, std::string(120, 'v'));
}

std::unique_ptr<DatabaseImpl> OpenOn(RecordedMachine& machine, const Options& options) {
  auto db = DatabaseImpl::OpenOverDevices(machine.runtime, DevicesOn(machine.disks, BusySizing()),
                                          options);
  REQUIRE_OK(db.status());
  return *std::move(db);
}

// Version 0 of all keys: leaves with some room, for which the cache has not enough frames.
void Load(DatabaseImpl& db, TreeImpl& tree) {
  for (uint64_t first = 0; first < kWriters * kKeysOfEach; first += 100) {
    REQUIRE_OK(db.RunTransaction([&](TransactionImpl& txn) {
      absl::Status done;
      for (uint64_t n = first; n < first + 100 && done.ok(); ++n) {
        constexpr uint64_t kStep = 7'919;  // without a common factor: each key once, in any order
        done = txn.Put(tree, KeyOf(n * kStep % (kWriters * kKeysOfEach)), ValueOf(0));
      }
      return done;
    }));
  }
  REQUIRE_OK(db.Checkpoint());
}

uint64_t VersionIn(std::string_view value) { return std::stoull(std::string(value)); }

// The versions of some keys as the snapshot of `txn` sees them.
std::vector<uint64_t> Read(TransactionImpl& txn, TreeImpl& tree, uint64_t first, uint64_t count) {
  std::vector<uint64_t> versions;
  std::string value;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t key = (first + 20 * kWriters * i) % (kWriters * kKeysOfEach);
    const absl::Status got = txn.Get(tree, KeyOf(key), &value);
    if (!got.ok()) FAIL(got.message());
    versions.push_back(VersionIn(value));
  }
  return versions;
}

// A put asked for, or acknowledged, and the number of disk events by then.
struct Mark {
  uint64_t position, key, version;
  bool acknowledged;
};

// Each writer puts versions 1, 2, ... at random keys of its own.
void Write(DatabaseImpl& db, TreeImpl& tree, uint64_t writer, uint64_t puts, uint64_t seed,
           const CrashRecorder& disks, std::vector<Mark>* marks) {
  Rng rng(seed * 100 + writer);
  for (uint64_t version = 1; version <= puts; ++version) {
    // Some keys are hot, so that snapshots meet their changes.
    const uint64_t keys = rng.Below(2) == 0 ? kKeysOfEach : kKeysOfEach / 20;
    const uint64_t key = rng.Below(keys) * (kKeysOfEach / keys) * kWriters + writer;
    marks->push_back({disks.position(), key, version, false});
    REQUIRE_OK(db.Put(tree, KeyOf(key), ValueOf(version)));
    marks->push_back({disks.position(), key, version, true});
  }
}

struct Recording {
  std::unique_ptr<RecordedMachine> machine;
  std::vector<Mark> marks;
  uint64_t loaded = 0;
};

Recording Record(const Options& options, uint64_t seed, uint64_t puts, bool with_readers) {
  Recording recording;
  recording.machine = std::make_unique<RecordedMachine>(seed, kPreemptions);
  SimulatedRuntime& runtime = recording.machine->runtime;
  CrashRecorder& disks = recording.machine->disks;
  const absl::Status ran = runtime.Run([&] {
    const auto db = OpenOn(*recording.machine, options);
    const auto tree = db->OpenTree("tree", /*create=*/true);
    REQUIRE_OK(tree.status());
    Load(*db, **tree);
    recording.loaded = disks.position();
    std::vector<std::unique_ptr<Actor>> actors;
    for (uint64_t w = 0; w < kWriters; ++w) {
      actors.push_back(runtime.Spawn(
          "writer", [&, w] { Write(*db, **tree, w, puts, seed, disks, &recording.marks); }));
    }
    for (uint64_t r = 0; with_readers && r < 2; ++r) {
      actors.push_back(runtime.Spawn("reader", [&, r] {
        Rng rng(seed * 100 + 50 + r);
        for (int i = 0; i < 60; ++i) {
          // No put waits while there is an older snapshot, so there is none most of the time.
          runtime.SleepFor(static_cast<Nanos>(rng.Below(1'000)) * kNanosPerMicro);
          const std::unique_ptr<TransactionImpl> txn = db->Begin();
          const uint64_t first = rng.Below(kWriters), count = 1 + rng.Below(40);
          const std::vector<uint64_t> seen = Read(*txn, **tree, first, count);
          CHECK(Read(*txn, **tree, first, count) == seen);
          REQUIRE_OK(txn->Rollback());
        }
      }));
    }
    for (auto& actor : actors) actor->Join();
    CHECK(db->GetStatistics().change_buffer_puts > puts / 2);
    std::map<uint64_t, uint64_t> last;
    for (const Mark& mark : recording.marks)
      last[mark.key] = std::max(last[mark.key], mark.version);
    std::string value;
    for (const auto& [key, version] : last) {
      REQUIRE_OK(db->RunTransaction(
          [&, key = key](TransactionImpl& txn) { return txn.Get(**tree, KeyOf(key), &value); }));
      CHECK(VersionIn(value) == version);
    }
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(db->Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  REQUIRE(recording.machine->disks.violations().empty());
  return recording;
}

TEST_CASE("Under any schedule one snapshot reads the same twice beside puts that wait",
          "[simulation]") {
  const uint64_t seed = GENERATE(range(1, kSanitizer ? 3 : 13));
  CAPTURE(seed);
  const std::string layout = seed % 2 == 0 ? "overwrite" : "lfs";
  Record(BufferOptions(layout, Durability::kGroup), seed, /*puts=*/150, /*with_readers=*/true);
}

// Other puts have such snapshots. Before puts waited for them, 39,000 of 5 million puts of two threads
// read their leaves.
TEST_CASE("A put waits for a snapshot that ends within a microsecond, and not for a long one",
          "[simulation]") {
  RecordedMachine machine(/*seed=*/1, /*preemptions=*/0);
  const absl::Status ran = machine.runtime.Run([&] {
    const auto db = OpenOn(machine, BufferOptions("lfs", Durability::kNone));
    const auto tree = db->OpenTree("tree", /*create=*/true);
    REQUIRE_OK(tree.status());
    Load(*db, **tree);
    const auto waited = [&] { return db->GetStatistics().change_buffer_puts; };
    uint64_t absent = 0;  // the leaf of this key is in no frame, and has room
    while (waited() == 0) {
      REQUIRE(++absent < kWriters * kKeysOfEach);
      REQUIRE_OK(db->Put(**tree, KeyOf(absent), ValueOf(1)));
    }
    const uint64_t other = kWriters * kKeysOfEach - 1;
    const auto put_beside_snapshot_of = [&](Nanos time) {
      const std::unique_ptr<TransactionImpl> reader = db->Begin();
      std::string value;
      REQUIRE_OK(reader->Get(**tree, KeyOf(other), &value));
      const auto actor = machine.runtime.Spawn("reader", [&] {
        machine.runtime.SleepFor(time);
        REQUIRE_OK(reader->Rollback());
      });
      REQUIRE_OK(db->Put(**tree, KeyOf(absent), ValueOf(2)));
      actor->Join();
    };
    put_beside_snapshot_of(kNanosPerMicro);
    CHECK(waited() == 2);
    put_beside_snapshot_of(kNanosPerMilli);
    CHECK(waited() == 2);
    REQUIRE_OK(db->Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
}

void CheckAfter(const Recording& recording, const std::vector<DiskImage>& images,
                const Options& options, uint64_t position, uint64_t seed) {
  std::map<uint64_t, uint64_t> told, asked;
  for (const Mark& mark : recording.marks) {
    if (mark.position > position) continue;
    auto& newest = mark.acknowledged ? told[mark.key] : asked[mark.key];
    newest = std::max(newest, mark.version);
  }
  RecordedMachine machine(seed, kPreemptions, images);
  const absl::Status ran = machine.runtime.Run([&] {
    const auto db = OpenOn(machine, options);
    const auto tree = db->OpenTree("tree", /*create=*/false);
    REQUIRE_OK(tree.status());
    const std::unique_ptr<TransactionImpl> txn = db->Begin();
    std::string value;
    for (uint64_t key = 0; key < kWriters * kKeysOfEach; ++key) {
      const absl::Status got = txn->Get(**tree, KeyOf(key), &value);
      const uint64_t version = got.ok() ? VersionIn(value) : UINT64_MAX;
      if (version < told[key] || version > asked[key]) {
        FAIL("key " << key << " has version " << version << ", told " << told[key] << ", asked "
                    << asked[key] << ": " << got.message());
      }
    }
    REQUIRE_OK(txn->Rollback());
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(db->Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
}

TEST_CASE("A power failure at any moment leaves each acknowledged put, whether it waited or not",
          "[simulation]") {
  const std::string layout = GENERATE("overwrite", "lfs", "hylog");
  const uint64_t seed = GENERATE(range(1, kSanitizer ? 2 : 4));
  CAPTURE(layout, seed);
  const Options options = BufferOptions(layout, Durability::kCommit);
  const Recording recording = Record(options, seed, /*puts=*/120, /*with_readers=*/false);
  CrashReplay replay(recording.machine->disks);
  Rng rng(seed);
  constexpr uint64_t kCrashes = kSanitizer ? 4 : 12;
  const uint64_t span = replay.end() - recording.loaded;
  for (uint64_t crash = 0; crash < kCrashes; ++crash) {
    const uint64_t position =
        recording.loaded + span * crash / kCrashes + rng.Below(span / kCrashes);
    CAPTURE(position);
    replay.AdvanceTo(position);
    CheckAfter(recording, replay.SomeImages(rng), options, position, seed);
  }
}

}  // namespace
}  // namespace latchkey::change_buffer_simulation_test
