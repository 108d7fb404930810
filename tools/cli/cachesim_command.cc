#include "tools/cli/cachesim_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "bufferpool/replacement/trace_replay.h"
#include "bufferpool/synchronization/region_division.h"
#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "storage/runtime/runtime.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/trace/page_trace.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostFrames = uint64_t{1} << 30;
constexpr uint64_t kMostRegions = 1 << 16;
constexpr uint64_t kFirstSeed = 42;

// What the flags ask for, checked.
struct Plan {
  std::vector<std::string> traces;
  std::vector<ReplacementChoice> algorithms;
  std::vector<CountOrShare> sizes;  // pages, or a share of the different pages of a trace
  std::vector<uint32_t> regions;
  uint64_t seeds = 1;
  uint64_t jobs = 1;

  size_t cells() const { return traces.size() * sizes.size() * regions.size() * algorithms.size(); }
};

absl::StatusOr<std::vector<ReplacementChoice>> ParseAlgorithms(const std::string& text) {
  std::vector<ReplacementChoice> algorithms;
  if (text == "all") {
    for (const ReplacementInfo& info : ReplacementAlgorithms()) {
      algorithms.push_back(ReplacementAlgorithms().Named(info.description.name));
    }
    return algorithms;
  }
  LATCHKEY_ASSIGN_OR_RETURN(const auto items, SplitList("replacement", text));
  for (const std::string& item : items) {
    LATCHKEY_ASSIGN_OR_RETURN(ReplacementChoice choice, ReplacementAlgorithms().Parse(item));
    algorithms.push_back(std::move(choice));
  }
  return algorithms;
}

absl::StatusOr<Plan> MakePlan(const CacheSimFlags& flags) {
  Plan plan;
  LATCHKEY_RETURN_IF_ERROR(CheckOutputs(flags.output));
  LATCHKEY_ASSIGN_OR_RETURN(plan.traces, SplitList("trace", flags.traces));
  LATCHKEY_ASSIGN_OR_RETURN(plan.algorithms, ParseAlgorithms(flags.replacement));
  LATCHKEY_ASSIGN_OR_RETURN(const auto sizes, SplitList("size", flags.sizes));
  for (const std::string& text : sizes) {
    LATCHKEY_ASSIGN_OR_RETURN(const CountOrShare size,
                              ParseCountOrShare("size", text, 1, kMostFrames, "the trace's pages"));
    plan.sizes.push_back(size);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const auto regions, SplitList("regions", flags.regions));
  for (const std::string& text : regions) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t count, ParseCount("regions", text, 1, kMostRegions));
    plan.regions.push_back(static_cast<uint32_t>(count));
  }
  LATCHKEY_ASSIGN_OR_RETURN(plan.seeds, ParseCount("seeds", flags.seeds, 1, 1000));
  LATCHKEY_ASSIGN_OR_RETURN(plan.jobs, ParseCount("jobs", flags.jobs, 0, 1024));
  const bool divided = std::any_of(plan.regions.begin(), plan.regions.end(),
                                   [](uint32_t count) { return count > 1; });
  const auto needs_future = [](const ReplacementChoice& algorithm) {
    return algorithm.entry().needs_future;
  };
  if (divided && flags.replacement == "all") std::erase_if(plan.algorithms, needs_future);
  if (divided && std::any_of(plan.algorithms.begin(), plan.algorithms.end(), needs_future)) {
    return InvalidArgument(
        "--replacement={} --regions={}: an algorithm that knows the future (opt) runs in one "
        "region; give --regions=1",
        flags.replacement, flags.regions);
  }
  if (plan.jobs == 0)
    plan.jobs = static_cast<uint64_t>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN)));
  return plan;
}

// One row: a trace with an algorithm, a size and a number of regions.
struct Cell {
  const std::string* path;
  const PageTrace* trace;
  const ReplacementChoice* algorithm;
  uint32_t frames;
  uint32_t regions;
  // Means over the seeds.
  double misses = 0;
  double dirty_writes = 0;
  bool done = false;
};

// The cell is not done if a stop is requested.
void RunCell(Cell& cell, uint64_t seeds) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const TraceReplayResult result = ReplayTrace(*cell.algorithm,
                                                 {.frames = cell.frames,
                                                  .regions = cell.regions,
                                                  .seed = kFirstSeed + seed,
                                                  .hash_seed = seed,
                                                  .stop = &StopRequested()},
                                                 cell.trace->pages, cell.trace->writes);
    if (result.stopped) return;
    cell.misses += static_cast<double>(result.misses) / static_cast<double>(seeds);
    cell.dirty_writes += static_cast<double>(result.dirty_writes) / static_cast<double>(seeds);
  }
  cell.done = true;
}

/// A whole number if it is one.
Json MeanJson(double mean) {
  const double rounded = std::round(mean);
  return std::abs(mean - rounded) < 1e-6 ? Json(static_cast<uint64_t>(rounded)) : Json(mean);
}

// A warning if the regions would be so small that fewer are in use.
Json WarningsOf(const Cell& cell) {
  const RegionDivision division(cell.frames, cell.regions, cell.algorithm->entry().fewest_frames);
  if (division.active() == cell.regions) return Json::array();
  return {fmt::format("--regions={}: {} frames are enough for {} only", cell.regions, cell.frames,
                      CountOf(division.active(), "region"))};
}

