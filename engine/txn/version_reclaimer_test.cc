// Which actor settles and spills: the reclaimer while it keeps up, the committers otherwise.
#include "engine/txn/version_reclaimer.h"

#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/txn/testing/toy_tree.h"
#include "storage/device/memory_device.h"
#include "storage/device/testing/forwarding_device.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::version_reclaimer_test {
namespace {

constexpr uint64_t kBound = 256 << 10;

// Calls per actor: of the one that runs the test, and of others.
struct Calls {
  uint64_t own = 0, others = 0;
};

/// Notes which actors write. `before_write` runs before each write and may refuse it.
class WatchedSpill : public ForwardingDevice {
 public:
  WatchedSpill(Runtime& runtime, std::shared_ptr<BlockDevice> device, Calls& writes,
               std::function<absl::Status()> before_write)
      : ForwardingDevice(std::move(device)),
        runtime_(runtime),
        test_(runtime.ActorIndex()),
        writes_(writes),
        before_write_(std::move(before_write)) {}
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass io_class) override {
    ++(runtime_.ActorIndex() == test_ ? writes_.own : writes_.others);
    if (absl::Status refused = before_write_(); !refused.ok()) return refused;
    return ForwardingDevice::Write(offset, data, io_class);
  }

 private:
  Runtime& runtime_;
  const uint32_t test_;
  Calls& writes_;
  const std::function<absl::Status()> before_write_;
};

/// Notes which actors free overflow chains. Beside a snapshot older than all commits, only settling
/// frees the chain of a value that was deleted.
class WatchedTree : public ToyTree {
 public:
  WatchedTree(Runtime& runtime, Calls& frees)
      : ToyTree(runtime), runtime_(runtime), test_(runtime.ActorIndex()), frees_(frees) {}
  ~WatchedTree() override { store.StopReclaimer(); }
  void FreeOverflow(TreeId tree, std::string_view reference) override {
    ++(runtime_.ActorIndex() == test_ ? frees_.own : frees_.others);
    ToyTree::FreeOverflow(tree, reference);
  }

 private:
  Runtime& runtime_;
  const uint32_t test_;
  Calls& frees_;
};

struct Store {
  Runtime& runtime;
  Calls writes, frees;
  WatchedTree tree{runtime, frees};

  explicit Store(
      Runtime& simulated,
      std::function<absl::Status()> before_write = [] { return absl::OkStatus(); })
      : runtime(simulated) {
    auto device = MemoryDevice::Create(runtime, {.name = "spill"});
    LATCHKEY_CHECK(device.ok());
    tree.store.SetSpill(std::make_unique<WatchedSpill>(runtime, *std::move(device), writes,
                                                       std::move(before_write)),
                        64 << 20);
    tree.store.SetBound(kBound);
  }
  void PutNow(const std::string& key, const std::string& value) { tree.PutNow(key, value); }
  void DeleteNow(const std::string& key) { tree.DeleteNow(key); }
  // Every other commit is of a new key, in no order, so that no gap is noted. The others put and delete
  // the key "chain". Its values are long, so each has an overflow chain.
  void Churn(int commits, Nanos pause) {
    for (int i = 0; i < commits; ++i, ++churned) {
      if (churned % 2 == 0) {
        PutNow(fmt::format("{:0200}", churned * 7919 % 1'000'003), "v");
      } else if (churned % 4 == 1) {
        PutNow("chain", std::string(ToyTree::kLongValue, 'v') + std::to_string(churned));
      } else {
        DeleteNow("chain");
      }
      most_bytes = std::max(most_bytes, tree.store.stats().version_bytes);
      if (pause != 0) runtime.SleepFor(pause);
    }
  }
  int churned = 0;
  uint64_t most_bytes = 0;
};

void InSimulation(uint64_t seed, const std::function<void(Runtime&)>& body) {
  SimulatedRuntime runtime{SimulationOptions{.seed = seed}};
  const absl::Status ran = runtime.Run([&] { body(runtime); });
  INFO(ran);
  CHECK(ran.ok());
}

// A snapshot older than every commit of the churn.
struct OldReader {
  Store& s;
  Txn txn;
  explicit OldReader(Store& store) : s(store) {
    s.PutNow("a", "old");
    REQUIRE(s.tree.Begin(txn).ok());
    CHECK(s.tree.Get(txn, "a") == "old");
    s.PutNow("a", "new");
  }
  void CheckAndEnd() {
    CHECK(s.tree.Get(txn, "a") == "old");
    for (int i = 0; i < s.churned; i += 37) {
      CHECK(s.tree.Get(txn, fmt::format("{:0200}", i)) == std::nullopt);
    }
    REQUIRE(s.tree.Commit(txn).ok());
  }
};

