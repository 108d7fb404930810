#include "tools/layout_lab/lab_report.h"

#include <algorithm>
#include <array>

#include "tpcc-lite/report/device_time.h"
#include "tpcc-lite/report/measured_run.h"

namespace latchkey {
namespace {

Json Ratio(double part, double whole) { return whole > 0 ? Json(part / whole) : Json(nullptr); }

// Counters of the store and its device in the measured part.
class Differences {
 public:
  Differences(const LabConfig& config, const LabResult& result)
      : config_(config), result_(result), from_(result.begin.store), to_(result.end.store) {}

  double Of(uint64_t PageStoreStats::*counter) const {
    return static_cast<double>(to_.*counter - from_.*counter);
  }
  double Bytes(IoClass c) const {
    return static_cast<double>(to_.device.of(c).bytes - from_.device.of(c).bytes);
  }
  /// Device time of a class, ns: exact on simulated devices, else its share of the busy time.
  double Time(IoClass c) const {
    const IoClassStats &a = from_.device.of(c), &b = to_.device.of(c);
    return static_cast<double>(IsSimulated() ? b.service - a.service : b.busy - a.busy);
  }
  double Elapsed() const { return static_cast<double>(result_.end.time - result_.begin.time); }
  bool IsSimulated() const { return config_.device.is_simulated(); }

  /// Device time per user write, in page writes (thesis 6.1).
  Json WriteCost() const {
    double time = Time(IoClass::kSegmentRead) + Time(IoClass::kProtection) +
                  Of(&PageStoreStats::protection_sync_ns);
    for (const IoClass c : kSlotWrites) time += Time(c);
    return Ratio(time, Of(&PageStoreStats::user_page_writes) * result_.costs.page_write_ns);
  }
  Json WriteAmplification() const {
    double bytes = Of(&PageStoreStats::protection_bytes) + Of(&PageStoreStats::meta_bytes_written);
    for (const IoClass c : kSlotWrites) bytes += Bytes(c);
    return Ratio(bytes, Of(&PageStoreStats::user_page_writes) * config_.store.page_size);
  }
  Json DeviceWriteAmplification() const {
    return OrNull(FlashAmplification(from_.device.medium, to_.device.medium));
  }
  /// The share of the time in which a disk of the device has nothing to do.
  Json Idle() const {
    double busy = static_cast<double>(to_.device.busy - from_.device.busy);
    if (config_.device.is_array()) {
      busy = 0;
      for (size_t c = 0; c < kIoClasses; ++c) busy += Time(static_cast<IoClass>(c));
      busy /= config_.device.disks;
    }
    if (!config_.device.takes_time()) return nullptr;
    return Elapsed() > 0 ? Json(1 - std::min(1.0, busy / Elapsed())) : Json(nullptr);
  }
  Json CleaningUtilization() const {
    return Ratio(Of(&PageStoreStats::emptied_live_pages), Of(&PageStoreStats::emptied_slots));
  }
  Json HotWriteProportion() const {
    return Ratio(Of(&PageStoreStats::appended_page_writes), Of(&PageStoreStats::user_page_writes));
  }
  Json Pages() const {
    const double holes = Of(&PageStoreStats::hole_page_writes);
    const double plugged = Of(&PageStoreStats::plugged_page_writes);
    return {{"in_place", Of(&PageStoreStats::in_place_page_writes) - holes},
            {"into_holes", holes},
            {"appended", Of(&PageStoreStats::appended_page_writes)},
            {"moved", Of(&PageStoreStats::cleaner_page_writes) - plugged},
            {"plugged", plugged},
            {"read_by_cleaner", Of(&PageStoreStats::cleaner_page_reads)},
            {"protected", Of(&PageStoreStats::protected_page_writes)}};
  }
  Json DeviceTime() const {
    const auto seconds = [&](IoClass c) { return Time(c) / kNanosPerSecond; };
    return {
        {"page_read", seconds(IoClass::kPageRead)},
        {"page_write", seconds(IoClass::kPageWrite)},
        {"plug_write", seconds(IoClass::kPlugWrite)},
        {"segment_read", seconds(IoClass::kSegmentRead)},
        {"segment_write", seconds(IoClass::kSegmentWrite) + seconds(IoClass::kSegmentPartWrite)},
        {"protection", seconds(IoClass::kProtection)},
        {"protection_sync", Of(&PageStoreStats::protection_sync_ns) / kNanosPerSecond},
        {"meta", seconds(IoClass::kMeta)}};
  }

