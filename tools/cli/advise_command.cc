#include "tools/cli/advise_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "layout/space/space_sizing.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"
#include "tools/advise/advise_report.h"
#include "tools/cli/advise_device.h"
#include "tools/cli/advise_input.h"
#include "tools/cli/experiment.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/settings.h"
#include "tools/cli/signals.h"
#include "tpcc-lite/report/environment.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostAdvisedUsers = 1024, kMostReplayed = 1 << 22;

// The flags that do not depend on the input, checked.
struct AdviseSettings {
  std::vector<double> space_utilizations;
  uint32_t users = 0;
  uint64_t replay = 0;  // pages; 0: none
  uint64_t seed = 0;
};

absl::StatusOr<AdviseSettings> ParseAdviseSettings(const AdviseFlags& flags) {
  AdviseSettings settings;
  LATCHKEY_RETURN_IF_ERROR(CheckOutputFile("json", flags.json));
  LATCHKEY_ASSIGN_OR_RETURN(const auto items,
                            SplitList("space-utilization", flags.space_utilization));
  for (const std::string& item : items) {
    LATCHKEY_ASSIGN_OR_RETURN(
        const double u_d,
        ParseNumber("space-utilization", item, kMinSpaceUtilization, kMaxSpaceUtilization));
    settings.space_utilizations.push_back(u_d);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t users,
                            ParseCount("users", flags.users, 1, kMostAdvisedUsers));
  settings.users = static_cast<uint32_t>(users);
  LATCHKEY_ASSIGN_OR_RETURN(settings.replay, ParseCount("replay", flags.replay, 0, kMostReplayed));
  if (settings.replay > 0 && settings.replay < kFewestLabPages) {
    return InvalidArgument("--replay={}: give 0 (no replay), or {} to {} pages", flags.replay,
                           kFewestLabPages, kMostReplayed);
  }
  LATCHKEY_ASSIGN_OR_RETURN(settings.seed, ParseCount("seed", flags.seed, 0, UINT64_MAX));
  return settings;
}

absl::StatusOr<bool> IsDurable(const AdviseFlags& flags, const AdviseInput& input) {
  if (flags.durability == "auto") return input.database && input.database->has_log;
  LATCHKEY_ASSIGN_OR_RETURN(const Durability durability, ParseDurability(flags.durability));
  return durability != Durability::kNone;
}

absl::StatusOr<uint32_t> AssumedPageBytes(const AdviseFlags& flags) {
  if (flags.page_size == "auto") return kDefaultPageSize;
  LATCHKEY_ASSIGN_OR_RETURN(const auto sizes, SplitList("page-size", flags.page_size));
  return ParsePowerOfTwo("page-size", sizes.front(), kMinPageSize, kMaxPageSize);
}

class Adviser {
 public:
  Adviser(const AdviseFlags& flags, const AdviseSettings& settings)
      : flags_(flags), settings_(settings) {}

  absl::Status Run();

 private:
  // Everything about the writes but their distribution.
  AdviceQuestion Question() const;
  absl::StatusOr<Advice> Advise(Advice advice, const LabWorkloadChoice* workload);
  absl::Status Replay(const LabWorkloadChoice& workload, Advice& advice);
  absl::StatusOr<std::vector<Advice>> AdviseAll();
  absl::Status Write(const std::vector<Advice>& all) const;
  void NoteLimits(Advice& advice) const;

  const AdviseFlags& flags_;
  const AdviseSettings settings_;
  AdviseInput input_;
  AdvisedDevice device_;
  bool durable_ = false;
  std::optional<TraceWrites> counted_;
  double reads_per_write_ = 0;
  uint64_t pages_ = 0;       // live ones, of the input
  uint32_t page_bytes_ = 0;  // of these
  Progress progress_;
};

AdviceQuestion Adviser::Question() const {
  return {.page_sizes = device_.page_sizes,
          .space_utilizations = settings_.space_utilizations,
          .data_bytes = pages_ * page_bytes_,
          .reads_per_write = reads_per_write_};
}