TEST_CASE("the reclaimer settles and spills, and committers that leave it time do neither") {
  const uint64_t seed = GENERATE(1, 2, 3);
  const bool started = GENERATE(false, true);
  CAPTURE(seed, started);
  InSimulation(seed, [&](Runtime& runtime) {
    Store s(runtime);
    if (started) s.tree.store.StartReclaimer();
    OldReader reader(s);
    s.Churn(4000, kNanosPerMilli);
    CHECK(s.tree.store.stats().spilled_bytes > 0);
    CHECK((started ? s.frees.own : s.frees.others) == 0);
    CHECK((started ? s.frees.others : s.frees.own) > 900);
    CHECK((started ? s.writes.own : s.writes.others) == 0);
    CHECK((started ? s.writes.others : s.writes.own) > 0);
    CHECK(s.most_bytes <= kBound);
    reader.CheckAndEnd();
    s.tree.store.CollectAll();
    CHECK(s.tree.store.stats().versions == 0);
    CHECK(s.tree.CountChains() == s.tree.CountOverflowRecords());
  });
}

TEST_CASE("a reclaimer behind a slow device lets committers settle, and the bound holds") {
  const uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  InSimulation(seed, [&](Runtime& runtime) {
    Store s(runtime, [&runtime] {
      runtime.SleepFor(kNanosPerSecond);
      return absl::OkStatus();
    });
    s.tree.store.StartReclaimer();
    OldReader reader(s);
    s.Churn(6000, 100 * kNanosPerMicro);
    CHECK(s.frees.own > 0);
    CHECK(s.frees.others > 0);
    CHECK(s.tree.store.stats().spilled_bytes > 0);
    CHECK(s.tree.store.stats().snapshots_expired == 0);
    CHECK(s.most_bytes <= kBound + kBound / 8);  // what one transaction adds after its admission
    reader.CheckAndEnd();
  });
}

TEST_CASE("what a snapshot kept goes after its end, though the committers do not drop it") {
  InSimulation(1, [&](Runtime& runtime) {
    Store s(runtime);
    s.tree.store.StartReclaimer();
    OldReader reader(s);
    s.Churn(3000, kNanosPerMilli);
    CHECK(s.tree.store.stats().spilled_bytes > 0);
    reader.CheckAndEnd();
    s.Churn(2000, kNanosPerMilli);
    CHECK(s.tree.store.stats().spilled_bytes == 0);
    CHECK(s.tree.store.stats().versions < 1000);
    CHECK(s.writes.own == 0);
  });
}

TEST_CASE("when the spill device refuses, the oldest snapshot expires as without the reclaimer") {
  const bool started = GENERATE(false, true);
  CAPTURE(started);
  InSimulation(1, [&](Runtime& runtime) {
    bool fails = false;
    Store s(runtime, [&] { return fails ? absl::UnavailableError("broken") : absl::OkStatus(); });
    if (started) s.tree.store.StartReclaimer();
    OldReader reader(s);
    s.Churn(1000, kNanosPerMilli);
    CHECK(s.tree.store.stats().snapshots_expired == 0);
    fails = true;
    s.Churn(4000, kNanosPerMilli);
    CHECK(s.tree.store.stats().snapshots_expired == 1);
    CHECK(s.most_bytes <= kBound + kBound / 4);
    std::optional<std::string> value;
    CHECK(absl::IsAborted(s.tree.Read(reader.txn, "a", &value)));
    REQUIRE(s.tree.Rollback(reader.txn).ok());
  });
}

TEST_CASE("a store goes in the middle of its reclaimer's work") {
  const uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6);
  CAPTURE(seed);
  InSimulation(seed, [&](Runtime& runtime) {
    Store s(runtime, [&runtime] {
      runtime.SleepFor(kNanosPerMilli);
      return absl::OkStatus();
    });
    s.tree.store.StartReclaimer();
    OldReader reader(s);
    s.Churn(1500 + static_cast<int>(seed) * 77, 10 * kNanosPerMicro);
    s.tree.store.StopReclaimer();
    s.Churn(300, 0);  // the committers take over
    CHECK(s.frees.own > 0);
    s.tree.store.StartReclaimer();
    s.Churn(300, 0);
    reader.CheckAndEnd();
  });
}

}  // namespace
}  // namespace latchkey::version_reclaimer_test
