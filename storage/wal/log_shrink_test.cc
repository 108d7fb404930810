// Shrinking: the log gives room back to its device once it does not need it.
#include <atomic>
#include <catch2/catch.hpp>
#include <vector>

#include "storage/wal/testing/log_fixture.h"

namespace latchkey::log_shrink_test {
namespace {

uint64_t SizeOf(Log& log) { return log.device().geometry().size_bytes; }

// Appends until the device has at least `bytes`.
Lsn GrowTo(Log& log, uint64_t bytes) {
  Lsn last{0};
  while (SizeOf(log) < bytes) last = MustAppendDurably(log, std::string(3000, 'g'));
  return last;
}

// As a checkpoint: only records from now on are needed.
void Checkpoint(Log& log) {
  const Lsn mark = MustAppendDurably(log, "checkpoint");
  log.Truncate(mark);
  REQUIRE(log.ShrinkToUse().ok());
}

TEST_CASE("A log that was large once shrinks when two checkpoints found little of it in use") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  GrowTo(*log, 300u << 10);
  const uint64_t grown = SizeOf(*log);
  Checkpoint(*log);
  CHECK(SizeOf(*log) == grown);  // the interval before this checkpoint has used it
  Checkpoint(*log);
  CHECK(SizeOf(*log) == grown);
  for (int i = 0; i < 20; ++i) MustAppendDurably(*log, "a little");
  Checkpoint(*log);
  CHECK(SizeOf(*log) < grown * 3 / 4);
  const Lsn last = MustAppendDurably(*log, "last");
  const Lsn from = log->group_start(last);
  log = nullptr;
  CHECK(MustRead(*MustOpen(medium, from), last) == "last");
}

TEST_CASE("A log that uses all of its room between checkpoints keeps its size") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  GrowTo(*log, 200u << 10);
  for (int checkpoint = 0; checkpoint < 6; ++checkpoint) {
    Checkpoint(*log);
    const uint64_t size = SizeOf(*log);
    for (int i = 0; i < 40; ++i) MustAppendDurably(*log, std::string(3000, 'u'));
    CHECK(SizeOf(*log) == size);
  }
}

TEST_CASE("A log moved to the front of its device shrinks to its least size") {
  constexpr uint64_t kSegment = 64u << 10, kBlock = 512, kPayload = kSegment - kBlock;
  LogOptions options = TinyLog();
  options.segment_bytes = kSegment;
  options.max_bytes = 8u << 20;
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium, options);
  for (uint64_t round = 0; round < 20; ++round) {
    GrowTo(*log, 600u << 10);
    // The log ends `round` blocks before the end of its segment. Near it few starts of groups are
    // remembered.
    while (Raw(log->next()) % kPayload != (kPayload - round * kBlock) % kPayload)
      MustAppendDurably(*log, "x");
    log->Truncate(MustAppendDurably(*log, "x"));
    REQUIRE(log->Shrink().ok());
    CHECK(SizeOf(*log) > 8192 + 3 * kSegment);  // the end lies far behind
    REQUIRE(log->MoveToFront().ok());
    const Lsn front = MustAppendDurably(*log, "front");
    log->Truncate(front);
    REQUIRE(log->Shrink().ok());
    CHECK(SizeOf(*log) == 8192 + 3 * kSegment);
    CHECK(log->stats().allocated_bytes == 8192 + 3 * kSegment);
    const Lsn from = log->group_start(front);
    log = nullptr;
    log = MustOpen(medium, from, options);
    CHECK(MustRead(*log, front) == "front");
    REQUIRE(log->StartWriting().ok());
  }
}

TEST_CASE("A log that has passed its slots shrinks at the second checkpoint after that") {
  constexpr uint64_t kSegment = 64u << 10;
  LogOptions options = TinyLog();
  options.segment_bytes = kSegment;
  options.max_bytes = 8u << 20;
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium, options);
  for (int round = 0; round < 5; ++round) {
    const Lsn reached = GrowTo(*log, 4u << 20);
    CHECK(MustRead(*log, reached) == std::string(3000, 'g'));
    Checkpoint(*log);
    REQUIRE(log->PassSlots().ok());
    for (int i = 0; i < 2; ++i) Checkpoint(*log);
    CHECK(SizeOf(*log) < 8192 + 24 * kSegment);
    const Lsn last = MustAppendDurably(*log, "last");
    const Lsn from = log->group_start(last);
    log = nullptr;
    log = MustOpen(medium, from, options);
    CHECK(MustRead(*log, last) == "last");
    REQUIRE(log->StartWriting().ok());
  }
}

TEST_CASE("Records that others append while a log passes its slots stay in it") {
  LogOptions options = TinyLog();
  options.max_bytes = 8u << 20;
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium, options);
  const Lsn first = MustAppendDurably(*log, "first");
  const Lsn from = log->group_start(first);
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Actor>> users;
  std::vector<Records> appended(2);
  for (size_t user = 0; user < appended.size(); ++user) {
    users.push_back(ThreadRuntime().Spawn("user", [&, user] {
      for (int i = 0; i < 200 || (!stop && i < 2000); ++i) {
        const std::string text = std::to_string(user) + "/" + std::to_string(i);
        if (!log->Reserve(log->RecordSpace(text.size())).ok()) return;
        appended[user][Raw(AppendReserved(*log, text))] = text;
        if (i % 3 == 0 && !log->Flush(log->next()).ok()) return;
      }
    }));
  }
  for (int i = 0; i < 20; ++i) REQUIRE(log->PassSlots().ok());
  stop = true;
  users.clear();
  REQUIRE(log->Flush(log->next()).ok());
  Records expected{{Raw(first), "first"}};
  for (Records& records : appended) {
    CHECK(records.size() >= 200);
    expected.merge(records);
  }
  CHECK(MustReadAll(*log, from) == expected);
  log = nullptr;
  CHECK(MustReadAll(*MustOpen(medium, from, options), from) == expected);
}

TEST_CASE("What is needed or reserved keeps its room when the log shrinks") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  const Lsn oldest = MustAppendDurably(*log, "oldest");
  GrowTo(*log, 200u << 10);
  const Records all = MustReadAll(*log);
  REQUIRE(log->Shrink().ok());
  CHECK(MustReadAll(*log) == all);
  const Lsn last = MustAppendDurably(*log, "last");
  log->Truncate(last);
  constexpr int kReserved = 30;
  const uint64_t space = log->RecordSpace(3000);
  REQUIRE(log->Reserve(kReserved * space).ok());
  REQUIRE(log->MoveToFront().ok());
  REQUIRE(log->Shrink().ok());
  for (int i = 0; i < kReserved; ++i) AppendReserved(*log, std::string(3000, 'r'));
  REQUIRE(log->Flush(log->next()).ok());
  CHECK(Raw(oldest) < Raw(last));
}

}  // namespace
}  // namespace latchkey::log_shrink_test
