// Space: the guarantees of reservations in logs whose records share their groups, and the requests
// of a log to its keeper before it grows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>

#include "storage/base/rng.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/wal/log.h"
#include "storage/wal/log_format.h"
#include "storage/wal/testing/log_fixture.h"

namespace latchkey::log_space_test {
namespace {

using Catch::Contains;

// 4 segments and the smallest buffer.
LogOptions SharedLog(uint32_t block, uint64_t max_bytes) {
  LogOptions options = TinyLog();
  options.group_space = GroupSpace::kShared;
  options.segment_bytes = 16 * block;
  options.initial_bytes = 64 * block + kLogSegmentsBegin;
  options.max_bytes = max_bytes;
  options.buffer_bytes = 128 * std::max(512u, block);
  return options;
}

uint64_t Allocated(Log& log) { return log.stats().allocated_bytes; }

TEST_CASE("Records that share their groups reserve little more than their bytes") {
  for (const uint32_t block : {512u, 4096u}) {
    auto medium = std::make_shared<CrashMedium>();
    auto log = MustStart(medium, SharedLog(block, 64u << 20), block);
    constexpr uint64_t kRecords = 20'000, kSize = 150;
    REQUIRE(log->Reserve(kRecords * log->RecordSpace(kSize)).ok());
    CHECK(Allocated(*log) < 3 * kRecords * kSize);
    log->Release(kRecords * log->RecordSpace(kSize));
  }
}

TEST_CASE("What the records of a group did not need of it is free again at once") {
  auto medium = std::make_shared<CrashMedium>();
  medium->capacity = 64u << 10;
  auto log = MustStart(medium);  // each record pays for a group
  const uint64_t one = log->RecordSpace(20);
  // All in one open group: many times as many as fit if each had a group of its own.
  for (int i = 0; i < 500; ++i) MustAppend(*log, std::string(20, 'r'));
  CHECK(500 * one > medium->capacity);
  CHECK(log->Reserve(20 * one).ok());
}

TEST_CASE("On a full log every record that has paid for its group is flushed alone") {
  for (const uint32_t block : {512u, 4096u}) {
    auto medium = std::make_shared<CrashMedium>();
    auto log = MustStart(medium, SharedLog(block, 200 * block + kLogSegmentsBegin), block);
    const std::string text(30, 'c');
    const uint64_t space = log->RecordSpace(text.size()) + log->PaidGroupSpace();
    uint64_t promised = 0;
    while (log->Reserve(space).ok()) ++promised;
    CHECK(promised > 60);
    Records expected;
    for (uint64_t i = 0; i < promised; ++i) {
      const std::optional<Lsn> lsn = TryAppendPaid(*log, text);
      REQUIRE(lsn);
      expected[Raw(*lsn)] = text;
      REQUIRE(log->Flush(Lsn{Raw(*lsn) + 1}).ok());
    }
    CHECK(log->stats().reserved_bytes == 0);
    CHECK(log->stats().groups == promised + 1);  // and the mark
    CHECK_FALSE(log->scarce());
    CHECK(MustReadAll(*log) == expected);
  }
}

TEST_CASE("Flushes that nobody has paid for grow the log before what is kept back is short") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium, SharedLog(4096, 8u << 20), 4096);
  const uint64_t space = log->RecordSpace(20);
  REQUIRE(log->Reserve(400 * space).ok());
  const uint64_t before = Allocated(*log);
  for (int i = 0; i < 400; ++i) {
    AppendReserved(*log, std::string(20, 'p'));
    REQUIRE(log->Flush(log->next()).ok());
    REQUIRE_FALSE(log->scarce());
  }
  CHECK(Allocated(*log) > before + (400u * 4096) / 2);
}

TEST_CASE("A full log says that it is scarce, then refuses a flush, and has lost nothing") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium, SharedLog(4096, 160u * 4096 + kLogSegmentsBegin), 4096);
  const std::string text(20, 's');
  const uint64_t space = log->RecordSpace(text.size());
  const uint64_t paid = space + log->PaidGroupSpace();
  REQUIRE(log->Reserve(paid).ok());
  uint64_t promised = 0;
  while (log->Reserve(space).ok()) ++promised;
  Records expected;
  absl::Status flushed;
  int after_scarce = 0;
  while (promised > 0 && flushed.ok()) {
    after_scarce += log->scarce();
    expected[Raw(AppendReserved(*log, text))] = text;
    --promised;
    flushed = log->Flush(log->next());
  }
  CHECK(absl::IsResourceExhausted(flushed));
  CHECK_THAT(std::string(flushed.message()), Contains("no room") && Contains("checkpoint"));
  CHECK(after_scarce > 3);
  CHECK_FALSE(log->poisoned());
  CHECK(absl::IsResourceExhausted(log->Reserve(1)));
  // A commit has paid for the group, which also takes the waiting records.
  const std::optional<Lsn> commit = TryAppendPaid(*log, text);
  REQUIRE(commit);
  expected[Raw(*commit)] = text;
  REQUIRE(log->Flush(log->next()).ok());
  CHECK(MustReadAll(*log) == expected);
  log->Truncate(*commit);
  log->Release(promised * space);
  CHECK_FALSE(log->scarce());
  CHECK(log->Reserve(space).ok());
  log->Release(space);
  CHECK(log->stats().reserved_bytes == 0);
}

