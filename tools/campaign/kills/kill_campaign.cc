#include "tools/campaign/kills/kill_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "tools/campaign/kills/kill_child.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/kill_process.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

const std::string& Pick(Rng& rng, const std::vector<std::string>& from) {
  return from[rng.Below(from.size())];
}

// One store: its lives, its oracle, its end.
class StoreLives {
 public:
  StoreLives(Runtime& runtime, const KillCampaignOptions& options, uint64_t store, KillNotes& notes,
             KillReport& report)
      : runtime_(runtime),
        options_(options),
        notes_(notes),
        report_(report),
        seed_(MixHash(options.seed) + store),
        rng_(seed_),
        path_(fmt::format("{}/store{}", options.directory, store)) {
    store_options_ = KillStoreOptions(rng_, options.layouts[store % options.layouts.size()]);
    for (uint32_t t = 0; t < options.threads; ++t) {
      models_.emplace_back(seed_, t);
      notes_.threads[t].submitted = notes_.threads[t].acknowledged = 0;
      notes_.threads[t].promised = notes_.threads[t].found = 0;
    }
  }
  ~StoreLives() {
    std::error_code ignored;
    if (report_.wrong.empty()) std::filesystem::remove_all(path_, ignored);
  }

  void Run(uint64_t kills) {
    for (uint64_t i = 0; i < kills && report_.wrong.empty(); ++i) OneLife(/*closes=*/false);
    if (report_.wrong.empty()) OneLife(/*closes=*/true);
  }

 private:
  KillLife NextLife(bool closes) {
    ChangeKillOptions(rng_, &store_options_);
    KillLife life;
    life.path = path_;
    life.options = store_options_;
    life.seed = seed_;
    life.life_seed = rng_.Next();
    life.must_exist = opened_;
    life.closes = closes;
    if (closes) return life;
    if (report_.kills % 10 == 9) {
      if (rng_.Below(2) == 0) life.kill_in_open = SomePoint(12);
    } else if (options_.kill_at) {
      life.kill_in_work = options_.kill_at;
    } else if (rng_.Below(3) == 0) {
      life.kill_in_work = SomePoint(40);
    }
    // A child that may never reach its kill point is killed after this many transactions.
    if (life.kill_in_work) life.transactions_per_thread = 120;
    return life;
  }

  KillPoint SomePoint(uint64_t most) {
    const auto names = KillPointNames();
    return {.name = names[rng_.Below(names.size())],
            .at_call = 1 + rng_.Below(1 + rng_.Below(most))};
  }

  void OneLife(bool closes) {
    const KillLife life = NextLife(closes);
    const bool in_open = !closes && report_.kills % 10 == 9;
    const Nanos delay = kNanosPerMilli * static_cast<uint64_t>(rng_.Between(
                                             static_cast<int64_t>(options_.min_run_ms),
                                             static_cast<int64_t>(options_.max_run_ms)));
    notes_.stage.store(KillStage::kOpening);
    const absl::StatusOr<std::unique_ptr<ChildProcess>> started =
        ChildProcess::Start([&] { return RunKillLife(life, notes_, models_); });
    if (!started.ok()) return Fail(life, std::string(started.status().message()));
    ChildProcess& child = **started;
    if (!closes) KillInTime(life, in_open, delay, child);
    child.WaitForEnd();
    Settle(life, child);
  }

  KillStage stage() const { return notes_.stage.load(); }

  void KillInTime(const KillLife& life, bool in_open, Nanos delay, ChildProcess& child) {
    if (in_open && !life.kill_in_open) {
      runtime_.SleepFor(delay / 16);
    } else {
      child.WaitUntil(runtime_, [&] { return stage() != KillStage::kOpening; });
      if (stage() == KillStage::kFailed) return;
      if (life.kill_in_work) {
        child.WaitUntil(runtime_, [&] { return stage() != KillStage::kVerified; });
        by_parent_ = !child.HasEnded();
        return child.Kill();
      }
      if (!child.HasEnded()) runtime_.SleepFor(delay);
    }
    if (stage() == KillStage::kFailed) return;  // the child ends by itself
    by_parent_ = !child.HasEnded();
    child.Kill();
  }

