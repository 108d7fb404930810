// Waiting for the lock of another transaction: what would never end is refused at once, everything
// else ends after Options::lock_wait_ms.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/database_impl.h"
#include "engine/testing/testing_database.h"
#include "storage/device/memory_device.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::lock_wait_test {
namespace {

using Catch::Contains;

constexpr uint32_t kLockWaitMs = 700;

/// A database in virtual time, by its public interface.
struct Simulated {
  void Run(const std::function<void(Database&, Tree)>& body) {
    const absl::Status ran = runtime.Run([&] {
      auto device = MemoryDevice::Create(runtime, {.capacity_limit_bytes = uint64_t{64} << 20});
      REQUIRE(device.ok());
      DatabaseDevices devices;
      devices.data = *std::move(device);
      devices.sizing = {.reserve_bytes = 1, .assume_device_costs = true};
      Options options;
      options.cache_bytes = 4 << 20;
      options.durability = Durability::kNone;
      options.techniques.segment_size = 64 << 10;
      options.lock_wait_ms = kLockWaitMs;
      auto impl = DatabaseImpl::OpenOverDevices(runtime, std::move(devices), options);
      INFO(impl.status());
      REQUIRE(impl.ok());
      const std::unique_ptr<Database> db = DatabaseImpl::AsDatabase(*std::move(impl));
      body(*db, TreeOrFail(*db, "tree"));
      REQUIRE_OK(db->Close());
    });
    INFO(ran);
    REQUIRE(ran.ok());
  }
  /// Returns once the database has been waited in `count` times.
  void AwaitBlocked() { runtime.SleepFor(kNanosPerMilli); }
  double MillisSince(Nanos since) {
    return static_cast<double>(runtime.Now() - since) / kNanosPerMilli;
  }

