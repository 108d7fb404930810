#include "tools/campaign/model/model_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "tools/campaign/model/model_configurations.h"
#include "tools/campaign/model/model_operations.h"
#include "tools/campaign/model/model_run.h"
#include "tools/campaign/model/shrink.h"
#include "tools/campaign/shared/add_members.h"
#include "tools/campaign/shared/campaign_flags.h"

namespace latchkey {
namespace {

// `code`: status of the failure. A smaller list must fail with the same status.
std::string Shrunk(const ModelList& list, const std::string& path,
                   const ModelConfiguration& configuration, absl::StatusCode code, int most_runs) {
  if (most_runs == 0) return "not shrunk";
  ModelList small = list;
  small.operations = ShrinkByHalving<ModelOperation>(
      list.operations,
      [&](const std::vector<ModelOperation>& part) {
        ModelList candidate = list;
        candidate.operations = part;
        return RunModelList(candidate, path, configuration).status.code() == code;
      },
      most_runs);
  constexpr size_t kShown = 40;
  std::string text = fmt::format("shrunk to {} operations:", small.operations.size());
  for (size_t i = 0; i < std::min(kShown, small.operations.size()); ++i) {
    text += "\n    " + Describe(small.operations[i], small.shape);
  }
  return text;
}

class Cell {
 public:
  Cell(std::string path, uint32_t list_size, int shrink_runs)
      : path_(std::move(path)), list_size_(list_size), shrink_runs_(shrink_runs) {}

  // Runs one list on two configurations, which must give the same history.
  void RunList(uint64_t seed) {
    const ModelList list = MakeModelList(seed, list_size_);
    std::optional<uint64_t> history;
    for (uint64_t c = 0; c < 2 && counts_.wrong.empty(); ++c) {
      const ModelConfiguration configuration = ConfigurationOf(2 * seed + c);
      const ModelResult result = RunModelList(list, path_, configuration);
      Add(result, configuration.row);
      const std::string where = fmt::format("list {} of {} operations on {}", seed,
                                            list.operations.size(), configuration.Describe());
      if (!result.status.ok()) {
        counts_.wrong.push_back(fmt::format(
            "{}: {} at operation {} ({}); {}", where, std::string(result.status.message()),
            result.failed_at, Describe(list.operations[result.failed_at], list.shape),
            Shrunk(list, path_, configuration, result.status.code(), shrink_runs_)));
      } else if (history && result.lost_commits == 0 && result.history != *history) {
        counts_.wrong.push_back(where + ": another history than on its first configuration, " +
                                ConfigurationOf(2 * seed).Describe());
      }
      if (result.lost_commits == 0) history = result.history;
    }
    ++counts_.lists;
  }
  ModelCounts& counts() { return counts_; }

 private:
  void Add(const ModelResult& result, size_t row) {
    counts_.operations += result.operations;
    counts_.reopens += result.reopens;
    counts_.power_losses += result.power_losses;
    counts_.lost_commits += result.lost_commits;
    counts_.scanned += result.scanned;
    counts_.rows[row] = true;
    ++counts_.runs;
  }

  const std::string path_;
  const uint32_t list_size_;
  const int shrink_runs_;
  ModelCounts counts_;
};

void Add(const ModelCounts& from, ModelCounts* to) {
  using C = ModelCounts;
  AddMembers<&C::operations, &C::lists, &C::runs, &C::reopens, &C::power_losses, &C::lost_commits,
             &C::scanned, &C::wrong>(from, to);
  for (size_t row = 0; row < to->rows.size(); ++row) {
    if (from.rows[row]) to->rows[row] = true;
  }
}

// Files in memory, if there is enough room: the campaign tests the engine, not the disk.
std::string DefaultDirectory() {
  constexpr uint64_t kRoom = 512 << 20;
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space("/dev/shm", error);
  return !error && space.available >= kRoom ? "/dev/shm" : std::string();
}

void PrintCounts(const ModelCounts& counts, uint64_t seed, double seconds) {
  for (const std::string& line : counts.wrong) fmt::print("WRONG {}\n", line);
  const ModelPairs pairs = CountModelPairs(counts.rows);
  fmt::print(
      "model: {} operations in {} runs of {} lists, {} records scanned, {} reopens, {} power "
      "losses that took back {} unsynced commits, {} of {} pairs of options, {} mistakes; seed {}, "
      "{:.1f} s\n",
      counts.operations, counts.runs, counts.lists, counts.scanned, counts.reopens,
      counts.power_losses, counts.lost_commits, pairs.run, pairs.all, counts.wrong.size(), seed,
      seconds);
  fmt::print(
      "counts: model operations={} runs={} lists={} scanned={} reopens={} power_losses={} "
      "lost_commits={} pairs={} all_pairs={} mistakes={} seconds={:.0f}\n",
      counts.operations, counts.runs, counts.lists, counts.scanned, counts.reopens,
      counts.power_losses, counts.lost_commits, pairs.run, pairs.all, counts.wrong.size(), seconds);
}

}  // namespace

ModelCounts CheckModel(Runtime& runtime, const std::string& directory, uint64_t seed,
                       uint64_t operations, uint32_t list_size, uint32_t cells, int shrink_runs) {
  std::atomic<uint64_t> next{0}, run{0};
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Cell>> parts;
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint32_t c = 0; c < cells; ++c) {
    parts.push_back(
        std::make_unique<Cell>(fmt::format("{}/{}.db", directory, c), list_size, shrink_runs));
    actors.push_back(runtime.Spawn("model", [&, cell = parts.back().get()] {
      while (run.load() < operations && !stop) {
        cell->RunList(seed + next.fetch_add(1));
        run.fetch_add(2 * uint64_t{list_size});
        if (!cell->counts().wrong.empty()) stop = true;
      }
    }));
  }
  for (const auto& actor : actors) actor->Join();
  ModelCounts total;
  for (const auto& part : parts) Add(part->counts(), &total);
  return total;
}

int RunModelCampaign(const std::vector<std::string>& arguments) {
  CampaignFlags command("Operation lists against an ordered map, over combinations of options");
  uint64_t operations = 5'000'000, seed = 42;
  uint32_t cells = 2, list_size = 20'000;
  int shrink_runs = kShrinkRuns;
  std::string parent = DefaultDirectory();
  command.Add("--operations", operations, "Operations on databases").ShowDefault();
  command.Add("--list", list_size, "Operations of one list").Range(1, 10'000'000).ShowDefault();
  command.Add("--seed", seed, "Of the first list").ShowDefault();
  command.Add("--shrink", shrink_runs, "Runs at most to make a failing list small; 0 = none")
      .Range(0, 100'000)
      .ShowDefault();
  command.Add("--cells", cells, "Databases at a time").Range(1, 64).ShowDefault();
  command
      .Add("--directory", parent,
           "Where databases in files go; else $TMPDIR, else the working directory")
      .ShowDefault();
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  const std::unique_ptr<CampaignDirectory> directory = MakeDirectoryOrSay(parent);
  if (directory == nullptr) return 2;
  Runtime& runtime = ThreadRuntime();
  const Nanos start = runtime.Now();
  const ModelCounts counts =
      CheckModel(runtime, directory->path(), seed, operations, list_size, cells, shrink_runs);
  PrintCounts(counts, seed, static_cast<double>(runtime.Now() - start) / kNanosPerSecond);
  return counts.wrong.empty() ? 0 : 1;
}

}  // namespace latchkey