  // After the end of a child: advances the oracle, and checks that the child ended as planned.
  void Settle(const KillLife& life, const ChildProcess& child) {
    if (stage() == KillStage::kFailed) return Fail(life, notes_.message);
    if (!(life.closes ? child.ended_well() : child.was_killed())) {
      return Fail(life, child.DescribeEnd());
    }
    const bool verified = stage() != KillStage::kOpening;
    opened_ |= verified;
    report_.compared += (verified ? 1 : 0) + (life.closes ? 1 : 0);
    if (verified) {
      for (uint32_t t = 0; t < options_.threads; ++t) SettleThread(t);
    }
    if (life.closes) return;
    ++report_.kills;
    report_.in_open += verified ? 0 : 1;
    report_.at_points += by_parent_ ? 0 : 1;
  }

  void SettleThread(uint32_t t) {
    KillNotes::Thread& note = notes_.threads[t];
    const uint64_t found = note.found.load();
    if (in_flight_[t]) report_.in_flight_found += found == *in_flight_[t] ? 1 : 0;
    models_[t].AdvanceTo(found);
    report_.acknowledged += note.acknowledged.load() - found;
    in_flight_[t].reset();
    if (note.submitted.load() > note.acknowledged.load()) {
      in_flight_[t] = note.submitted.load();
      ++report_.in_flight;
    }
  }

  void Fail(const KillLife& life, std::string what) {
    std::string where;
    if (life.kill_in_open) where = ", in its open at " + DescribeKillPoint(*life.kill_in_open);
    if (life.kill_in_work) where = ", in its work at " + DescribeKillPoint(*life.kill_in_work);
    report_.wrong = fmt::format(
        "after {} kills, on {} ({}{}): {}\n    the store is kept; the same choices again: "
        "latchkey_campaign kills --seed={} --kills={} --kills-per-store={} --threads={}",
        report_.kills, path_, DescribeKillOptions(life.options), where, what, options_.seed,
        report_.kills + 1, options_.kills_per_store, options_.threads);
  }

  Runtime& runtime_;
  const KillCampaignOptions& options_;
  KillNotes& notes_;
  KillReport& report_;
  const uint64_t seed_;
  Rng rng_;
  const std::string path_;
  Options store_options_;
  std::vector<KillThreadModel> models_;
  std::array<std::optional<uint64_t>, KillNotes::kMostThreads> in_flight_;
  bool opened_ = false;
  bool by_parent_ = false;  // whether the parent process made the last kill
};

void PrintReport(const KillReport& report, const KillCampaignOptions& options, double seconds) {
  fmt::print(
      "kills: {} kills of {} stores, {} of them in an open, {} at a named call; {} comparisons, {} "
      "transactions acknowledged; of {} in flight {} were found; seed {}, {:.1f} s\n",
      report.kills, report.stores, report.in_open, report.at_points, report.compared,
      report.acknowledged, report.in_flight, report.in_flight_found, options.seed, seconds);
  fmt::print(
      "counts: kills kills={} in_open={} at_points={} stores={} compared={} acknowledged={} "
      "in_flight={} in_flight_found={} mistakes={} seconds={:.0f}\n",
      report.kills, report.in_open, report.at_points, report.stores, report.compared,
      report.acknowledged, report.in_flight, report.in_flight_found, report.wrong.empty() ? 0 : 1,
      seconds);
}

}  // namespace

void AddKillFlags(CampaignFlags& command, KillRunOptions& options, std::string& parent) {
  command.Add("--kills", options.kills, "Processes killed").ShowDefault();
  command.Add("--db", parent, "Directory for the stores; else $TMPDIR, else the working one");
  command.Add("--seed", options.seed, "Of all choices but those of time").ShowDefault();
  command.Add("--kills-per-store", options.kills_per_store, "Then comes the next store")
      .Range(1, 1'000'000)
      .ShowDefault();
  command.Add("--threads", options.threads, "That use the database")
      .Range(1u, KillNotes::kMostThreads)
      .ShowDefault();
  command.Add("--layout", options.layouts, "Layouts, one store after the other")
      .SeparatedByCommas()
      .OneOf(LayoutItems());
  command.Add("--max-run-ms", options.max_run_ms, "Longest work before a kill")
      .Range(2, 1'000'000)
      .ShowDefault();
}

