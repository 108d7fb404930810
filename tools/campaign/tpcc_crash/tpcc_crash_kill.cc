// kill -9 while TPC-C-lite runs. The list of successes is in memory that the clients share with the
// parent process, which outlives them.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/shared/kill_process.h"
#include "tools/campaign/shared/technique_items.h"
#include "tools/campaign/tpcc_crash/tpcc_crash.h"
#include "tpcc-lite/kv/latchkey_backend.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {
namespace {

enum class Stage : uint32_t { kBegun, kChecked, kRunning, kFailed };

// The notes of the clients.
struct Notes {
  static constexpr uint64_t kMostSuccesses = 1 << 18;

  std::atomic<Stage> stage{Stage::kBegun};
  char message[2000] = {};
  /// New-Orders reported to clients in this life. The first kMostSuccesses are kept.
  std::atomic<uint64_t> told{0};
  /// District and order, 0 while it is being written.
  std::atomic<uint64_t> successes[kMostSuccesses];

  void Fail(const absl::Status& status) {
    const std::string text = status.ToString();
    std::memcpy(message, text.data(), std::min(text.size(), sizeof(message) - 1));
    stage.store(Stage::kFailed);
  }

  void Add(uint8_t district, uint32_t order) {
    const uint64_t at = told.fetch_add(1);
    if (at < kMostSuccesses) successes[at].store(uint64_t{order} << 8 | district);
  }
};

enum class Task { kLoad, kWork, kClose };

// A child process: opens the database, checks it, and runs users on it until it is killed.
class Client {
 public:
  Client(const std::string& path, const Options& options, const TpccConfig& config,
         const TpccPromise& promise, Notes& notes)
      : path_(path), options_(options), config_(config), promise_(promise), notes_(notes) {}

  absl::Status Run(Task task) {
    Options options = options_;
    options.create_if_missing = task == Task::kLoad;
    LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<Database> opened, Database::Open(path_, options));
    Database& db = *opened;
    LATCHKEY_ASSIGN_OR_RETURN(const auto backend,
                              NewLatchkeyBackend(std::move(opened), TpccTableNames()));
    absl::Status done = Do(task, db, *backend);
    if (!done.ok()) notes_.Fail(done);  // before the close: a kill may come at any moment
    return done;
  }

 private:
  absl::Status Do(Task task, Database& db, KvBackend& backend) {
    if (task == Task::kLoad) {
      LATCHKEY_RETURN_IF_ERROR(LoadTpcc(backend, config_));
    } else {
      LATCHKEY_RETURN_IF_ERROR(CheckTpccAfterCrash(backend, config_, promise_));
      LATCHKEY_RETURN_IF_ERROR(db.Verify());
      notes_.stage.store(Stage::kChecked);
    }
    return task == Task::kWork ? Work(backend) : backend.Close();
  }

  absl::Status Work(KvBackend& backend) {
    TpccConfig config = config_;
    config.duration = 24 * 3600 * kNanosPerSecond;
    TpccRunHooks hooks;
    hooks.on_measure_begin = [this] { notes_.stage.store(Stage::kRunning); };
    hooks.on_new_order = [this](uint16_t, uint8_t district, uint32_t order) {
      notes_.Add(district, order);
    };
    return RunTpcc(backend, config, hooks).status();
  }

  const std::string& path_;
  const Options& options_;
  const TpccConfig& config_;
  const TpccPromise& promise_;
  Notes& notes_;
};

class KilledStore {
 public:
  KilledStore(Runtime& runtime, const TpccCrashOptions& options, uint64_t store, Notes& notes,
              TpccCrashReport* report)
      : runtime_(runtime),
        options_(options),
        config_(options.Config()),
        notes_(notes),
        report_(*report),
        rng_(MixHash(options.seed) + store),
        path_(fmt::format("{}/tpcc{}", options.directory, store)) {
    SetLayout(options.LayoutOf(store), &database_.techniques);
    database_.techniques.segment_size = 256 << 10;
    database_.cache_bytes = 4 << 20;
    database_.checkpoint_log_bytes = 1 << 20;
    database_.durability = Durability::kCommit;
  }
  ~KilledStore() {
    std::error_code ignored;
    if (report_.wrong.empty()) std::filesystem::remove_all(path_, ignored);
  }