 private:
  const LabConfig& config_;
  const LabResult& result_;
  const PageStoreStats &from_, &to_;
};

Json Samples(const LabResult& result) {
  Json samples = Json::array();
  for (const LabSample& sample : result.samples) {
    samples.push_back(
        {{"end_s", sample.end_s}, {"seconds", sample.seconds}, {"operations", sample.operations}});
  }
  return samples;
}

void AddMeasured(const LabConfig& config, const LabResult& result, Json& row) {
  const Differences d(config, result);
  const PageStoreStats& end = result.end.store;
  const auto reads = static_cast<double>(result.end.reads - result.begin.reads);
  const auto writes = static_cast<double>(result.end.writes - result.begin.writes);
  const double seconds = d.Elapsed() / kNanosPerSecond;
  row["segment_bytes"] = result.segment_bytes;
  row["file_bytes"] = result.file_bytes;
  row["effective_space_utilization"] = end.effective_space_utilization;
  row["throughput"] = Ratio(reads + writes, seconds);
  row["page_reads_per_s"] = Ratio(reads, seconds);
  row["page_writes_per_s"] = Ratio(writes, seconds);
  row["measured_reads_per_write"] = Ratio(reads, writes);
  row["write_cost"] = d.WriteCost();
  row["write_amplification"] = d.WriteAmplification();
  row["device_write_amplification"] = d.DeviceWriteAmplification();
  row["cleaning_utilization"] = d.CleaningUtilization();
  row["moves_per_write"] = Ratio(d.Of(&PageStoreStats::cleaner_page_writes), writes);
  row["hot_page_proportion"] = OrNull(end.hot_page_proportion);
  row["hot_write_proportion"] = d.HotWriteProportion();
  row["segment_io_efficiency"] = result.costs.eta() > 0 ? Json(result.costs.eta()) : Json(nullptr);
  row["device_time_us"] = CostsToJson(result.costs);
  row["idle_proportion"] = d.Idle();
  const Nanos longest = std::max(result.read_latency.max(), result.write_latency.max());
  row["longest_wait_ms"] = static_cast<double>(longest) / kNanosPerMilli;
  row["read_latency_us"] = LatencyToJson(Summarize(result.read_latency));
  row["write_latency_us"] = LatencyToJson(Summarize(result.write_latency));
  row["pages_written"] = d.Pages();
  row["device_time_s"] = d.DeviceTime();
  row["warmup"] = {{"writes_per_page", result.warmup_writes_per_page},
                   {"seconds", result.warmup_s},
                   {"not_steady", result.not_steady.empty() ? Json() : Json(result.not_steady)}};
  row["duration_s"] = seconds;
  const bool timed = config.device.is_simulated() && result.real_s > 0;
  row["host"] = {{"real_s", result.real_s},
                 {"times_real_time",
                  timed ? Json((result.warmup_s + seconds) / result.real_s) : Json(nullptr)}};
  row["interrupted"] = result.interrupted;
  row["samples"] = Samples(result);
}

void AddTruth(const LabConfig& config, const LabResult* result,
              const std::optional<LoadedCosts>& truth, Json& row) {
  row["true_segment_io_efficiency"] = nullptr;
  row["true_device_time_us"] = nullptr;
  if (result == nullptr || !truth) return;
  const double slots = result->segment_bytes / config.store.page_size;
  row["true_segment_io_efficiency"] = truth->eta();
  row["true_device_time_us"] = {{"page_write", truth->page_write_ns / 1e3},
                                {"segment_write", truth->segment_write_ns * slots / 1e3}};
}

}  // namespace

Json DescribeLab(const LabConfig& config) {
  const bool array = config.device.is_array();
  const LabWorkloadInfo& workload = config.workload.entry();
  return {
      {"device", CanonicalDeviceSpec(config.device)},
      {"disks", array ? Json(config.device.disks) : Json(nullptr)},
      {"raid", array ? Json(kRaidLevels[static_cast<size_t>(config.device.raid)]) : Json(nullptr)},
      {"virtual_time", config.device.is_simulated()},
      {"layout", config.store.layout.ToString()},
      {"segment_cleaning", config.store.segment_cleaning.ToString()},
      {"page_compression", config.store.page_compression.ToString()},
      {"compressible", config.compressible},
      {"workload", config.workload.ToString()},
      {"users", config.users},
      {"reads_per_write", workload.sets_reads ? Json(nullptr) : Json(config.reads_per_write)},
      {"page_size", config.store.page_size},
      {"segment_size",
       config.store.segment_size == 0 ? Json("auto") : Json(config.store.segment_size)},
      {"data_bytes", config.pages * config.store.page_size},
      {"pages", config.pages},
      {"space_utilization", config.store.space_utilization},
      {"durability", config.journal ? "group" : "none"},
      {"seed", config.store.seed}};
}

void AddLabFigures(const LabConfig& config, const LabResult* result,
                   const std::optional<LoadedCosts>& truth, Json& row) {
  if (result != nullptr) {
    AddMeasured(config, *result, row);
  } else {
    for (const std::string& pointer : LabFigures()) row[pointer.substr(1)] = nullptr;
    row["interrupted"] = false;
    row["samples"] = Json::array();
  }
  AddTruth(config, result, truth, row);
  row["relative_to_overwrite"] = nullptr;
}

void AddRelativeToOverwrite(std::span<const std::string> keys, std::vector<Json>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t base = 0; base < rows.size(); ++base) {
      if (keys[base] != keys[i] || rows[base].at("layout") != "overwrite") continue;
      const Json &rate = rows[i].at("throughput"), &overwrite = rows[base].at("throughput");
      if (!rate.is_number() || !overwrite.is_number()) continue;
      rows[i]["relative_to_overwrite"] = Ratio(rate.get<double>(), overwrite.get<double>());
    }
  }
}

