#include "tools/campaign/backup_kills/backup_kill_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "tools/campaign/backup_kills/backup_child.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/kill_process.h"

namespace latchkey {
namespace {

// One store and its backups.
class BackupLives {
 public:
  BackupLives(Runtime& runtime, const BackupKillOptions& options, uint64_t store, KillNotes& kills,
              BackupNotes& backups, BackupKillReport& report)
      : runtime_(runtime),
        options_(options),
        kills_(kills),
        backups_(backups),
        report_(report),
        seed_(MixHash(options.seed) + store),
        rng_(seed_),
        path_(fmt::format("{}/store{}", options.directory, store)),
        series_(path_ + "-backups"),
        copy_(path_ + "-copy") {
    store_options_ = KillStoreOptions(rng_, options.layouts[store % options.layouts.size()]);
    for (uint32_t t = 0; t < options.threads; ++t) {
      models_.emplace_back(seed_, t);
      kills_.threads[t].submitted = kills_.threads[t].acknowledged = 0;
      kills_.threads[t].promised = kills_.threads[t].found = 0;
    }
    backups_.Reset();
  }
  ~BackupLives() {
    if (!report_.wrong.empty()) return;
    for (const std::string& path : {path_, series_, copy_, copy_ + ".restoring"}) Remove(path);
  }

  void Run(uint64_t kills) {
    const uint64_t end = report_.kills + kills;
    while (report_.kills < end && report_.wrong.empty()) {
      UseLife(/*closes=*/false);
      // Without a backup a restore has nothing to do, and ends before it is killed.
      if (report_.kills < end && report_.wrong.empty() && backups_.finished.load() > 0 &&
          rng_.Below(4) != 0) {
        RestoreLifeOnce(/*is_killed=*/true);
      }
      if (report_.wrong.empty()) RestoreLifeOnce(/*is_killed=*/false);
      // The copy is gone, so nothing of the series is needed any more.
      if (report_.wrong.empty() && backups_.finished.load() == BackupNotes::kMostBackups) {
        Remove(series_);
        backups_.Reset();
      }
    }
    if (report_.wrong.empty()) UseLife(/*closes=*/true);
  }

