#include "tools/layout_lab/lab_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/runtime/simulated_runtime.h"
#include "tools/layout_lab/lab_users.h"
#include "tools/layout_lab/steady_state.h"
#include "tpcc-lite/kv/virtual_time.h"

namespace latchkey {
namespace {

constexpr double kIntervalsPerPass =
    4;                       // intervals in which as many pages are written as there are
constexpr int kSamples = 8;  // of the measured part
constexpr uint32_t kLoadDepth = 64;

absl::StatusOr<std::unique_ptr<SegmentStore>> OpenStore(Runtime& runtime, const LabConfig& config) {
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BlockDevice> device,
                            OpenDeviceOf(runtime, config.device, config.path));
  std::unique_ptr<BlockDevice> journal;
  if (config.journal) {
    LATCHKEY_ASSIGN_OR_RETURN(
        journal, OpenDeviceOf(runtime, config.device.OfOneDisk(), config.path + ".map"));
  }
  LATCHKEY_ASSIGN_OR_RETURN(
      OpenedSegmentStore opened,
      OpenSegmentStore(runtime, std::move(device), std::move(journal), config.store));
  return std::move(opened.store);
}

// Writes every page once, in the order of the ids.
absl::StatusOr<std::vector<PageId>> Load(SegmentStore& store, uint64_t pages, double compressible,
                                         const std::atomic<bool>* stop) {
  std::vector<PageId> ids(pages);
  for (PageId& id : ids) {
    LATCHKEY_ASSIGN_OR_RETURN(id, store.AllocatePage());
  }
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageWriter> writer, store.NewWriter(kLoadDepth));
  AlignedBuffer page(store.page_size());
  FillLabPage(page.span(), /*seed=*/0, compressible);
  for (const PageId id : ids) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) break;
    const PageWrite write{id, page.data()};
    size_t accepted = 0;
    LATCHKEY_RETURN_IF_ERROR(writer->Submit({&write, 1}, &accepted));
    if (writer->outstanding() >= kLoadDepth) {
      LATCHKEY_RETURN_IF_ERROR(writer->Wait(kLoadDepth / 2));
    }
  }
  LATCHKEY_RETURN_IF_ERROR(writer->Wait(0));
  LATCHKEY_RETURN_IF_ERROR(store.Flush());
  return ids;
}

LabInterval IntervalOf(const LabTotals& from, const LabTotals& to) {
  const PageStoreStats& a = from.store;
  const PageStoreStats& b = to.store;
  LabInterval interval;
  const double seconds = static_cast<double>(to.time - from.time) / kNanosPerSecond;
  const auto operations = static_cast<double>(to.reads + to.writes - from.reads - from.writes);
  interval.operations_per_s = seconds > 0 ? operations / seconds : 0;
  interval.user_writes = static_cast<double>(to.writes - from.writes);
  const uint64_t moved = b.cleaner_page_writes - a.cleaner_page_writes;
  const uint64_t plugged = b.plugged_page_writes - a.plugged_page_writes;
  interval.log_slots =
      static_cast<double>(b.appended_page_writes - a.appended_page_writes + moved - plugged);
  interval.moves_per_write =
      interval.user_writes > 0 ? static_cast<double>(moved) / interval.user_writes : 0;
  const uint64_t emptied = b.emptied_slots - a.emptied_slots;
  if (emptied > 0) {
    interval.cleaning_utilization =
        static_cast<double>(b.emptied_live_pages - a.emptied_live_pages) /
        static_cast<double>(emptied);
  }
  interval.hot_page_proportion = b.hot_page_proportion.value_or(0);
  return interval;
}

class LabRun {
 public:
  LabRun(Runtime& runtime, const LabConfig& config,
         absl::FunctionRef<void(const std::string&)> show)
      : runtime_(runtime), config_(config), show_(show) {}

  absl::StatusOr<LabResult> Run();

 private:
  LabTotals Totals() const {
    return {runtime_.Now(), users_->reads(), users_->writes(), store_->stats()};
  }
  // Waits for so many more writes, and returns the totals then.
  LabTotals RunFor(double writes) {
    // On threads the users may be ahead of the actor that waits for them.
    wanted_ = std::max(wanted_, static_cast<double>(users_->writes())) + std::max(1.0, writes);
    users_->AwaitWrites(static_cast<uint64_t>(wanted_));
    return Totals();
  }
  double pages() const { return static_cast<double>(config_.pages); }
  void WarmUp();
  void Measure();