// The worst case of callers that obey scarce(): an unpaid flush for every 32 records, paid ones at
// any time, and all possible space reserved.
TEST_CASE("On a full log whatever was reserved can be appended, and flushed with restraint") {
  constexpr int kSeeds = 60;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const uint32_t block = rng.Below(2) == 0 ? 512 : 4096;
    const uint64_t blocks = 80 + rng.Below(800);
    auto medium = std::make_shared<CrashMedium>();
    auto log = MustStart(medium, SharedLog(block, blocks * block + kLogSegmentsBegin), block);
    const size_t most = rng.Below(4) == 0 ? log->max_record_bytes() : 1 + rng.Below(400);
    struct Promise {
      std::string text;
      bool is_paid;
    };
    std::deque<Promise> promises;
    for (int refused = 0; refused < 3;) {
      const Promise promise{std::string(1 + rng.Below(most), 'w'), rng.Below(10) == 0};
      const uint64_t space =
          log->RecordSpace(promise.text.size()) + (promise.is_paid ? log->PaidGroupSpace() : 0);
      if (log->Reserve(space).ok()) {
        promises.push_back(promise);
      } else {
        ++refused;
      }
      if (rng.Below(8) != 0 || promises.empty()) continue;
      // Some reservations are used at once; the flush is not paid for.
      AppendReserved(*log, promises.front().text);
      if (promises.front().is_paid) log->Release(log->PaidGroupSpace());
      promises.pop_front();
      const absl::Status flushed = log->Flush(log->next());
      REQUIRE((flushed.ok() || log->scarce()));
    }
    for (size_t i = 0; !promises.empty(); ++i) {
      const Promise& promise = promises.front();
      if (promise.is_paid) {
        while (!TryAppendPaid(*log, promise.text)) log->AwaitBuffer(promise.text.size());
        REQUIRE(log->Flush(log->next()).ok());
      } else {
        AppendReserved(*log, promise.text);
        if (i % 32 == 31) REQUIRE(log->Flush(log->next()).ok());
      }
      promises.pop_front();
    }
    REQUIRE(log->Flush(log->next()).ok());
    CHECK(log->stats().reserved_bytes == 0);
    CHECK(medium->current.size() <= blocks * block + kLogSegmentsBegin);
  }
}