 private:
  static void Remove(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::optional<KillPoint> SomePoint(uint64_t most_calls) {
    if (rng_.Below(2) == 0) return std::nullopt;
    const auto names = BackupKillPointNames();
    return KillPoint{.name = names[rng_.Below(names.size())],
                     .at_call = 1 + rng_.Below(1 + rng_.Below(most_calls))};
  }

  Nanos SomeTime() {
    return kNanosPerMilli *
           static_cast<uint64_t>(rng_.Between(static_cast<int64_t>(options_.min_run_ms),
                                              static_cast<int64_t>(options_.max_run_ms)));
  }

  // The source: opened, compared, used and backed up.
  void UseLife(bool closes) {
    ChangeKillOptions(rng_, &store_options_);
    KillLife life;
    life.path = path_;
    life.options = store_options_;
    life.seed = seed_;
    life.life_seed = rng_.Next();
    life.must_exist = opened_;
    life.closes = closes;
    // Every second life ends after a backup was finished: at once, or some time later. The others end
    // at any time or call.
    const uint32_t finished = backups_.finished.load();
    const bool finishes_one = finished < BackupNotes::kMostBackups && rng_.Below(2) == 0;
    const bool dies_after_one = !closes && finishes_one && rng_.Below(4) != 0;
    life.beside = [this, dies_after_one](Database& db) {
      return BackUpBeside(db, series_, options_.threads, kills_, backups_, dies_after_one);
    };
    if (!closes && !finishes_one) life.kill_in_work = SomePoint(20);
    // A child that never reaches its kill point comes to an end of its work, and is killed then. One that
    // dies at the end of a backup does little beside it: a checkpoint would make durable what the backup
    // has noted.
    if (life.kill_in_work || dies_after_one) life.transactions_per_thread = 60;
    const Nanos delay = SomeTime();
    kills_.stage.store(KillStage::kOpening);
    auto started = ChildProcess::Start([&] { return RunKillLife(life, kills_, models_); });
    if (!started.ok()) return Fail("start", std::string(started.status().message()));
    ChildProcess& child = **started;
    if (!closes) {
      child.WaitUntil(runtime_, [&] { return stage() != KillStage::kOpening; });
      if (finishes_one) {
        child.WaitUntil(runtime_, [&] {
          return backups_.finished.load() > finished || stage() == KillStage::kFailed;
        });
      }
      KillInTime(child, life.kill_in_work ? std::optional<Nanos>() : delay);
    }
    child.WaitForEnd();
    if (stage() == KillStage::kFailed) return Fail("the used database", kills_.message);
    if (!(closes ? child.ended_well() : child.was_killed())) {
      return Fail("the used database", child.DescribeEnd());
    }
    opened_ = true;
    report_.sources_compared += closes ? 2 : 1;
    for (uint32_t t = 0; t < options_.threads; ++t) {
      models_[t].AdvanceTo(kills_.threads[t].found.load());
    }
    if (!closes) ++report_.kills;
  }

  // Kills the child after `delay`; nullopt: it kills itself, or has finished its work.
  void KillInTime(ChildProcess& child, std::optional<Nanos> delay) {
    if (delay) {
      if (!child.HasEnded() && stage() != KillStage::kFailed) runtime_.SleepFor(*delay);
    } else {
      child.WaitUntil(runtime_, [&] { return stage() != KillStage::kVerified; });
    }
    if (stage() == KillStage::kFailed) return;
    report_.at_points += child.HasEnded() ? 1 : 0;
    child.Kill();
  }

  void RestoreLifeOnce(bool is_killed) {
    const RestoreLife life{.directory = series_,
                           .copy = copy_,
                           .seed = seed_,
                           .life_seed = rng_.Next(),
                           .threads = options_.threads};
    const std::optional<KillPoint> point = is_killed ? SomePoint(3) : std::nullopt;
    const Nanos delay = rng_.Below(1 + whole_restore_);
    const Nanos begin = runtime_.Now();
    kills_.stage.store(KillStage::kOpening);
    auto started = ChildProcess::Start([&] {
      if (point) ArmKillPoint(*point);
      return RunRestoreLife(life, kills_, backups_);
    });
    if (!started.ok()) return Fail("start", std::string(started.status().message()));
    ChildProcess& child = **started;
    if (is_killed && !point) {
      runtime_.SleepFor(delay);
      child.Kill();
    }
    child.WaitForEnd();
    if (stage() == KillStage::kFailed) return Fail("a backup or its restore", kills_.message);
    // A child that may be killed may also end before that.
    if (!child.ended_well() && !(is_killed && child.was_killed())) {
      return Fail("a restore", child.DescribeEnd());
    }
    if (!child.was_killed()) {
      if (!is_killed) whole_restore_ = runtime_.Now() - begin;
      return;
    }
    ++report_.kills;
    ++report_.in_restore;
    report_.at_points += point ? 1 : 0;
  }

  KillStage stage() const { return kills_.stage.load(); }

  void Fail(std::string_view of, std::string what) {
    report_.wrong = fmt::format(
        "after {} kills, {} of {} ({}): {}\n    the files are kept; the same choices again: "
        "latchkey_campaign backup-kills --seed={} --kills={} --kills-per-store={} --threads={}",
        report_.kills, of, path_, DescribeKillOptions(store_options_), what, options_.seed,
        report_.kills + 1, options_.kills_per_store, options_.threads);
  }

  Runtime& runtime_;
  const BackupKillOptions& options_;
  KillNotes& kills_;
  BackupNotes& backups_;
  BackupKillReport& report_;
  const uint64_t seed_;
  Rng rng_;
  const std::string path_, series_, copy_;
  Options store_options_;
  std::vector<KillThreadModel> models_;
  Nanos whole_restore_ = 20 * kNanosPerMilli;  // how long the last one took that was not killed
  bool opened_ = false;
};

void PrintReport(const BackupKillReport& report, const BackupKillOptions& options, double seconds) {
  fmt::print(
      "backup-kills: {} kills of {} stores, {} of them in a restore, {} at a named call; {} "
      "comparisons "
      "of the used database; {} of {} backups ended, {} of them behind pages of a killed one; {} "
      "backups proven, {} restored and compared, {} found whole after a kill; seed {}, {:.1f} s\n",
      report.kills, report.stores, report.in_restore, report.at_points, report.sources_compared,
      report.backups, report.attempts, report.resumed, report.proven, report.restored,
      report.found_whole, options.seed, seconds);
  fmt::print(
      "counts: backup-kills kills={} in_restore={} at_points={} stores={} sources_compared={} "
      "attempts={} backups={} resumed={} proven={} restored={} found_whole={} mistakes={} "
      "seconds={:.0f}\n",
      report.kills, report.in_restore, report.at_points, report.stores, report.sources_compared,
      report.attempts, report.backups, report.resumed, report.proven, report.restored,
      report.found_whole, report.wrong.empty() ? 0 : 1, seconds);
}

}  // namespace

BackupKillReport RunBackupKills(Runtime& runtime, const BackupKillOptions& options) {
  BackupKillReport report;
  const absl::StatusOr<Shared<KillNotes>> kills = Shared<KillNotes>::Make();
  const absl::StatusOr<Shared<BackupNotes>> backups = Shared<BackupNotes>::Make();
  if (!kills.ok() || !backups.ok()) {
    report.wrong = std::string((kills.ok() ? backups.status() : kills.status()).message());
    return report;
  }
  while (report.kills < options.kills && report.wrong.empty()) {
    const uint64_t left = options.kills - report.kills;
    BackupLives(runtime, options, report.stores, **kills, **backups, report)
        .Run(std::min<uint64_t>(left, options.kills_per_store));
    ++report.stores;
  }
  report.attempts = (*backups)->attempts.load();
  report.backups = (*backups)->backups_made.load();
  report.resumed = (*backups)->resumed.load();
  report.proven = (*backups)->proven.load();
  report.restored = (*backups)->restored.load();
  report.found_whole = (*backups)->found_whole.load();
  return report;
}

int RunBackupKillCampaign(const std::vector<std::string>& arguments) {
  CampaignFlags command(
      "Kills processes that back up and restore a database that is used, and looks at what is "
      "left");
  BackupKillOptions options;
  std::string parent;
  AddKillFlags(command, options, parent);
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  BackupKillReport report;
  return RunInDirectory(
      parent,
      [&](const std::string& path) {
        options.directory = path;
        report = RunBackupKills(ThreadRuntime(), options);
        return report.wrong;
      },
      [&](double seconds) { PrintReport(report, options, seconds); });
}

}  // namespace latchkey
