#include "tools/layout_lab/lab_workload.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "tools/layout_lab/page_chooser.h"
#include "tools/layout_lab/write_back_filter.h"

namespace latchkey {
namespace {

using Parameters = std::span<const double>;

// Reads and writes of pages that one chooser draws, in random order.
class MixedStream final : public LabStream {
 public:
  MixedStream(const LabStreamConfig& config, std::unique_ptr<PageChooser> pages)
      : rng_(MixHash(config.seed)),
        write_share_(1 / (1 + config.reads_per_write)),
        pages_(std::move(pages)) {}
  LabOperation Next() override {
    const auto page = static_cast<uint32_t>(pages_->Next(rng_));
    return {page, write_share_ >= 1 || rng_.Unit() < write_share_};
  }

 private:
  Rng rng_;
  const double write_share_;
  const std::unique_ptr<PageChooser> pages_;
};

// Accesses to rows: each changes its page.
class RowChanges final : public LabStream {
 public:
  RowChanges(const LabStreamConfig& config, std::unique_ptr<PageChooser> pages)
      : rng_(MixHash(config.seed)), pages_(std::move(pages)) {}
  LabOperation Next() override { return {static_cast<uint32_t>(pages_->Next(rng_)), true}; }

 private:
  Rng rng_;
  const std::unique_ptr<PageChooser> pages_;
};

// A trace, again and again.
class TraceRequests final : public LabStream {
 public:
  explicit TraceRequests(const PageTrace& trace) : trace_(trace) {}
  LabOperation Next() override {
    const size_t request = next_;
    next_ = next_ + 1 == trace_.pages.size() ? 0 : next_ + 1;
    return {trace_.pages[request], !trace_.writes.empty() && trace_.writes[request]};
  }

 private:
  const PageTrace& trace_;
  size_t next_ = 0;
};

// What an LRU cache of `percent` % of the pages lets through.
class FilteredStream final : public LabStream {
 public:
  FilteredStream(const LabStreamConfig& config, std::unique_ptr<LabStream> accesses, double percent)
      : accesses_(std::move(accesses)),
        filter_(static_cast<uint32_t>(config.pages),
                static_cast<uint32_t>(
                    std::max(1.0, static_cast<double>(config.pages) * percent / 100))) {}
  LabOperation Next() override {
    if (waiting_) return *std::exchange(waiting_, std::nullopt);
    for (;;) {
      const LabOperation access = accesses_->Next();
      const WriteBackFilter::Effect effect = filter_.Access(access.page, access.write);
      if (effect.write) {
        if (effect.read) waiting_ = LabOperation{*effect.read, false};
        return {*effect.write, true};
      }
      if (effect.read) return {*effect.read, false};
    }
  }