  void Run(uint64_t kills) {
    OneChild(Task::kLoad);
    for (uint64_t i = 0; i < kills && report_.wrong.empty(); ++i) {
      // In every third life the newest acknowledged commits may be lost.
      database_.durability = i % 3 == 2 ? Durability::kGroup : Durability::kCommit;
      OneChild(Task::kWork);
    }
    if (report_.wrong.empty()) OneChild(Task::kClose);
    if (report_.wrong.empty()) OneChild(Task::kClose);  // after a clean close
    report_.new_orders += told_;
  }

 private:
  void OneChild(Task task) {
    notes_.stage.store(Stage::kBegun);
    notes_.told.store(0);
    const TpccPromise promise{.successes = successes_, .others = others_};
    const auto started = ChildProcess::Start([&] { return Child(task, promise); });
    if (!started.ok()) return Fail(std::string(started.status().message()));
    ChildProcess& child = **started;
    if (task == Task::kWork) {
      child.WaitUntil(runtime_, [&] { return notes_.stage.load() >= Stage::kRunning; });
      if (!child.HasEnded() && notes_.stage.load() != Stage::kFailed) {
        runtime_.SleepFor(kNanosPerMilli * (options_.min_run_ms +
                                            rng_.Below(options_.max_run_ms - options_.min_run_ms)));
      }
      if (notes_.stage.load() != Stage::kFailed) child.Kill();
    }
    child.WaitForEnd();
    Settle(task, child);
  }

  int Child(Task task, const TpccPromise& promise) {
    const absl::Status end = Client(path_, database_, config_, promise, notes_).Run(task);
    if (end.ok()) return 0;
    notes_.Fail(end);
    return 1;
  }

  void Settle(Task task, const ChildProcess& child) {
    if (notes_.stage.load() == Stage::kFailed) return Fail(notes_.message);
    if (!(task == Task::kWork ? child.was_killed() : child.ended_well())) {
      return Fail(child.DescribeEnd());
    }
    if (task != Task::kLoad) {
      ++report_.checks;
      report_.present += successes_.size();
    }
    if (task != Task::kWork) return;
    ++report_.kills;
    const uint64_t told = notes_.told.load();
    const uint64_t kept = std::min(told, Notes::kMostSuccesses);
    told_ += told;
    others_ += options_.users + told - kept;
    for (uint64_t i = 0; i < kept; ++i) {
      const uint64_t entry = notes_.successes[i].exchange(0);
      if (entry == 0) continue;  // the client died before it noted the order
      if (database_.durability == Durability::kCommit) {
        successes_.push_back({static_cast<uint8_t>(entry), static_cast<uint32_t>(entry >> 8)});
      } else {
        ++others_;
      }
    }
  }

  void Fail(std::string what) {
    report_.wrong = fmt::format(
        "after {} kills, on {} ({}, which is kept): {}\n    the same choices again: "
        "latchkey_campaign tpcc-crash --power-losses=0 --kills={} --seed={}",
        report_.kills, path_, LayoutItemOf(database_.techniques), what, options_.kills,
        options_.seed);
  }

  Runtime& runtime_;
  const TpccCrashOptions& options_;
  const TpccConfig config_;
  Notes& notes_;
  TpccCrashReport& report_;
  Rng rng_;
  const std::string path_;
  Options database_;
  std::vector<TpccSuccess> successes_;
  uint64_t others_ = 0, told_ = 0;
};

}  // namespace

void KillTpcc(Runtime& runtime, const TpccCrashOptions& options, TpccCrashReport* report) {
  absl::StatusOr<Shared<Notes>> notes = Shared<Notes>::Make();
  if (!notes.ok()) {
    report->wrong = std::string(notes.status().message());
    return;
  }
  for (uint64_t store = 0; report->kills < options.kills && report->wrong.empty(); ++store) {
    KilledStore(runtime, options, store, **notes, report)
        .Run(std::min(options.kills - report->kills, options.crashes_per_store));
    ++report->stores;
  }
}

}  // namespace latchkey