Json ToRow(const Cell& cell, const std::vector<Cell>& cells, uint64_t seeds) {
  const auto requests = static_cast<double>(cell.trace->pages.size());
  std::optional<double> normalised;
  for (const Cell& other : cells) {
    if (other.done && other.trace == cell.trace && other.frames == cell.frames &&
        other.regions == cell.regions && other.algorithm->name() == "random") {
      normalised = other.misses / cell.misses;
    }
  }
  return {
      {"trace", *cell.path},
      {"replacement", cell.algorithm->ToString()},
      {"size", cell.frames},
      {"regions", cell.regions},
      {"seeds", seeds},
      {"requests", cell.trace->pages.size()},
      {"unique_pages", cell.trace->unique_pages},
      {"misses", MeanJson(cell.misses)},
      {"miss_ratio", cell.misses / requests},
      {"cache_speedup", requests / cell.misses},
      {"speedup_over_random", OrNull(normalised)},
      {"dirty_writes", cell.trace->writes.empty() ? Json(nullptr) : MeanJson(cell.dirty_writes)},
      {"warnings", WarningsOf(cell)}};
}

// Runs the cells on `jobs` threads, until a stop is requested.
void RunCells(std::vector<Cell>& cells, const Plan& plan) {
  Progress progress;
  std::atomic<size_t> next{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t i = 0; i < std::min<uint64_t>(plan.jobs, cells.size()); ++i) {
    actors.push_back(ThreadRuntime().Spawn("cachesim", [&] {
      while (!StopRequested()) {
        const size_t number = next.fetch_add(1);
        if (number >= cells.size()) return;
        progress.Show(
            fmt::format("{}/{} {}", number + 1, cells.size(), cells[number].algorithm->ToString()));
        RunCell(cells[number], plan.seeds);
      }
    }));
  }
}

std::vector<Cell> CellsOf(const Plan& plan, const std::vector<PageTrace>& traces) {
  std::vector<Cell> cells;
  for (size_t t = 0; t < traces.size(); ++t) {
    for (const CountOrShare& size : plan.sizes) {
      for (const uint32_t regions : plan.regions) {
        for (const ReplacementChoice& algorithm : plan.algorithms) {
          cells.push_back({.path = &plan.traces[t],
                           .trace = &traces[t],
                           .algorithm = &algorithm,
                           .frames = static_cast<uint32_t>(size.Of(traces[t].unique_pages)),
                           .regions = regions});
        }
      }
    }
  }
  return cells;
}

absl::StatusOr<std::vector<PageTrace>> ReadTraces(const Plan& plan) {
  std::vector<PageTrace> traces;
  for (const std::string& path : plan.traces) {
    LATCHKEY_ASSIGN_OR_RETURN(PageTrace trace, ReadPageTrace(path));
    traces.push_back(std::move(trace));
  }
  return traces;
}

absl::StatusOr<ExitCode> Run(const CacheSimFlags& flags) {
  LATCHKEY_ASSIGN_OR_RETURN(const Plan plan, MakePlan(flags));
  const absl::StatusOr<std::vector<PageTrace>> traces = ReadTraces(plan);
  std::vector<Json> rows;
  if (traces.ok()) {
    std::vector<Cell> cells = CellsOf(plan, *traces);
    RunCells(cells, plan);
    for (const Cell& cell : cells) {
      if (cell.done) rows.push_back(ToRow(cell, cells, plan.seeds));
    }
  } else if (!absl::IsCancelled(traces.status())) {
    return traces.status();
  }
  const size_t not_run = plan.cells() - rows.size();
  LATCHKEY_RETURN_IF_ERROR(WriteResults(flags.output, {.schema = kCacheSimSchema,
                                                       .database_path = ".",
                                                       .rows = rows,
                                                       .columns = CacheSimColumns(),
                                                       .interrupted = not_run > 0,
                                                       .not_run = not_run}));
  return not_run > 0 ? kExitInterrupted : kExitOk;
}

}  // namespace

std::span<const Column> CacheSimColumns() {
  static const std::vector<Column> columns = {
      {"trace", "/trace", ColumnFormat::kText, true},
      {"replacement", "/replacement", ColumnFormat::kText, true},
      {"size", "/size", ColumnFormat::kCount, true},
      {"regions", "/regions", ColumnFormat::kCount, true},
      {"seeds", "/seeds", ColumnFormat::kCount, true},
      {"misses", "/misses", ColumnFormat::kCount},
      {"miss ratio", "/miss_ratio", ColumnFormat::kPercent},
      {"cache speedup", "/cache_speedup", ColumnFormat::kNumber},
      {"speedup over random", "/speedup_over_random", ColumnFormat::kNumber},
      {"dirty writes", "/dirty_writes", ColumnFormat::kCount},
  };
  return columns;
}

int CacheSimCommand(const CacheSimFlags& flags) {
  const absl::StatusOr<ExitCode> code = Run(flags);
  return code.ok() ? *code : FailWith(code.status());
}

}  // namespace latchkey