void Adviser::NoteLimits(Advice& advice) const {
  std::vector<std::string>& notes = advice.notes;
  if (counted_ && counted_->writes_per_page() < kFewestWritesPerPage) {
    notes.push_back(fmt::format(
        "The trace is too short to be steady: it writes each page {:.1f} times, of {:.0f} that are "
        "needed. A longer one may change the advice.",
        counted_->writes_per_page(), kFewestWritesPerPage));
  }
  if (!counted_) {
    notes.push_back(
        "The file does not say how often each page is written: the advice is for the distribution "
        "above. --trace=FILE, with page requests of this database, replaces the assumption.");
  }
  if (input_.page_bytes == 0 && flags_.page_size == "auto") {
    notes.push_back(
        fmt::format("The trace does not say how large its pages are: {} bytes are assumed. "
                    "--page-size says it.",
                    kDefaultPageSize));
  }
  if (device_.page_sizes.size() > 1) {
    notes.push_back(
        "Page sizes are compared as if each request stayed a request of one page: how many "
        "requests "
        "a larger page unites is not known.");
  }
  if (input_.database && advice.may_change_page_size) {
    notes.push_back("The page size of a database is fixed: another one needs dump and load.");
  }
}

absl::Status Adviser::Replay(const LabWorkloadChoice& workload, Advice& advice) {
  const AdviceChoice& choice = advice.choice;
  std::vector<Candidate> candidates = {advice.candidates[choice.overwrite]};
  if (advice.candidates[choice.best].way->layout != "overwrite") {
    candidates.push_back(advice.candidates[choice.best]);
  }
  if (choice.runner_up) candidates.push_back(advice.candidates[*choice.runner_up]);
  ReplayPlan plan{.device = device_.ForReplay(candidates.front().pages),
                  .workload = workload,
                  .pages = std::min(settings_.replay,
                                    advice.question.PagesOf(candidates.front().pages.page_bytes)),
                  .reads_per_write = reads_per_write_,
                  .users = settings_.users,
                  .journal = durable_,
                  .seed = settings_.seed,
                  .stop = &StopRequested()};
  PageTrace sample;
  if (counted_) {
    // The sample has cold pages in proportion: those that the trace lacks.
    const double traced =
        static_cast<double>(counted_->traced_pages) / static_cast<double>(counted_->pages);
    const auto of_trace =
        static_cast<uint64_t>(std::ceil(static_cast<double>(plan.pages) * traced));
    sample = SamplePages(input_.requests, of_trace, settings_.seed);
    plan.trace = &sample;
    plan.pages = std::max<uint64_t>(plan.pages, sample.unique_pages);
    const absl::Status usable = CheckLabWorkload(workload, {.trace = plan.trace});
    if (!usable.ok()) {
      advice.notes.push_back("Nothing was replayed: no request of the sample writes.");
      return absl::OkStatus();
    }
  }
  if (plan.pages < kFewestLabPages) {
    advice.notes.push_back(fmt::format("Nothing was replayed: {} pages are too few, {} are needed.",
                                       plan.pages, kFewestLabPages));
    return absl::OkStatus();
  }
  LATCHKEY_ASSIGN_OR_RETURN(
      advice.replays, ReplaySamples(plan, advice.question, candidates,
                                    [this](const std::string& what) { progress_.Show(what); }));
  advice.replayed_pages = plan.pages;
  return absl::OkStatus();
}

absl::StatusOr<Advice> Adviser::Advise(Advice advice, const LabWorkloadChoice* workload) {
  advice.candidates = PredictAll(advice.question);
  advice.choice = Choose(advice.candidates);
  advice.may_change_page_size =
      device_.page_sizes.size() > 1 ||
      (input_.page_bytes != 0 && device_.page_sizes[0].page_bytes != input_.page_bytes);
  NoteLimits(advice);
  if (settings_.replay == 0) return advice;
  if (workload == nullptr) {
    advice.notes.push_back("Nothing was replayed: the layout laboratory has no such workload.");
    return advice;
  }
  const absl::Status replayed = Replay(*workload, advice);
  progress_.Clear();
  LATCHKEY_RETURN_IF_ERROR(replayed);
  return advice;
}

