#include "tpcc-lite/kv/snapshot_beside.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tpcc-lite/kv/kv_backends.h"

namespace latchkey::snapshot_beside_test {
namespace {

/// A backend with one row, of which every scan sees another value. If `ends_early`, the second scan
/// of a transaction ends it.
class UnsteadyBackend final : public KvBackend {
 public:
  explicit UnsteadyBackend(bool ends_early) : ends_early_(ends_early) {}
  std::string Name() const override { return "unsteady"; }
  absl::StatusOr<std::unique_ptr<KvSession>> NewSession() override {
    return std::make_unique<Session>(ends_early_);
  }
  absl::Status Checkpoint() override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }
  KvStatistics GetStatistics() const override { return {}; }

 private:
  class Session final : public KvSession {
   public:
    explicit Session(bool ends_early) : ends_early_(ends_early) {}
    absl::Status Begin() override { return absl::OkStatus(); }
    absl::Status Commit() override { return absl::OkStatus(); }
    absl::Status Rollback() override { return absl::OkStatus(); }
    absl::Status Get(TableIndex, std::string_view, std::string*) override { return No(); }
    absl::Status GetForUpdate(TableIndex, std::string_view, std::string*) override { return No(); }
    absl::Status Put(TableIndex, std::string_view, std::string_view) override { return No(); }
    absl::Status Insert(TableIndex, std::string_view, std::string_view) override { return No(); }
    absl::Status Delete(TableIndex, std::string_view) override { return No(); }
    absl::Status Scan(TableIndex, std::string_view, std::string_view, bool,
                      absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
      if (ends_early_ && scans_ > 0) return absl::AbortedError("snapshot too old");
      visit("key", std::to_string(++scans_));
      return absl::OkStatus();
    }

   private:
    static absl::Status No() { return absl::UnimplementedError("not needed here"); }
    const bool ends_early_;
    int scans_ = 0;
  };
  const bool ends_early_;
};

void Write(KvBackend& backend, int rows, const std::string& value) {
  const auto session = backend.NewSession();
  REQUIRE(session.ok());
  for (int i = 0; i < rows; ++i) {
    REQUIRE((*session)->PutAuto(0, "key " + std::to_string(i), value).ok());
  }
}

TEST_CASE("The snapshots beside a run read one state while every row changes") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  KvOptions options;
  options.path = "snapshot-beside";
  options.tables = {"only"};
  options.device.kind = DeviceSpec::Kind::kMemory;
  const auto backend = KvBackends().Find("latchkey")->open(options);
  REQUIRE(backend.ok());
  Write(**backend, 300, "before");
  SnapshotBeside beside(**backend, 1, HeldSnapshots::kBoth, ThreadRuntime());
  beside.Begin();
  Write(**backend, 300, "after");
  const absl::StatusOr<HeldSnapshotResult> result = beside.End();
  REQUIRE(result.ok());
  CHECK(result->ended_early.empty());
  if (result->scans > 0) CHECK(result->rows_per_scan == 300);
  CHECK((*backend)->Close().ok());
}

TEST_CASE("A snapshot that reads another state than at first is an error of the run") {
  UnsteadyBackend backend(/*ends_early=*/false);
  SnapshotBeside beside(backend, 1, HeldSnapshots::kIdle, ThreadRuntime());
  beside.Begin();
  CHECK(absl::IsDataLoss(beside.End().status()));
}

TEST_CASE("A snapshot that the engine ends early is reported with the engine's reason") {
  UnsteadyBackend backend(/*ends_early=*/true);
  SnapshotBeside beside(backend, 1, HeldSnapshots::kIdle, ThreadRuntime());
  beside.Begin();
  const absl::StatusOr<HeldSnapshotResult> result = beside.End();
  REQUIRE(result.ok());
  CHECK(result->ended_early == "snapshot too old");
}

}  // namespace
}  // namespace latchkey::snapshot_beside_test
