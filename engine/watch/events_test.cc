// Options::event_sink: checkpoints, failures of the device, slow calls and what they waited for.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "engine/testing/testing_database.h"
#include "engine/watch/slow_calls.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::events_test {
namespace {

using Catch::Contains;

/// What an event sink has received; thread-safe.
class Events {
 public:
  std::function<void(const DatabaseEvent&)> Sink() {
    return [this](const DatabaseEvent& event) {
      MutexLock lock(mutex_);
      events_.push_back({event.kind, std::string(event.message), event.duration_ns});
    };
  }
  struct Received {
    EventKind kind;
    std::string message;
    uint64_t duration_ns;
  };
  std::vector<Received> Of(EventKind kind) const {
    MutexLock lock(mutex_);
    std::vector<Received> found;
    for (const Received& event : events_) {
      if (event.kind == kind) found.push_back(event);
    }
    return found;
  }

 private:
  mutable Mutex mutex_{ThreadRuntime()};
  std::vector<Received> events_;
};

TEST_CASE("a complete checkpoint is an event with its duration") {
  const TempDir dir;
  Events events;
  Options options;
  options.event_sink = events.Sink();
  const auto db = OpenOrFail(dir.File("db"), options);
  const size_t before = events.Of(EventKind::kCheckpoint).size();
  REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
  REQUIRE_OK(db->Checkpoint());
  const auto checkpoints = events.Of(EventKind::kCheckpoint);
  REQUIRE(checkpoints.size() == before + 1);
  CHECK_THAT(checkpoints.back().message, Contains("is complete after"));
  CHECK(checkpoints.back().duration_ns > 0);
}

/// What a database with this option tells while a thread waits 30 ms for a lock, in vain.
void WaitForLock(uint32_t slow_call_ms, Events& events) {
  const TempDir dir;
  Options options;
  options.lock_wait_ms = 30;
  options.slow_call_ms = slow_call_ms;
  options.event_sink = events.Sink();
  const auto db = OpenOrFail(dir.File("db"), options);
  const Tree tree = TreeOrFail(*db, "t");
  Transaction holder = db->Begin();
  REQUIRE_OK(holder.Put(tree, "k", "held"));
  absl::Status refused;
  ThreadRuntime().Spawn("waiter", [&] { refused = db->Put(tree, "k", "waits"); })->Join();
  CHECK(absl::IsAborted(refused));
}

TEST_CASE("a call that waits long for a lock is an event that says so") {
  Events events;
  WaitForLock(/*slow_call_ms=*/25, events);
  const auto slow = events.Of(EventKind::kSlowCall);
  REQUIRE_FALSE(slow.empty());  // on a slow disk calls before it, too
  CHECK_THAT(slow.back().message, Contains("slow call: write took "));
  CHECK_THAT(slow.back().message, Contains(" ms for locks of other transactions"));
  CHECK(slow.back().duration_ns >= 30 * kNanosPerMilli);
}

TEST_CASE("without slow_call_ms no call is told, however long it takes") {
  Events events;
  WaitForLock(/*slow_call_ms=*/0, events);
  CHECK(events.Of(EventKind::kSlowCall).empty());
}

TEST_CASE("the message of a slow call has the waits within the call, and no earlier ones") {
  SimulatedRuntime runtime;
  REQUIRE_OK(runtime.Run([&] {
    std::vector<std::string> told;
    SlowCalls calls(runtime, 10 * kNanosPerMilli,
                    LogSink(nullptr, [&](LogEvent, std::string_view message, uint64_t) {
                      told.emplace_back(message);
                    }));
    const auto wait = [&](Waited what, Nanos time) {
      const WaitTimer timer(&calls.waits(), what);
      runtime.SleepFor(time);
    };
    wait(Waited::kLogRoom, kNanosPerSecond);
    const WaitTimes before = calls.waits().Read();
    wait(Waited::kPageRead, 7 * kNanosPerMilli);
    wait(Waited::kPageRead, 3 * kNanosPerMilli);
    wait(Waited::kLogSync, 2 * kNanosPerMilli);
    calls.Look("get", 10 * kNanosPerMilli - 1, before);
    CHECK(told.empty());
    calls.Look("get", 12 * kNanosPerMilli, before);
    REQUIRE(told.size() == 1);
    CHECK(told[0] ==
          "slow call: get took 12.0 ms, of it 10.0 ms for pages to be read, 2.0 ms for syncs of "
          "the log");
  }));
}

/// A database on simulated disks, of which calls can fail.
struct Machine {
  Machine() {
    for (const char* name : {"data", "log", "journal"}) disks.AddDisk(name);
  }
  std::unique_ptr<DatabaseImpl> Open(std::function<void(const DatabaseEvent&)> sink) {
    DatabaseDevices devices = DevicesOn(disks, SmallSizing());
    Options options;
    options.cache_bytes = 2 << 20;
    options.techniques.segment_size = 64 << 10;
    options.event_sink = std::move(sink);
    auto db = DatabaseImpl::OpenOverDevices(runtime, std::move(devices), options);
    REQUIRE_OK(db.status());
    return *std::move(db);
  }
  SimulatedRuntime runtime;
  CrashRecorder disks{runtime, {.record = false}};
};

TEST_CASE("a log that fails is an event: nothing more is written") {
  Machine machine;
  Events events;
  REQUIRE_OK(machine.runtime.Run([&] {
    const auto db = machine.Open(events.Sink());
    TreeImpl* const tree = *db->OpenTree("t", /*create=*/true);
    CHECK(events.Of(EventKind::kReadOnly).empty());
    machine.disks.SetFault(Fault{.kind = FaultKind::kSyncError, .at_call = 0});
    const absl::Status refused =
        db->RunTransaction([&](TransactionImpl& txn) { return txn.Put(*tree, "k", "v"); });
    CHECK(absl::IsUnavailable(refused));
    const auto told = events.Of(EventKind::kReadOnly);
    REQUIRE(told.size() == 1);
    CHECK_THAT(told[0].message, Contains("nothing more is written"));
  }));
}

}  // namespace
}  // namespace latchkey::events_test
