// When the checkpointer tries again, in virtual time.
#include "engine/log/checkpointer.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/log/testing/memory_log.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/testing/map_page_store.h"

namespace latchkey::checkpointer_test {
namespace {

constexpr uint32_t kPageSize = 4096;

// A checkpointer over a store whose first checkpoints are refused.
struct Fixture {
  Fixture(Runtime& rt, int refusals)
      : runtime(rt), refused(refusals), log(rt), store(rt, kPageSize) {
    store.on_checkpoint = [this]() -> absl::Status {
      tries.push_back(runtime.Now());
      if (refused == 0) return absl::OkStatus();
      --refused;
      return absl::ResourceExhaustedError("no room for a checkpoint, on purpose");
    };
    auto made = BufferPool::Create(runtime, store, MakePlainFixPolicy(runtime, 64), 64, 64);
    REQUIRE(made.ok());
    pool = *std::move(made);
    engine_log = EngineLog::Start(runtime, log,
                                  [this](PageId page) { pool->ReturnPageId(pool->Here(), page); },
                                  {.page_size = kPageSize});
    pool->SetWriteAheadLog(engine_log.get());
    checkpointer = std::make_unique<Checkpointer>(
        *pool, engine_log.get(), [] { return ClientRoot(); }, ClientRoot(), LogSink());
  }
  ~Fixture() { checkpointer->Stop(); }
  // The first at once, as behind an open that had to recover; none for the log's growth.
  void Start() { checkpointer->Start(/*log_bytes=*/uint64_t{1} << 40, /*begins=*/true); }

  Runtime& runtime;
  int refused;
  std::vector<Nanos> tries;
  MemoryLog log;
  MapPageStore store;
  std::unique_ptr<BufferPool> pool;
  std::unique_ptr<EngineLog> engine_log;
  std::unique_ptr<Checkpointer> checkpointer;
};

void Simulate(const std::function<void(SimulatedRuntime&)>& body) {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] { body(runtime); });
  INFO(ran.message());
  REQUIRE(ran.ok());
}

TEST_CASE("A first checkpoint that fails is taken again soon, and then less and less often") {
  Simulate([](SimulatedRuntime& runtime) {
    Fixture f(runtime, /*refusals=*/12);
    const Nanos begun = runtime.Now();
    f.Start();
    while (f.checkpointer->checkpoints() == 0) runtime.SleepFor(kNanosPerMilli);
    f.checkpointer->Stop();
    REQUIRE(f.tries.size() == 13);
    CHECK(f.tries[1] - begun < kNanosPerSecond / 10);
    for (size_t i = 2; i < f.tries.size(); ++i) {
      const Nanos before = f.tries[i - 1] - f.tries[i - 2], after = f.tries[i] - f.tries[i - 1];
      CAPTURE(i, before, after);
      CHECK((after > before || after >= kNanosPerSecond));
      CHECK(after < 2 * kNanosPerSecond);
    }
  });
}

TEST_CASE("Once a checkpoint has succeeded none is owed") {
  Simulate([](SimulatedRuntime& runtime) {
    Fixture f(runtime, /*refusals=*/1);
    f.Start();
    while (f.tries.empty()) runtime.SleepFor(kNanosPerMilli);
    // The user's own, before the next try.
    REQUIRE(f.checkpointer->Run(/*clean=*/false).ok());
    runtime.SleepFor(10 * kNanosPerSecond);
    CHECK(f.tries.size() == 2);
  });
}

TEST_CASE("No checkpoint is tried again when the log can never be written again") {
  Simulate([](SimulatedRuntime& runtime) {
    Fixture f(runtime, /*refusals=*/1000);
    f.Start();
    while (f.tries.empty()) runtime.SleepFor(kNanosPerMilli);
    f.log.fail_flushes = true;
    runtime.SleepFor(10 * kNanosPerSecond);
    const size_t tries = f.tries.size();
    runtime.SleepFor(100 * kNanosPerSecond);
    CHECK(f.tries.size() == tries);
    f.refused = 0;
  });
}

TEST_CASE("A checkpointer that waits to try again can be stopped") {
  Simulate([](SimulatedRuntime& runtime) {
    Fixture f(runtime, /*refusals=*/1000);
    f.Start();
    while (f.tries.size() < 3) runtime.SleepFor(kNanosPerMilli);
    f.checkpointer->Stop();
    const size_t tries = f.tries.size();
    runtime.SleepFor(10 * kNanosPerSecond);
    CHECK(f.tries.size() == tries);
  });
}

}  // namespace
}  // namespace latchkey::checkpointer_test
