// Growing ahead of need: the log's own actor makes room before a caller lacks it.
#include <catch2/catch.hpp>

#include "storage/device/memory_device.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/wal/testing/log_fixture.h"

namespace latchkey::log_growth_test {
namespace {

constexpr uint64_t kUsual = 256u << 10;

std::unique_ptr<Log> StartIn(uint64_t capacity, uint64_t usual = kUsual) {
  auto device = MemoryDevice::Create(ThreadRuntime(), {.capacity_limit_bytes = capacity});
  REQUIRE(device.ok());
  auto log = CreateLog(ThreadRuntime(), *std::move(device), TinyLog());
  REQUIRE(log.ok());
  REQUIRE((*log)->StartWriting().ok());
  (*log)->space_watch().Begin(usual);
  return *std::move(log);
}

void AppendAndFlush(Log& log, size_t size) {
  REQUIRE(log.Reserve(log.RecordSpace(size)).ok());
  AppendReserved(log, std::string(size, 'r'));
  REQUIRE(log.Flush(log.next()).ok());
}

// Returns when the log's actor has grown the log; without that actor the test hangs.
void AwaitSize(const Log& log, uint64_t more_than) {
  while (log.stats().allocated_bytes <= more_than) ThreadRuntime().SleepFor(kNanosPerMilli);
}

TEST_CASE("A log that grows ahead is larger before anybody lacks room, up to its usual size") {
  auto log = StartIn(1u << 20);
  const uint64_t initial = log->stats().allocated_bytes;
  log->StartGrowingAhead();
  for (int i = 0; i < 6; ++i) AppendAndFlush(*log, 3000);
  REQUIRE(log->stats().used_bytes < initial);
  AwaitSize(*log, initial);
  for (int i = 0; i < 40; ++i) AppendAndFlush(*log, 3000);
  CHECK(log->stats().allocated_bytes <= kUsual);
  log->StopGrowingAhead();
  log->space_watch().End();
}

TEST_CASE("A log that cannot grow ahead says so to who lacks room, and to nobody before") {
  auto log = StartIn(40u << 10);
  log->StartGrowingAhead();
  for (int i = 0; i < 6; ++i) AppendAndFlush(*log, 3000);
  log->space_watch().End();  // no keeper that Reserve could ask for room
  CHECK(absl::IsResourceExhausted(log->Reserve(64u << 10)));
  CHECK_FALSE(log->poisoned());
  AppendAndFlush(*log, 100);
  log->StopGrowingAhead();
}

// The actor ended at the usual size, so from the next checkpoint on every growth was a writer's.
TEST_CASE("A log grows ahead again after it had its usual size and has shrunk") {
  // The usual size is no whole number of segments: the actor tries to reach it, in vain.
  auto log = StartIn(1u << 20, kUsual - 100);
  log->StartGrowingAhead();
  while (log->stats().used_bytes < kUsual * 9 / 10) AppendAndFlush(*log, 1000);
  ThreadRuntime().SleepFor(20 * kNanosPerMilli);
  for (int i = 0; i < 4; ++i) {  // as checkpoints
    const Lsn mark = log->next();
    for (int n = 0; n < 6; ++n) AppendAndFlush(*log, 3000);  // into slots at the front
    log->Truncate(mark);
    REQUIRE(log->ShrinkToUse().ok());
  }
  const uint64_t small = log->stats().allocated_bytes;
  REQUIRE(small < kUsual / 2);
  while (log->stats().used_bytes < small * 6 / 10) AppendAndFlush(*log, 500);
  REQUIRE(log->stats().used_bytes < small);
  AwaitSize(*log, small);
  log->StopGrowingAhead();
  log->space_watch().End();
}

// The actor looked whether it is wanted, then for the word that it would sleep on. A stop in between
// left it asleep for ever, and the closing of a database waited for it.
TEST_CASE("The actor that grows a log ends whenever it is told to") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    SimulatedRuntime runtime({.seed = seed, .preempt_probability = 0.5});
    const absl::Status ran = runtime.Run([&] {
      auto log = MustStart(std::make_shared<CrashMedium>(), TinyLog(), 512, runtime);
      log->space_watch().Begin(/*usual_bytes=*/0);
      log->StartGrowingAhead();
      AppendAndFlush(*log, 100);
      log->StopGrowingAhead();
      log->space_watch().End();
    });
    INFO(ran);
    REQUIRE(ran.ok());
  }
}

TEST_CASE("Users of a log that grows ahead lose nothing while it grows") {
  auto log = StartIn(1u << 20);
  log->StartGrowingAhead();
  std::vector<std::unique_ptr<Actor>> actors;
  std::atomic<int> wrong{0};
  for (int actor = 0; actor < 3; ++actor) {
    actors.push_back(ThreadRuntime().Spawn("user", [&log, &wrong] {
      for (int i = 0; i < 60; ++i) {
        wrong += !log->Reserve(log->RecordSpace(900)).ok();
        AppendReserved(*log, std::string(900, 'u'));
        wrong += !log->Flush(log->next()).ok();
      }
    }));
  }
  actors.clear();
  CHECK(wrong == 0);
  log->StopGrowingAhead();
  log->space_watch().End();
  size_t records = 0;
  REQUIRE(log->ForEach(Lsn{0},
                       [&](const LogRecordView& view) {
                         ++records;
                         wrong += view.bytes.size() != 900;
                         return absl::OkStatus();
                       })
              .ok());
  CHECK(records == 180);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace latchkey::log_growth_test