  Runtime& runtime_;
  const LabConfig& config_;
  const absl::FunctionRef<void(const std::string&)> show_;
  std::unique_ptr<SegmentStore> store_;
  std::unique_ptr<LabUsers> users_;
  double wanted_ = 0;  // writes, since the users began
  LabResult result_;
};

void LabRun::WarmUp() {
  const LabTotals start = Totals();
  const double slots = pages() / start.store.effective_space_utilization;
  const std::unique_ptr<Separator> separator = config_.store.layout.Make(runtime_);
  SteadyState steady(
      {.free_slots = slots - pages(),
       .tuning_interval = static_cast<double>(separator->TuningInterval(config_.pages))});
  const double most = config_.warmup.value_or(config_.budget) * pages();
  LabTotals before = start;
  while (wanted_ < most && !users_->ended()) {
    const LabTotals now = RunFor(std::min(pages() / kIntervalsPerPass, most - wanted_));
    const LabInterval interval = IntervalOf(before, now);
    steady.Add(interval);
    before = now;
    result_.not_steady = steady.WhyNot();
    show_(fmt::format("warming up, {:.1f} writes a page, {:.0f} operations/s", wanted_ / pages(),
                      interval.operations_per_s));
    if (!config_.warmup && result_.not_steady.empty()) break;
  }
  result_.warmup_writes_per_page = wanted_ / pages();
  result_.warmup_s = static_cast<double>(before.time - start.time) / kNanosPerSecond;
}

void LabRun::Measure() {
  store_->ResetExtremes();
  users_->Measure();
  result_.begin = result_.end = Totals();
  for (int i = 0; i < kSamples && !users_->ended(); ++i) {
    const LabTotals before =
        std::exchange(result_.end, RunFor(config_.measured * pages() / kSamples));
    const LabTotals& now = result_.end;
    const double seconds = static_cast<double>(now.time - before.time) / kNanosPerSecond;
    const uint64_t operations = now.reads + now.writes - before.reads - before.writes;
    result_.samples.push_back(
        {.end_s = static_cast<double>(now.time - result_.begin.time) / kNanosPerSecond,
         .seconds = seconds,
         .operations = operations});
    show_(fmt::format("measuring, {:.0f} operations/s",
                      seconds > 0 ? static_cast<double>(operations) / seconds : 0));
  }
}

absl::StatusOr<LabResult> LabRun::Run() {
  LATCHKEY_ASSIGN_OR_RETURN(store_, OpenStore(runtime_, config_));
  show_("loading");
  LATCHKEY_ASSIGN_OR_RETURN(std::vector<PageId> ids,
                            Load(*store_, config_.pages, config_.compressible, config_.stop));
  std::unique_ptr<LabStream> stream =
      config_.workload.Make(LabStreamConfig{.pages = config_.pages,
                                            .reads_per_write = config_.reads_per_write,
                                            .seed = config_.store.seed,
                                            .trace = config_.trace});
  users_ = std::make_unique<LabUsers>(runtime_, *store_, std::move(ids), std::move(stream),
                                      config_.compressible, config_.stop);
  users_->Start(config_.users);
  WarmUp();
  Measure();
  result_.interrupted = users_->ended();
  LATCHKEY_RETURN_IF_ERROR(users_->Stop());
  result_.read_latency = users_->read_latency();
  result_.write_latency = users_->write_latency();
  result_.segment_bytes = store_->segment_size();
  result_.file_bytes = result_.end.store.file_bytes;
  result_.costs = store_->measured_costs();
  users_.reset();
  store_.reset();
  return std::move(result_);
}

}  // namespace

uint64_t LabPages(const LabWorkloadChoice& workload, const PageTrace* trace, uint64_t pages) {
  return workload.entry().needs_trace ? trace->unique_pages : pages;
}

absl::StatusOr<LabResult> RunLayoutLab(const LabConfig& config,
                                       absl::FunctionRef<void(const std::string&)> show) {
  const Nanos start = ThreadRuntime().Now();
  absl::StatusOr<LabResult> result;
  if (config.device.is_simulated()) {
    SimulatedRuntime runtime(VirtualTimeOptions(config.store.seed));
    const absl::Status ran = runtime.Run([&] { result = LabRun(runtime, config, show).Run(); });
    LATCHKEY_RETURN_IF_ERROR(ran);
  } else {
    result = LabRun(ThreadRuntime(), config, show).Run();
  }
  if (result.ok()) {
    result->real_s = static_cast<double>(ThreadRuntime().Now() - start) / kNanosPerSecond;
  }
  return result;
}

}  // namespace latchkey
