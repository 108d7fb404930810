#include "tools/doctor/doctor_report.h"

#include <fmt/format.h>

#include <vector>

#include "tpcc-lite/report/environment.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {
namespace {

struct Row {
  std::string what;
  const Timing* timing;
};

std::vector<Row> RowsOf(const DeviceFigures& figures) {
  std::vector<Row> rows;
  const auto pages = [&](const char* verb, const std::vector<Timing>& timings) {
    for (const Timing& timing : timings) {
      rows.push_back({fmt::format("{} 4 KiB, {} in flight", verb, timing.depth), &timing});
    }
  };
  pages("read", figures.page_reads);
  pages("write", figures.page_writes);
  for (const Timing& timing : figures.segment_writes) {
    rows.push_back(
        {fmt::format("write segments of {} KiB, {} in flight", timing.bytes >> 10, timing.depth),
         &timing});
  }
  rows.push_back({"sync after a write of 4 KiB", &figures.sync_after_write});
  rows.push_back({"sync after no write", &figures.empty_sync});
  return rows;
}

std::string Cell(double value, ColumnFormat format) { return FormatValue(Json(value), format); }

std::string TableOf(const DeviceFigures& figures) {
  std::vector<std::vector<std::string>> lines = {{"", "per second", "MB/s", "median", "99 %"}};
  for (const Row& row : RowsOf(figures)) {
    const Timing& timing = *row.timing;
    lines.push_back({row.what, Cell(timing.per_second, ColumnFormat::kCount),
                     timing.bytes == 0 ? "-" : fmt::format("{:.1f}", timing.mb_per_second()),
                     Cell(timing.p50_us, ColumnFormat::kMicros),
                     Cell(timing.p99_us, ColumnFormat::kMicros)});
  }
  return AlignCells(lines, {false, true, true, true, true});
}

std::string DescribePlace(const Examined& examined) {
  const DeviceFacts& facts = examined.facts;
  std::string text =
      facts.mount.file_system.empty() ? "file system not known" : facts.mount.file_system;
  if (!facts.mount.source.empty()) text += " on " + facts.mount.source;
  const BlockQueueFacts& queue = facts.queue;
  if (queue.name.empty()) return text + ", block device not known";
  text += fmt::format(", disk {}", queue.name);
  if (queue.has_volatile_cache.has_value()) {
    text += *queue.has_volatile_cache ? ", volatile cache" : ", no volatile cache";
  }
  if (queue.rotational.value_or(false)) text += ", says that it rotates";
  return text;
}

std::string Mark(Severity severity) {
  switch (severity) {
    case Severity::kGood:
      return "good     ";
    case Severity::kNote:
      return "note     ";
    case Severity::kWarning:
      break;
  }
  return "WARNING  ";
}

Severity SeverityOf(const SyncVerdict& verdict) {
  switch (verdict.kind) {
    case SyncVerdict::Kind::kDurable:
      return Severity::kGood;
    case SyncVerdict::Kind::kUnknown:
      return Severity::kNote;
    case SyncVerdict::Kind::kVolatile:
      break;
  }
  return Severity::kWarning;
}

const char* NameOf(SyncVerdict::Kind kind) {
  static constexpr const char* kNames[] = {"durable", "volatile", "unknown"};
  return kNames[static_cast<size_t>(kind)];
}

Json JsonOf(const Timing& timing) {
  return {{"depth", timing.depth},       {"bytes", timing.bytes},
          {"requests", timing.requests}, {"per_second", timing.per_second},
          {"p50_us", timing.p50_us},     {"p99_us", timing.p99_us}};
}

Json JsonOf(const std::vector<Timing>& timings) {
  Json list = Json::array();
  for (const Timing& timing : timings) list.push_back(JsonOf(timing));
  return list;
}

Json JsonOf(const DeviceFacts& facts) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {{"direct_io", facts.direct_io},
          {"description", facts.description},
          {"file_system", text(facts.mount.file_system)},
          {"source", text(facts.mount.source)},
          {"mount_options", text(facts.mount.options)},
          {"disk", text(facts.queue.name)},
          {"rotational", OrNull(facts.queue.rotational)},
          {"volatile_cache", OrNull(facts.queue.has_volatile_cache)},
          {"atomic_write_bytes", OrNull(facts.queue.atomic_write_bytes)}};
}

Json JsonOf(const DeviceFigures& figures) {
  const PageCosts& costs = figures.probe.costs;
  return {{"file_bytes", figures.file_bytes},
          {"fill_mb_per_second", figures.fill_mb_per_second},
          {"page_reads", JsonOf(figures.page_reads)},
          {"page_writes", JsonOf(figures.page_writes)},
          {"segment_writes", JsonOf(figures.segment_writes)},
          {"sync_after_write", JsonOf(figures.sync_after_write)},
          {"empty_sync", JsonOf(figures.empty_sync)},
          {"probe",
           {{"segment_bytes", figures.probe.segment_bytes},
            {"segment_io_efficiency", costs.eta()},
            {"page_write_ns", costs.page_write_ns},
            {"segment_write_ns_per_page", costs.segment_write_ns},
            {"page_read_ns", costs.page_read_ns},
            {"protection_ns", costs.protection_ns}}}};
}

}  // namespace

std::string DoctorText(const std::string& path, const Examined& examined,
                       const Diagnosis& diagnosis, size_t width) {
  std::string text = fmt::format("{}: {}\n", path, DescribePlace(examined));
  text += fmt::format("measured on a file of {} MiB{}, which was filled at {:.0f} MB/s\n\n",
                      examined.figures.file_bytes >> 20,
                      examined.is_small ? " (there is little space)" : "",
                      examined.figures.fill_mb_per_second);
  text += TableOf(examined.figures) + '\n';
  const auto add = [&](const std::string& line, size_t indent) {
    text += WrapText(line, width, indent) + '\n';
  };
  for (const Finding& finding : diagnosis.findings) add(Mark(finding.severity) + finding.text, 9);
  const SyncVerdict& sync = diagnosis.sync;
  add(fmt::format("{}a sync is {} ({}): {}", Mark(SeverityOf(sync)), NameOf(sync.kind),
                  sync.certainty, sync.reason),
      9);
  text += "\nsettings\n";
  for (const AdvisedSetting& setting : diagnosis.settings) {
    add(fmt::format("  {}={}: {}", setting.name, setting.value, setting.reason), 4);
  }
  return text;
}

Json DoctorJson(const std::string& path, const Examined& examined, const Diagnosis& diagnosis) {
  static constexpr const char* kSeverities[] = {"good", "note", "warning"};
  Json findings = Json::array(), settings = Json::array();
  for (const Finding& finding : diagnosis.findings) {
    findings.push_back(
        {{"severity", kSeverities[static_cast<size_t>(finding.severity)]}, {"text", finding.text}});
  }
  for (const AdvisedSetting& setting : diagnosis.settings) {
    settings.push_back(
        {{"name", setting.name}, {"value", setting.value}, {"reason", setting.reason}});
  }
  return {{"schema", kDoctorSchema},
          {"path", path},
          {"build", DescribeBuild()},
          {"host", DescribeHost(path)},
          {"device", JsonOf(examined.facts)},
          {"figures", JsonOf(examined.figures)},
          {"sync",
           {{"verdict", NameOf(diagnosis.sync.kind)},
            {"certainty", diagnosis.sync.certainty},
            {"reason", diagnosis.sync.reason}}},
          {"findings", findings},
          {"settings", settings}};
}

}  // namespace latchkey
