#include "tools/cli/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tpcc-lite/report/table.h"

namespace latchkey {
namespace {

constexpr size_t kMostBars = 60;
constexpr size_t kLabel = 16;  // columns of a line's name
constexpr size_t kValue = 14;

void Keep(double value, std::deque<double>& values) {
  values.push_back(value);
  if (values.size() > kMostBars) values.pop_front();
}

/// The first `columns` code points.
std::string Cut(const std::string& text, size_t columns) {
  size_t bytes = 0;
  for (size_t points = 0; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0) != 0x80;
    if (begins && points++ == columns) break;
  }
  return text.substr(0, bytes);
}

std::string Line(std::string_view label, const std::string& value, const std::string& rest) {
  return fmt::format("{:{}} {:>{}}  {}", label, kLabel, value, kValue, rest);
}

std::string Count(double value) { return FormatValue(value, ColumnFormat::kCount); }
std::string Bytes(double value) { return FormatValue(value, ColumnFormat::kBytes); }

/// "12 345/s" of what a counter gained.
std::string Rate(uint64_t from, uint64_t to, double seconds) {
  return Count(static_cast<double>(to - std::min(from, to)) / seconds) + "/s";
}
double PerSecond(uint64_t from, uint64_t to, double seconds) {
  return static_cast<double>(to - std::min(from, to)) / seconds;
}

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string Sparkline(const std::deque<double>& values, size_t width) {
  static constexpr std::array<std::string_view, 9> kBars = {" ", "▁", "▂", "▃", "▄",
                                                            "▅", "▆", "▇", "█"};
  const size_t shown = std::min(width, values.size());
  const auto begin = values.end() - static_cast<ptrdiff_t>(shown);
  const double most = shown == 0 ? 0 : *std::max_element(begin, values.end());
  std::string line;
  for (auto value = begin; value != values.end(); ++value) {
    // A value above 0 is never drawn as nothing.
    const double eighths = most > 0 ? std::max(*value > 0 ? 1. : 0., *value / most * 8) : 0;
    line += kBars[static_cast<size_t>(std::clamp(eighths, 0., 8.))];
  }
  return line;
}

std::vector<std::string> LiveView::Add(const LiveSample& sample, const KvStatistics& figures,
                                       size_t columns) {
  const size_t used = kLabel + kValue + 3;
  const size_t bars = std::min(kMostBars, columns > used ? columns - used : 0);
  Keep(sample.rate, rates_);
  Keep(sample.latency_us ? sample.latency_us->p99 : 0, p99s_);
  std::vector<std::string> lines = {fmt::format("{}: {:.0f} s", title_, sample.end_s)};
  lines.push_back(Line(unit_ + "/s", Count(sample.rate), Sparkline(rates_, bars)));
  const std::string p99 =
      sample.latency_us ? FormatValue(sample.latency_us->p99, ColumnFormat::kMicros) : "-";
  lines.push_back(Line("p99", p99, Sparkline(p99s_, bars)));
  if (figures.latchkey && before_ && sample.seconds > 0) {
    AddEngine(*before_, *figures.latchkey, sample.seconds, lines);
  }
  before_ = figures.latchkey;
  for (std::string& line : lines) line = Cut(line, columns);
  return lines;
}

void LiveView::AddEngine(const Statistics& from, const Statistics& to, double seconds,
                         std::vector<std::string>& lines) const {
  const auto rate = [&](uint64_t Statistics::*figure) {
    return Rate(from.*figure, to.*figure, seconds);
  };
  const uint64_t fixes = to.fixes - std::min(from.fixes, to.fixes);
  const uint64_t hits = to.hits - std::min(from.hits, to.hits);
  lines.push_back(Line("page reads", rate(&Statistics::page_reads),
                       fmt::format("hits {}, longest wait for a frame {}",
                                   FormatValue(Share(hits, fixes), ColumnFormat::kPercent),
                                   FormatValue(static_cast<double>(to.longest_frame_wait_ns) / 1e3,
                                               ColumnFormat::kMicros))));
  lines.push_back(Line(
      "page writes", rate(&Statistics::async_page_writes),
      fmt::format("by users {}, dirty {}, cleaner's N {:.0f}", rate(&Statistics::sync_page_writes),
                  FormatValue(Share(to.dirty_frames, to.frames), ColumnFormat::kPercent),
                  to.cleaner_outstanding)));
  lines.push_back(Line("device",
                       Bytes(PerSecond(from.bytes_written, to.bytes_written, seconds)) + "/s",
                       fmt::format("written, {}/s read, {:.0f} % busy",
                                   Bytes(PerSecond(from.bytes_read, to.bytes_read, seconds)),
                                   100 * (to.device_busy_s - from.device_busy_s) / seconds)));
  if (from.log && to.log) {
    lines.push_back(
        Line("log", Bytes(PerSecond(from.log->group_bytes, to.log->group_bytes, seconds)) + "/s",
             fmt::format("{} syncs, {} long, {} checkpoints",
                         Rate(from.log->syncs, to.log->syncs, seconds),
                         Bytes(static_cast<double>(to.log->file_bytes)), to.log->checkpoints)));
  }
  lines.push_back(Line("space", Bytes(static_cast<double>(to.file_bytes)),
                       fmt::format("u_d {:.3f}, write cost {}, memory {}", to.space_utilization,
                                   to.write_cost ? fmt::format("{:.2f}", *to.write_cost) : "-",
                                   Bytes(static_cast<double>(to.memory_bytes)))));
}

}  // namespace latchkey