 private:
  const std::unique_ptr<LabStream> accesses_;
  WriteBackFilter filter_;
  std::optional<LabOperation> waiting_;
};

std::unique_ptr<LabStream> Mixed(const LabStreamConfig& config,
                                 std::unique_ptr<PageChooser> pages) {
  return std::make_unique<MixedStream>(config, std::move(pages));
}

constexpr ChoiceParameter Percent(std::string_view name, double value, double min, double max,
                                  std::string_view meaning) {
  return {name, value, min, max, ParameterKind::kNumber, meaning};
}

constexpr ChoiceParameter kSkew[] = {
    Percent("writes", 90, 0.1, 99.9, "% of the requests, to hot pages"),
    Percent("pages", 10, 0.1, 99.9, "% of the pages, hot ones"),
};
constexpr ChoiceParameter kSelfSimilar[] = {
    Percent("writes", 80, 1, 99, "% of the requests"),
    Percent("pages", 20, 1, 99, "% of the pages, the hottest ones, which get them"),
};
constexpr ChoiceParameter kZipf[] = {
    {"theta", 0.99, 0.01, 9, ParameterKind::kNumber, "exponent of the frequency of a rank"},
};
constexpr ChoiceParameter kMoving[] = {
    kSkew[0],
    kSkew[1],
    {"lap", 40, 0.1, 1e6, ParameterKind::kNumber,
     "requests per page of the store until the hot set has passed over all pages once"},
};
constexpr ChoiceParameter kCache =
    Percent("cache", 10, 0.01, 99, "% of the pages that the LRU cache in front holds");
constexpr ChoiceParameter kNuRand[] = {
    kCache,
    {"rows", 20, 1, 4096, ParameterKind::kWhole, "of a page"},
};
constexpr ChoiceParameter kTrace[] = {kCache};

constexpr LabWorkloadInfo kWorkloads[] = {
    {{"uniform", "all pages alike", {}},
     false,
     false,
     [](const LabStreamConfig& config, Parameters) {
       return Mixed(config, NewUniformPages(config.pages));
     }},
    {{"hotcold", "hot and cold pages, alike within each part", kSkew},
     false,
     false,
     [](const LabStreamConfig& config, Parameters p) {
       return Mixed(config, NewHotColdPages(config.pages, p[0], p[1], config.seed));
     }},
    {{"knuth", "self-similar skew", kSelfSimilar},
     false,
     false,
     [](const LabStreamConfig& config, Parameters p) {
       return Mixed(config, NewKnuthPages(config.pages, p[0], p[1], config.seed));
     }},
    {{"zipf", "frequency by rank", kZipf},
     false,
     false,
     [](const LabStreamConfig& config, Parameters p) {
       return Mixed(config, NewZipfPages(config.pages, p[0], config.seed));
     }},
    {{"moving", "a hot set that moves on", kMoving},
     false,
     false,
     [](const LabStreamConfig& config, Parameters p) {
       return Mixed(config, NewMovingHotSet(config.pages, p[0], p[1], p[2]));
     }},
    {{"nurand", "TPC-C's changes of rows behind an LRU cache", kNuRand},
     false,
     true,
     [](const LabStreamConfig& config, Parameters p) -> std::unique_ptr<LabStream> {
       auto rows = std::make_unique<RowChanges>(
           config, NewNuRandPages(config.pages, static_cast<uint64_t>(p[1]), config.seed));
       return std::make_unique<FilteredStream>(config, std::move(rows), p[0]);
     }},
    {{"trace", "a recorded trace behind an LRU cache", kTrace},
     true,
     true,
     [](const LabStreamConfig& config, Parameters p) -> std::unique_ptr<LabStream> {
       return std::make_unique<FilteredStream>(
           config, std::make_unique<TraceRequests>(*config.trace), p[0]);
     }},
    {{"blocks", "a recorded trace as it is: every request goes to the store", {}},
     true,
     true,
     [](const LabStreamConfig& config, Parameters) -> std::unique_ptr<LabStream> {
       return std::make_unique<TraceRequests>(*config.trace);
     }},
};

}  // namespace

const Registry<LabWorkloadInfo>& LabWorkloads() {
  static constexpr Registry<LabWorkloadInfo> registry("workload", kWorkloads);
  return registry;
}

absl::Status CheckLabWorkload(const LabWorkloadChoice& workload, const LabStreamConfig& config) {
  const Parameters p = workload.values();
  if (workload.name() == "knuth" && p[0] < p[1]) {
    return InvalidArgument(
        "knuth: writes is {} and pages {}, but the hottest pages get at least their share: give "
        "writes from {} to 99",
        p[0], p[1], p[1]);
  }
  if (workload.name() == "nurand" && config.pages > kMostNuRandRows / static_cast<uint64_t>(p[1])) {
    return InvalidArgument(
        "nurand: {} pages of {} rows, but at most {} rows are possible; give "
        "fewer rows or a smaller --data-size",
        config.pages, p[1], kMostNuRandRows);
  }
  if (config.trace != nullptr &&
      std::none_of(config.trace->writes.begin(), config.trace->writes.end(),
                   [](bool write) { return write; })) {
    return InvalidArgument(
        "{}: no request of the trace writes, so no layout has anything to do; give a trace whose "
        "write flags (bit 63) are set, or one recorded by --trace",
        workload.name());
  }
  return absl::OkStatus();
}

}  // namespace latchkey