Options KillStoreOptions(Rng& rng, const std::string& layout) {
  Options options;
  options.page_size = 4096u << rng.Below(3);
  SetLayout(layout, &options.techniques);
  options.techniques.space_utilization = rng.Below(3) == 0 ? 0.95 : 0.8;
  options.techniques.segment_size = AnySegmentSize(rng);
  return options;
}

void ChangeKillOptions(Rng& rng, Options* options) {
  options->durability = rng.Below(3) == 0 ? Durability::kGroup : Durability::kCommit;
  options->group_commit_delay_ms = static_cast<uint32_t>(1 + rng.Below(20));
  options->isolation = rng.Below(2) == 0 ? Isolation::kSnapshot : Isolation::kSerializable;
  options->checkpoint_log_bytes = uint64_t{64} << (10 + rng.Below(6));
  options->cache_bytes = uint64_t{options->page_size <= 4096 ? 3u : 6u} << (20 + rng.Below(3));
  options->techniques.replacement = Pick(rng, ReplacementItems());
  options->techniques.synchronization = Pick(rng, SynchronizationItems());
  MakePolicy(&options->techniques.replacement, options->techniques.synchronization);
  options->techniques.fix = Pick(rng, FixItems());
  MakeFixMode(&options->techniques.fix, options->techniques.synchronization);
  options->techniques.page_in = Pick(rng, PageInItems());
  options->techniques.cleaner = Pick(rng, CleanerItems());
  options->techniques.cleaners = static_cast<uint32_t>(rng.Below(3));
  options->techniques.cleaning_scope = Pick(rng, CleaningScopeItems());
  options->techniques.victims = Pick(rng, VictimItems());
  options->techniques.segment_cleaning = Pick(rng, SegmentCleaningItems());
  options->techniques.seed = rng.Next();
}

std::string DescribeKillOptions(const Options& options) {
  const Techniques& t = options.techniques;
  return fmt::format(
      "{} page={} utilization={} segment={}; {} {} {} {} {} cleaners={}x{} {} {} {} cache={} "
      "checkpoint={}",
      LayoutItemOf(t), options.page_size, t.space_utilization, t.segment_size,
      options.durability == Durability::kCommit ? "commit" : "group", t.replacement,
      t.synchronization, t.fix, t.page_in, t.cleaners, t.cleaner, t.cleaning_scope, t.victims,
      t.segment_cleaning, options.cache_bytes, options.checkpoint_log_bytes);
}

KillReport RunKills(Runtime& runtime, const KillCampaignOptions& options) {
  KillReport report;
  absl::StatusOr<Shared<KillNotes>> notes = Shared<KillNotes>::Make();
  if (!notes.ok()) {
    report.wrong = std::string(notes.status().message());
    return report;
  }
  while (report.kills < options.kills && report.wrong.empty()) {
    const uint64_t left = options.kills - report.kills;
    StoreLives(runtime, options, report.stores, **notes, report)
        .Run(std::min<uint64_t>(left, options.kills_per_store));
    ++report.stores;
  }
  return report;
}

int RunKillCampaign(const std::vector<std::string>& arguments) {
  CampaignFlags command(
      "Kills processes that work on databases in files, and looks at what is left");
  KillCampaignOptions options;
  std::string parent, at;
  AddKillFlags(command, options, parent);
  command
      .Add("--kill-at", at,
           fmt::format("Kill there instead, at the N-th call: POINT:N of {}",
                       fmt::join(KillPointNames(), ", ")))
      .OrEnvironment("KILL_AT");
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  if (!at.empty()) {
    options.kill_at = ParseKillPoint(at);
    if (!options.kill_at) {
      fmt::print(stderr, "--kill-at={} is not POINT:N of {}\n", at,
                 fmt::join(KillPointNames(), ", "));
      return 2;
    }
  }
  KillReport report;
  return RunInDirectory(
      parent,
      [&](const std::string& path) {
        options.directory = path;
        report = RunKills(ThreadRuntime(), options);
        return report.wrong;
      },
      [&](double seconds) { PrintReport(report, options, seconds); });
}

}  // namespace latchkey