  SimulatedRuntime runtime;
};

TEST_CASE("A thread that would wait for its own transaction is told so at once") {
  Simulated s;
  s.Run([&](Database& db, Tree tree) {
    REQUIRE_OK(db.Put(tree, "k", "before"));
    Transaction holder = db.Begin();
    REQUIRE_OK(holder.Put(tree, "k", "held"));
    const Nanos began = s.runtime.Now();
    WriteBatch batch;
    batch.Put(tree, "k", "batch");
    Transaction other = db.Begin();
    std::string value;
    for (const absl::Status& refused : {db.Put(tree, "k", "put"), db.Delete(tree, "k"),
                                        db.Write(batch), other.GetForUpdate(tree, "k", &value)}) {
      CHECK(absl::IsAborted(refused));
      CHECK_THAT(std::string(refused.message()), Contains("this thread"));
    }
    CHECK(s.MillisSince(began) < kLockWaitMs / 2);
    CHECK(other.is_vain_to_repeat());
    CHECK_FALSE(holder.is_vain_to_repeat());
    CHECK(absl::IsFailedPrecondition(other.Commit()));  // it is over
    REQUIRE_OK(holder.Commit());
    REQUIRE_OK(db.Get(tree, "k", &value));
    CHECK(value == "held");
    REQUIRE_OK(db.Put(tree, "k", "after"));
  });
}

TEST_CASE("A thread that would wait for another one that waits for it is told so at once") {
  Simulated s;
  s.Run([&](Database& db, Tree tree) {
    Transaction mine = db.Begin();
    REQUIRE_OK(mine.Put(tree, "a", "1"));
    absl::Status theirs_done;
    auto actor = s.runtime.Spawn("other", [&] {
      Transaction theirs = db.Begin();
      REQUIRE_OK(theirs.Put(tree, "b", "2"));
      theirs_done = theirs.Put(tree, "a", "2");
      if (theirs_done.ok()) theirs_done = theirs.Commit();
    });
    s.AwaitBlocked();
    const Nanos began = s.runtime.Now();
    const absl::Status refused = db.Put(tree, "b", "1");
    CHECK(absl::IsAborted(refused));
    CHECK_THAT(std::string(refused.message()), Contains("this thread"));
    CHECK(s.MillisSince(began) < kLockWaitMs / 2);
    REQUIRE_OK(mine.Rollback());
    actor->Join();
    REQUIRE_OK(theirs_done);
  });
}

TEST_CASE("A deadlock that leads through a thread with two transactions is found at once") {
  Simulated s;
  s.Run([&](Database& db, Tree tree) {
    Transaction mine = db.Begin();
    REQUIRE_OK(mine.Put(tree, "a", "1"));
    absl::Status deadlock;
    bool was_vain = true;
    Nanos took = 0;
    auto actor = s.runtime.Spawn("other", [&] {
      Transaction theirs = db.Begin();
      REQUIRE_OK(theirs.Put(tree, "b", "2"));
      s.runtime.SleepFor(2 * kNanosPerMilli);  // now the first one waits for b
      const Nanos began = s.runtime.Now();
      deadlock = theirs.Put(tree, "a", "2");
      took = s.runtime.Now() - began;
      was_vain = theirs.is_vain_to_repeat();
    });
    s.AwaitBlocked();
    REQUIRE_OK(db.Put(tree, "b", "1"));  // by a transaction of its own, while `mine` is open
    actor->Join();
    CHECK(absl::IsAborted(deadlock));
    CHECK_FALSE(was_vain);
    CHECK(took < kLockWaitMs * kNanosPerMilli / 2);
    REQUIRE_OK(mine.Commit());
  });
}

TEST_CASE("A transaction that was handed over belongs to the thread that has used it last") {
  Simulated s;
  s.Run([&](Database& db, Tree tree) {
    Transaction handed = db.Begin();
    REQUIRE_OK(handed.Put(tree, "k", "held"));
    auto actor = s.runtime.Spawn("heir", [&] {
      std::string value;
      REQUIRE_OK(handed.Get(tree, "k", &value));
      s.runtime.SleepFor(5 * kNanosPerMilli);
      REQUIRE_OK(handed.Commit());
    });
    s.AwaitBlocked();
    REQUIRE_OK(db.Put(tree, "k", "after"));
    actor->Join();
    std::string value;
    REQUIRE_OK(db.Get(tree, "k", &value));
    CHECK(value == "after");
  });
}

TEST_CASE("A wait for a lock that nobody gives back ends after lock_wait_ms") {
  Simulated s;
  s.Run([&](Database& db, Tree tree) {
    Transaction held = db.Begin();
    auto actor = s.runtime.Spawn("holder", [&] { REQUIRE_OK(held.Put(tree, "k", "held")); });
    actor->Join();
    Transaction other = db.Begin();
    REQUIRE_OK(other.Put(tree, "its", "own"));
    for (const bool outside : {true, false}) {
      const Nanos began = s.runtime.Now();
      const absl::Status refused = outside ? db.Put(tree, "k", "1") : other.Put(tree, "k", "1");
      CHECK(absl::IsAborted(refused));
      CHECK_THAT(std::string(refused.message()), Contains("700 ms"));
      CHECK(s.MillisSince(began) >= kLockWaitMs);
      CHECK(s.MillisSince(began) < 2 * kLockWaitMs);
    }
    CHECK(other.is_vain_to_repeat());
    CHECK(absl::IsFailedPrecondition(other.Commit()));
    REQUIRE_OK(held.Rollback());
    std::string value;
    CHECK(absl::IsNotFound(db.Get(tree, "its", &value)));
    REQUIRE_OK(db.Put(tree, "k", "free"));
  });
}

// A queue for one key that takes longer than lock_wait_ms. Puts were Aborted, with the reason that
// one transaction had kept the lock.
TEST_CASE("Puts of one key go on, however long the queue for its lock") {
  Simulated s;
  s.Run([&](Database& db, Tree tree) {
    constexpr int kActors = 30;
    constexpr Nanos kHeld = 100 * kNanosPerMilli;  // all: four times lock_wait_ms
    REQUIRE_OK(db.Put(tree, "k", "0"));
    const auto add_one = [&](Transaction& txn) -> absl::Status {
      std::string value;
      LATCHKEY_RETURN_IF_ERROR(txn.GetForUpdate(tree, "k", &value));
      s.runtime.SleepFor(kHeld);
      return txn.Put(tree, "k", std::to_string(std::stoi(value) + 1));
    };
    std::vector<std::unique_ptr<Actor>> actors;
    int put_alone = 0, told = 0;
    for (int i = 0; i < kActors; ++i) {
      actors.push_back(s.runtime.Spawn("adder", [&, i] {
        if (i % 10 == 0) {
          Transaction txn = db.Begin();
          const absl::Status done = txn.Put(tree, "k2", "v").ok() ? add_one(txn) : absl::OkStatus();
          told += absl::IsAborted(done) && !txn.is_vain_to_repeat();
        }
        CHECK(db.RunTransaction(add_one).ok());
        put_alone += db.Put(tree, "k", std::to_string(1000 * (i + 1))).ok();
      }));
    }
    for (const std::unique_ptr<Actor>& actor : actors) actor->Join();
    CHECK(put_alone == kActors);
    CHECK(told > 0);
  });
}

// The range delete waited for the first transaction, that one for the lock of the second, and the
// second for the range delete. All three stood until lock_wait_ms was over.
TEST_CASE("A writer that a range delete waits for, behind another one's lock, may go on") {
  Simulated s;
  s.Run([&](Database& db, Tree tree) {
    const Tree other = TreeOrFail(db, "other");
    REQUIRE_OK(db.Put(tree, "k", "before"));
    absl::Status second_done, deleted;
    Transaction first = db.Begin();
    REQUIRE_OK(first.Put(tree, "a", "first"));
    auto second = s.runtime.Spawn("second", [&] {
      Transaction txn = db.Begin();
      REQUIRE_OK(txn.Put(other, "lock", "second"));
      s.runtime.SleepFor(3 * kNanosPerMilli);  // now the first one waits for this lock
      second_done = txn.Put(tree, "b", "second");
      if (second_done.ok()) second_done = txn.Commit();
    });
    auto range = s.runtime.Spawn("range", [&] { deleted = db.ClearTree(tree); });
    s.AwaitBlocked();
    const Nanos began = s.runtime.Now();
    REQUIRE_OK(first.Put(other, "lock", "first"));
    REQUIRE_OK(first.Commit());
    second->Join();
    range->Join();
    CHECK(s.MillisSince(began) < kLockWaitMs / 2);
    REQUIRE_OK(second_done);
    REQUIRE_OK(deleted);
    std::string value;
    for (const char* key : {"a", "b", "k"}) CHECK(absl::IsNotFound(db.Get(tree, key, &value)));
    REQUIRE_OK(db.Get(other, "lock", &value));
    CHECK(value == "first");
  });
}

// A writer held a lock and waited for a committed range delete. That waited for the snapshot of a
// reader, and the reader for the lock.
TEST_CASE("A deadlock that leads through a committed range delete is found at once") {
  Simulated s;
  s.Run([&](Database& db, Tree tree) {
    const Tree other = TreeOrFail(db, "other");
    REQUIRE_OK(db.Put(tree, "k", "before"));
    absl::Status writer_done;
    bool was_vain = true;
    std::string value;
    Transaction reader = db.Begin();
    REQUIRE_OK(reader.Get(tree, "k", &value));
    auto writer = s.runtime.Spawn("writer", [&] {
      REQUIRE_OK(db.ClearTree(tree));
      Transaction txn = db.Begin();
      REQUIRE_OK(txn.Put(other, "lock", "writer"));
      s.runtime.SleepFor(3 * kNanosPerMilli);  // now the reader waits for this lock
      writer_done = txn.Put(tree, "b", "writer");
      was_vain = txn.is_vain_to_repeat();
    });
    s.AwaitBlocked();
    const Nanos began = s.runtime.Now();
    REQUIRE_OK(reader.Put(other, "lock", "reader"));
    REQUIRE_OK(reader.Commit());
    writer->Join();
    CHECK(s.MillisSince(began) < kLockWaitMs / 2);
    CHECK(absl::IsAborted(writer_done));
    CHECK_THAT(std::string(writer_done.message()), Contains("range delete"));
    CHECK_FALSE(was_vain);
    REQUIRE_OK(db.Put(tree, "b", "again"));
    CHECK(absl::IsNotFound(db.Get(tree, "k", &value)));
  });
}

TEST_CASE("A lock wait out of its range is refused with the range") {
  for (const uint32_t bad : {0u, 3'600'001u}) {
    Options options;
    options.in_memory_device = true;
    options.lock_wait_ms = bad;
    const absl::Status refused = Database::Open("test", options).status();
    CHECK(absl::IsInvalidArgument(refused));
    CHECK_THAT(std::string(refused.message()), Contains("1 to 3600000"));
  }
}

}  // namespace
}  // namespace latchkey::lock_wait_test