std::span<const std::string> LabFigures() {
  static const auto* const figures = new std::array<std::string, 6>{"/throughput",
                                                                    "/write_cost",
                                                                    "/write_amplification",
                                                                    "/cleaning_utilization",
                                                                    "/segment_io_efficiency",
                                                                    "/longest_wait_ms"};
  return *figures;
}

std::span<const Column> LabColumns() {
  using enum ColumnFormat;
  static const auto* const columns = new std::vector<Column>{
      {"layout", "/layout", kText, true},
      {"device", "/device", kText, true},
      {"workload", "/workload", kText, true},
      {"users", "/users", kCount, true},
      {"reads per write", "/reads_per_write", kNumber, true},
      {"page size", "/page_size", kBytes, true},
      {"segment size", "/segment_size", kText, true},
      {"segment", "/segment_bytes", kBytes, true},
      {"data", "/data_bytes", kBytes, true},
      {"u_d", "/space_utilization", kNumber, true},
      {"durability", "/durability", kText, true},
      {"torn-write protection", "/torn_write_protection", kText, true},
      {"seed", "/seed", kText, true},
      {"segment cleaning", "/segment_cleaning", kText, true},
      {"compression", "/page_compression", kText, true},
      {"compressible", "/compressible", kPercent, true},
      {"effective u_d", "/effective_space_utilization", kNumber},
      {"pages/s", "/throughput", kCount},
      {"of overwrite", "/relative_to_overwrite", kNumber},
      {"write cost", "/write_cost", kNumber},
      {"write ampl.", "/write_amplification", kNumber},
      {"flash ampl.", "/device_write_amplification", kNumber},
      {"u", "/cleaning_utilization", kNumber},
      {"hot pages", "/hot_page_proportion", kPercent},
      {"hot writes", "/hot_write_proportion", kPercent},
      {"eta", "/segment_io_efficiency", kNumber},
      {"true eta", "/true_segment_io_efficiency", kNumber},
      {"idle", "/idle_proportion", kPercent},
      {"longest wait ms", "/longest_wait_ms", kNumber},
      {"error", "/error", kText},
  };
  return *columns;
}

}  // namespace latchkey