absl::StatusOr<std::vector<Advice>> Adviser::AdviseAll() {
  std::vector<Advice> all;
  if (counted_) {
    Advice advice;
    advice.workload = "of " + input_.trace_path;
    advice.counted = counted_;
    advice.question = Question();
    advice.question.counted = counted_->foreseen;
    const LabWorkloadChoice blocks = LabWorkloads().Named("blocks");
    LATCHKEY_ASSIGN_OR_RETURN(all.emplace_back(), Advise(std::move(advice), &blocks));
    return all;
  }
  for (const WriteDistribution& distribution : input_.distributions) {
    Advice advice;
    advice.workload = distribution.ToString();
    advice.question = Question();
    advice.question.distribution = distribution;
    const absl::StatusOr<LabWorkloadChoice> workload =
        LabWorkloads().Parse(distribution.ToString());
    LATCHKEY_ASSIGN_OR_RETURN(all.emplace_back(),
                              Advise(std::move(advice), workload.ok() ? &*workload : nullptr));
  }
  return all;
}

absl::Status Adviser::Write(const std::vector<Advice>& all) const {
  if (flags_.json != "-") {
    const size_t width = TableWidth();
    std::string text = WrapText(DescribeInput(flags_, input_), width, 0) + '\n';
    text += DescribeDevice(device_, width);
    if (durable_) {
      text += WrapText("writes in place go through the doublewrite area first", width, 2) + '\n';
    }
    for (const Advice& advice : all) text += AdviceText(advice, width);
    std::fputs(text.c_str(), stdout);
  }
  if (flags_.json.empty()) return absl::OkStatus();
  Json advice = Json::array();
  for (const Advice& one : all) advice.push_back(AdviceJson(one));
  const Json document = {
      {"schema", kAdviseSchema},
      {"input", flags_.input},
      {"build", DescribeBuild()},
      {"host", DescribeHost(".")},
      {"trace", input_.trace_path.empty() ? Json(nullptr) : Json(input_.trace_path)},
      {"cache_pages", input_.cache_frames},
      {"database", JsonOf(input_.database)},
      {"device", JsonOf(device_)},
      {"durability", durable_ ? "group" : "none"},
      {"users", settings_.users},
      {"seed", settings_.seed},
      {"advice", advice}};
  return WriteTextFile(flags_.json, JsonFileText(document));
}

absl::Status Adviser::Run() {
  LATCHKEY_ASSIGN_OR_RETURN(input_, ReadAdviseInput(flags_));
  LATCHKEY_ASSIGN_OR_RETURN(durable_, IsDurable(flags_, input_));
  pages_ = input_.database ? input_.database->pages() : 0;
  reads_per_write_ = input_.reads_per_write;
  if (!input_.trace_path.empty()) {
    counted_ = CountWrites(input_.requests, pages_);
    pages_ = counted_->pages;
    reads_per_write_ = counted_->reads_per_write();
  }
  page_bytes_ = input_.page_bytes;
  if (page_bytes_ == 0) {
    // The first page size that the user names is that of the trace.
    LATCHKEY_ASSIGN_OR_RETURN(page_bytes_, AssumedPageBytes(flags_));
  }
  AdvisedDeviceQuestion question{
      .page_sizes = flags_.page_size == "auto" ? std::to_string(page_bytes_) : flags_.page_size,
      .doublewrite = durable_,
      .data_bytes = pages_ * page_bytes_,
      .load = {
          .users = settings_.users, .reads_per_write = reads_per_write_, .seed = settings_.seed}};
  if (input_.database) question.eta = input_.database->eta;
  progress_.Show("finds the costs of the device");
  absl::StatusOr<AdvisedDevice> device = FindAdvisedDevice(flags_, question);
  progress_.Clear();
  LATCHKEY_RETURN_IF_ERROR(device.status());
  device_ = *std::move(device);
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<Advice> all, AdviseAll());
  return Write(all);
}

}  // namespace

int AdviseCommand(const AdviseFlags& flags) {
  const absl::StatusOr<AdviseSettings> settings = ParseAdviseSettings(flags);
  if (!settings.ok()) return FailWith(settings.status());
  return Finish(Adviser(flags, *settings).Run());
}

}  // namespace latchkey
