// Power failures under many actors: a simulated bank on recorded disks loses its power at seeded
// moments, in seeded ways. What recovery finds holds every acknowledged transfer, none that was not
// asked for, and all the money.
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
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::simulation_crash_test {
namespace {

constexpr int kAccounts = 300, kOpening = 100, kTellers = 4, kTransfers = 40;
constexpr double kPreemptions = 0.05;

Options BankOptions(const std::string& layout, Durability durability, uint64_t seed) {
  Options options = BusyOptions(layout, durability);
  options.techniques.seed = seed;
  return options;
}

using Images = std::vector<DiskImage>;  // data, log, journal; none: a new database

absl::StatusOr<std::unique_ptr<DatabaseImpl>> OpenBank(SimulatedRuntime& runtime,
                                                       CrashRecorder& disks,
                                                       const Options& options) {
  return DatabaseImpl::OpenOverDevices(runtime, DevicesOn(disks, BusySizing()), options);
}

std::string AccountKey(uint64_t account) { return "account" + std::to_string(1000 + account); }
std::string TellerKey(int teller) { return "teller" + std::to_string(teller); }

std::string AccountValue(int64_t balance) {
  return std::to_string(balance) + " " + std::string(100 + static_cast<size_t>(balance % 50), 'v');
}

// A teller's request and its answer, and the number of disk events by then.
struct Mark {
  uint64_t position;
  int teller;
  int transfer;
  bool acknowledged;
};

// A run of the bank, with its disks' events.
struct Recording {
  std::unique_ptr<RecordedMachine> machine;
  std::vector<Mark> marks;
  uint64_t opened = 0;  // position: the accounts are there, and durable
};

absl::Status Transfer(DatabaseImpl& db, TreeImpl& tree, int teller, int transfer, Rng& rng) {
  const uint64_t from = rng.Below(kAccounts), to = rng.Below(kAccounts);
  const auto amount = static_cast<int64_t>(rng.Below(10));
  return db.RunTransaction([&](TransactionImpl& txn) -> absl::Status {
    std::string a, b;
    absl::Status status = txn.Get(tree, AccountKey(from), &a);
    if (status.ok()) status = txn.Put(tree, AccountKey(from), AccountValue(std::stoll(a) - amount));
    if (status.ok()) status = txn.Get(tree, AccountKey(to), &b);
    if (status.ok()) status = txn.Put(tree, AccountKey(to), AccountValue(std::stoll(b) + amount));
    if (status.ok()) status = txn.Put(tree, TellerKey(teller), std::to_string(transfer));
    return status;
  });
}

void OpenAccounts(DatabaseImpl& db, TreeImpl& tree) {
  REQUIRE_OK(db.RunTransaction([&](TransactionImpl& txn) -> absl::Status {
    absl::Status status;
    for (int t = 0; t < kTellers && status.ok(); ++t) status = txn.Put(tree, TellerKey(t), "0");
    for (int a = 0; a < kAccounts && status.ok(); ++a) {
      status = txn.Put(tree, AccountKey(static_cast<uint64_t>(a)), AccountValue(kOpening));
    }
    return status;
  }));
}

Recording Record(const Options& options, uint64_t seed) {
  Recording recording;
  recording.machine = std::make_unique<RecordedMachine>(seed, kPreemptions);
  SimulatedRuntime& runtime = recording.machine->runtime;
  CrashRecorder& disks = recording.machine->disks;
  const absl::Status ran = runtime.Run([&] {
    absl::StatusOr<std::unique_ptr<DatabaseImpl>> opened = OpenBank(runtime, disks, options);
    REQUIRE_OK(opened.status());
    DatabaseImpl& db = **opened;
    absl::StatusOr<TreeImpl*> tree = db.OpenTree("bank", /*create=*/true);
    REQUIRE_OK(tree.status());
    OpenAccounts(db, **tree);
    REQUIRE_OK(db.Checkpoint());
    recording.opened = disks.position();
    std::vector<std::unique_ptr<Actor>> actors;
    for (int t = 0; t < kTellers; ++t) {
      actors.push_back(runtime.Spawn(TellerKey(t), [&, t] {
        Rng rng(seed * 100 + static_cast<uint64_t>(t));
        for (int i = 1; i <= kTransfers; ++i) {
          recording.marks.push_back({disks.position(), t, i, false});
          REQUIRE_OK(Transfer(db, **tree, t, i, rng));
          recording.marks.push_back({disks.position(), t, i, true});
        }
      }));
    }
    for (auto& actor : actors) actor->Join();
    REQUIRE_OK(db.Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  return recording;
}

// The last transfer of each teller that had been acknowledged, or asked for, at `position`.
std::map<std::string, int> LastTransfers(const Recording& recording, uint64_t position,
                                         bool acknowledged) {
  std::map<std::string, int> last;
  for (int t = 0; t < kTellers; ++t) last[TellerKey(t)] = 0;
  for (const Mark& mark : recording.marks) {
    if (mark.acknowledged == acknowledged && mark.position <= position) {
      last[TellerKey(mark.teller)] = mark.transfer;
    }
  }
  return last;
}

struct Books {
  int64_t total = 0;
  int accounts = 0;
  std::map<std::string, int> last;  // transfer of each teller
};

Books ReadBooks(DatabaseImpl& db) {
  absl::StatusOr<TreeImpl*> tree = db.OpenTree("bank", /*create=*/false);
  REQUIRE_OK(tree.status());
  Books books;
  const std::unique_ptr<TransactionImpl> txn = db.Begin();
  CursorImpl cursor(*txn, *tree, {});
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    const std::string key(cursor.key());
    const int64_t number = std::stoll(std::string(cursor.value()));
    if (key.starts_with("teller")) {
      books.last[key] = static_cast<int>(number);
    } else {
      books.total += number;
      ++books.accounts;
    }
  }
  REQUIRE_OK(cursor.status());
  REQUIRE_OK(txn->Rollback());
  return books;
}

// Starts the machine again with `images`; returns the hash of what happened then.
uint64_t Restart(const Images& images, const Options& options, uint64_t seed, Books* books) {
  RecordedMachine machine(seed, kPreemptions, images);
  const absl::Status ran = machine.runtime.Run([&] {
    absl::StatusOr<std::unique_ptr<DatabaseImpl>> db =
        OpenBank(machine.runtime, machine.disks, options);
    REQUIRE_OK(db.status());
    *books = ReadBooks(**db);
    REQUIRE_OK((*db)->Verify());
    REQUIRE_OK((*db)->Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  return machine.runtime.history_hash();
}

CrashChoice RandomChoice(Rng& rng, size_t pending) {
  static constexpr CrashVariant kVariants[] = {
      CrashVariant::kAll,    CrashVariant::kNone,    CrashVariant::kDropOne, CrashVariant::kKeepOne,
      CrashVariant::kWrites, CrashVariant::kSectors, CrashVariant::kGarbage};
  const CrashVariant variant = pending == 0 ? CrashVariant::kAll : kVariants[rng.Below(7)];
  return {.variant = variant, .index = pending == 0 ? 0 : rng.Below(pending)};
}

void CrashOften(const Options& options, uint64_t seed, int crashes) {
  const Recording recording = Record(options, seed);
  REQUIRE(recording.machine->disks.violations().empty());
  CrashReplay replay(recording.machine->disks);
  Rng rng(seed);
  const uint64_t span = replay.end() - recording.opened;
  REQUIRE(span > 50);
  for (int crash = 0; crash < crashes; ++crash) {
    const auto step = static_cast<uint64_t>(crash);
    const uint64_t position = recording.opened + span * step / static_cast<uint64_t>(crashes) +
                              rng.Below(span / static_cast<uint64_t>(crashes));
    replay.AdvanceTo(position);
    const CrashChoice choice = RandomChoice(rng, replay.pending_changes());
    INFO("seed " << seed << ", position " << position << ", variant "
                 << CrashVariantName(choice.variant) << ", index " << choice.index);
    const Images images = replay.Images(choice, seed);
    Books books;
    const uint64_t hash = Restart(images, options, seed, &books);
    CHECK(books.accounts == kAccounts);
    CHECK(books.total == int64_t{kAccounts} * kOpening);
    const auto told = LastTransfers(recording, position, /*acknowledged=*/true);
    const auto asked = LastTransfers(recording, position, /*acknowledged=*/false);
    for (const auto& [teller, transfer] : books.last) {
      INFO(teller);
      if (options.durability == Durability::kCommit) CHECK(transfer >= told.at(teller));
      CHECK(transfer <= asked.at(teller));
    }
    if (crash % 8 == 0) {
      Books again;
      CHECK(Restart(images, options, seed, &again) == hash);  // recovery is repeatable, too
    }
  }
}

TEST_CASE("A bank whose power fails in the middle of everything keeps what it acknowledged",
          "[simulation]") {
  const char* layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  INFO(layout);
  CrashOften(BankOptions(layout, Durability::kCommit, 1), /*seed=*/1, /*crashes=*/24);
}

TEST_CASE("With group durability what a power failure leaves is consistent, if not the newest",
          "[simulation]") {
  CrashOften(BankOptions("hylog", Durability::kGroup, 2), /*seed=*/2, /*crashes=*/24);
}

// Gathering began anew when the flush before was done, so such a commit waited for most of two
// flushes and half of the delay.
TEST_CASE("A group commit that comes during a flush is durable in time as well", "[simulation]") {
  Options options = BankOptions("overwrite", Durability::kGroup, 4);
  options.group_commit_delay_ms = 1;
  SimulatedRuntime runtime({.seed = 4});
  CrashRecorder disks(runtime, {.min_latency = 5 * kNanosPerMicro,
                                .max_latency = 10 * kNanosPerMicro,
                                .sync_latency = 400 * kNanosPerMicro,
                                .seed = 4});
  for (const char* name : {"data", "log", "journal"}) disks.AddDisk(name);
  uint64_t due = 0;  // position: the promise of the second commit begins to hold
  const absl::Status ran = runtime.Run([&] {
    const auto db = OpenBank(runtime, disks, options);
    REQUIRE_OK(db.status());
    const absl::StatusOr<TreeImpl*> tree = (*db)->OpenTree("bank", /*create=*/true);
    REQUIRE_OK(tree.status());
    REQUIRE_OK((*db)->Checkpoint());
    for (const char* key : {"teller0", "teller1"}) {
      REQUIRE_OK(
          (*db)->RunTransaction([&](TransactionImpl& t) { return t.Put(**tree, key, "1"); }));
      // The first one's flush begins after .5 ms and takes .4 ms.
      if (due++ == 0) runtime.SleepFor(600 * kNanosPerMicro);
    }
    runtime.SleepFor(kNanosPerMilli);
    due = disks.position();
    REQUIRE_OK((*db)->Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  CrashReplay replay(disks);
  replay.AdvanceTo(due);
  Books books;
  Restart(replay.Images({.variant = CrashVariant::kNone}, 4), options, 4, &books);
  CHECK(books.last == std::map<std::string, int>{{"teller0", 1}, {"teller1", 1}});
}

TEST_CASE("A logged run with the same seed has the same history", "[simulation]") {
  const char* layout = GENERATE("overwrite", "hylog");
  const Durability durability = GENERATE(Durability::kCommit, Durability::kGroup);
  const Options options = BankOptions(layout, durability, 3);
  const Recording one = Record(options, 3), other = Record(options, 3);
  CHECK(one.machine->runtime.history_hash() == other.machine->runtime.history_hash());
  REQUIRE(one.machine->disks.position() == other.machine->disks.position());
  for (uint32_t disk = 0; disk < 3; ++disk) {
    CHECK(one.machine->disks.content(disk).Hash() == other.machine->disks.content(disk).Hash());
  }
}

}  // namespace
}  // namespace latchkey::simulation_crash_test