TEST_CASE("A commit does not wait for the device with the buffer full: it is told to") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium, SharedLog(512, 1u << 20));
  const std::string big(20'000, 'b');
  REQUIRE(log->Reserve(8 * log->RecordSpace(big.size()) + log->RecordSpace(30'000) +
                       log->PaidGroupSpace())
              .ok());
  const uint64_t calls = medium->calls;
  for (int i = 0; i < 2; ++i) AppendReserved(*log, big);
  CHECK_FALSE(TryAppendPaid(*log, std::string(30'000, 'c')));
  CHECK(medium->calls == calls);
  log->AwaitBuffer(30'000);
  CHECK(medium->calls > calls);
  CHECK(TryAppendPaid(*log, std::string(30'000, 'c')));
}

TEST_CASE("A log that is full when it fails says that it has failed, not that it is full") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium, SharedLog(512, 64u << 10));
  MustAppend(*log, "record");
  medium->fails_at = medium->calls;
  CHECK(absl::IsUnavailable(log->Flush(log->next())));
  absl::Status status;
  while (status.ok()) status = log->Reserve(1000);
  CHECK(absl::IsUnavailable(status));
  CHECK(absl::IsUnavailable(log->Reserve(20'000)));
}

// ---- The keeper

// A log of 512-byte blocks in simulated time, kept by an actor that runs `round` when it is woken.
struct Kept {
  explicit Kept(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  void Run(uint64_t usual_bytes, uint64_t wake_every,
           const std::function<void(Log&, Runtime&)>& round,
           const std::function<void(Log&)>& user) {
    SimulatedRuntime runtime;
    const absl::Status ran = runtime.Run([&] {
      auto medium = std::make_shared<CrashMedium>();
      auto log = MustStart(medium, SharedLog(512, max_bytes_), 512, runtime);
      SpaceWatch& watch = log->space_watch();
      watch.Begin(usual_bytes);
      bool stop = false;
      auto keeper = runtime.Spawn("keeper", [&] {
        for (uint64_t due = wake_every;; due = Raw(log->durable()) + wake_every) {
          watch.Await(Lsn{due});
          if (stop) return;
          ++rounds;
          watch.StartRound();
          round(*log, runtime);
          watch.EndRound();
        }
      });
      user(*log);
      stop = true;
      watch.Interrupt();
      keeper->Join();
      watch.End();
    });
    INFO(ran);
    REQUIRE(ran.ok());
  }

  int rounds = 0;

 private:
  const uint64_t max_bytes_;
};

constexpr uint64_t kNeverDue = uint64_t{1} << 40;

void TruncateAll(Log& log) {
  const Lsn next = log.next();
  REQUIRE(log.Flush(next).ok());
  log.Truncate(next);
}

TEST_CASE("The keeper sleeps until the log has grown by what it wants, and no longer") {
  Kept kept(8u << 20);
  kept.Run(
      1u << 20, 40'000, [](Log& log, Runtime&) { TruncateAll(log); },
      [](Log& log) {
        for (int i = 0; i < 1000; ++i) {
          MustAppend(log, std::string(400, 'g'));
          REQUIRE(log.Flush(log.next()).ok());
        }
        CHECK(Allocated(log) < 4 * 40'000);
      });
  CHECK(kept.rounds >= 1000 * 512 / 40'000 / 2);
  CHECK(kept.rounds <= 1000 * 512 / 40'000 + 1);
}

TEST_CASE("Before it grows beyond its usual size a log asks for room, and keeps its size") {
  Kept kept(8u << 20);
  uint64_t at_first = 0;
  kept.Run(
      0, kNeverDue, [](Log& log, Runtime&) { TruncateAll(log); },
      [&](Log& log) {
        at_first = Allocated(log);
        for (int i = 0; i < 3000; ++i) MustAppend(log, std::string(400, 'a'));
        CHECK(Allocated(log) == at_first);
      });
  CHECK(kept.rounds > 20);
}

TEST_CASE("A log whose keeper is slow or cannot help grows soon, below its usual size at once") {
  for (const bool is_slow : {true, false}) {
    Kept kept(8u << 20);
    kept.Run(
        0, kNeverDue,
        [&](Log&, Runtime& runtime) { runtime.SleepFor(is_slow ? 10 * kNanosPerSecond : 1); },
        [&](Log& log) {
          const uint64_t before = Allocated(log);
          REQUIRE(log.Reserve(before).ok());
          CHECK(Allocated(log) > before);
          log.Release(before);
        });
    CHECK(kept.rounds == 1);
  }
  Kept kept(8u << 20);
  kept.Run(
      4u << 20, kNeverDue, [](Log&, Runtime&) {},
      [](Log& log) {
        REQUIRE(log.Reserve(1u << 20).ok());
        log.Release(1u << 20);
      });
  CHECK(kept.rounds == 0);
}

TEST_CASE("A full log waits for one round of its keeper before it fails, or succeeds") {
  for (const bool helps : {true, false}) {
    Kept kept(64u << 10);
    kept.Run(
        1u << 20, kNeverDue,
        [&](Log& log, Runtime& runtime) {
          runtime.SleepFor(kNanosPerSecond);  // longer than the log waits before it grows
          if (helps) TruncateAll(log);
        },
        [&](Log& log) {
          absl::Status status;
          for (int i = 0; i < 300 && status.ok(); ++i) {
            status = log.Reserve(log.RecordSpace(500));
            if (status.ok()) AppendReserved(log, std::string(500, 'f'));
          }
          CHECK(status.ok() == helps);
          CHECK((helps || absl::IsResourceExhausted(status)));
        });
    CHECK(kept.rounds >= 1);
  }
}

TEST_CASE("Urgent reservations ask nobody, and take what is kept back only when growing fails") {
  Kept kept(64u << 10);
  kept.Run(
      0, kNeverDue, [](Log&, Runtime&) {},
      [](Log& log) {
        const uint64_t before = Allocated(log);
        uint64_t taken = 0;
        while (!log.scarce() && log.ReserveUrgent(500).ok()) taken += 500;
        CHECK(Allocated(log) > before);
        CHECK(absl::IsResourceExhausted(log.Reserve(1)));
        log.Release(taken);
      });
  CHECK(kept.rounds == 1);  // the round that Reserve asked for
}

// Leaders of groups report without a latch. After such a report the keeper slept though it was due.
TEST_CASE("A report of the log's end that comes late does not hide a newer one from the keeper") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    SpaceWatch watch(runtime);
    watch.Begin(0);
    watch.OnGrowth(Lsn{100});
    watch.OnGrowth(Lsn{50});
    watch.Await(Lsn{80});
  });
  INFO(ran);
  CHECK(ran.ok());
}

TEST_CASE("Whoever waits for a keeper that leaves goes on") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    SpaceWatch watch(runtime);
    watch.Begin(0);
    const uint64_t ticket = watch.Ask();
    CHECK(watch.asked());
    CHECK_FALSE(watch.IsAnswered(ticket));
    auto asker = runtime.Spawn("asker", [&] {
      for (uint32_t seen = watch.news(); !watch.IsAnswered(ticket); seen = watch.news()) {
        watch.AwaitNews(seen, kForever);
      }
    });
    runtime.SleepFor(kNanosPerMilli);
    watch.End();
    asker->Join();
  });
  INFO(ran);
  CHECK(ran.ok());
}

TEST_CASE("A round that had begun before somebody asked is no answer") {
  SpaceWatch watch(ThreadRuntime());
  watch.Begin(0);
  watch.StartRound();
  const uint64_t ticket = watch.Ask();
  watch.EndRound();
  CHECK_FALSE(watch.IsAnswered(ticket));
  CHECK(watch.asked());
  watch.StartRound();
  watch.EndRound();
  CHECK(watch.IsAnswered(ticket));
  CHECK_FALSE(watch.asked());
}

TEST_CASE("Whatever fails while a log grows, but for a full device, ends the log for good") {
  // A growth syncs the device too. If that sync fails, the writes of an earlier group may be lost.
  const auto grows_at = [](uint64_t fails_at, std::shared_ptr<CrashMedium>* medium) {
    *medium = std::make_shared<CrashMedium>();
    auto log = MustStart(*medium, SharedLog(512, 8u << 20));
    MustAppendDurably(*log, "before");
    (*medium)->calls = 0;
    (*medium)->fails_at = fails_at;
    return log;
  };
  std::shared_ptr<CrashMedium> medium;
  uint64_t failures = 0;
  for (uint64_t call = 0;; ++call) {
    const auto log = grows_at(call, &medium);
    const uint64_t before = Allocated(*log);
    const absl::Status reserved = log->Reserve(before);
    if (!medium->has_failed) {
      CHECK(reserved.ok());
      break;
    }
    ++failures;
    INFO("call " << call);
    medium->fails_at = UINT64_MAX;
    medium->has_failed = false;  // the log stays poisoned even if the device works again
    CHECK(absl::IsUnavailable(reserved));
    CHECK_THAT(std::string(reserved.message()), Contains("reopen"));
    CHECK(log->poisoned());
    REQUIRE(log->TryReserve(log->RecordSpace(6)));
    AppendReserved(*log, "behind");
    CHECK(absl::IsUnavailable(log->Flush(log->next())));
  }
  CHECK(failures > 5);  // the resize, headers of segments, the file header twice, and its syncs
}

TEST_CASE("A log that a full device keeps from growing goes on when there is room again") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium, SharedLog(512, 8u << 20));
  medium->capacity = medium->current.size();
  CHECK(absl::IsResourceExhausted(log->Reserve(Allocated(*log))));
  CHECK_FALSE(log->poisoned());
  MustAppendDurably(*log, "goes on");
  medium->capacity = UINT64_MAX;
  CHECK(log->Reserve(Allocated(*log)).ok());
}

TEST_CASE("A log that is told to fail acknowledges nothing more, and keeps what was durable") {
  auto medium = std::make_shared<CrashMedium>();
  Records expected;
  {
    auto log = MustStart(medium, SharedLog(512, 8u << 20));
    expected[Raw(MustAppendDurably(*log, "durable"))] = "durable";
    MustAppend(*log, "on its way");
    log->Fail(absl::UnavailableError("the pages cannot be written"));
    log->Fail(absl::UnavailableError("a second reason"));
    const absl::Status refused = log->Flush(log->next());
    CHECK(absl::IsUnavailable(refused));
    CHECK_THAT(std::string(refused.message()), Contains("the pages cannot be written"));
    CHECK(log->poisoned());
    log->Append(3, [](Lsn, std::byte*) {});  // dropped
  }
  auto log = MustOpen(medium, Lsn{0}, SharedLog(512, 8u << 20));
  CHECK(MustReadAll(*log) == expected);
}

}  // namespace
}  // namespace latchkey::log_space_test
