#include "tools/cli/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

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

std::string Line(std::string_view label, const std::string& value, const std::string& rest) {
  return fmt::format("{:{}} {:>{}}  {}", label, kLabel, value, kValue, rest);
}

std::string Count(double value) { return FormatValue(value, ColumnFormat::kCount); }
std::string Bytes(double value) { return FormatValue(value, ColumnFormat::kBytes); }
std::string Percent(double share) { return FormatValue(share, ColumnFormat::kPercent); }
std::string Micros(double us) { return FormatValue(us, ColumnFormat::kMicros); }

/// Two readings of the figures, `seconds` apart.
class EngineLines {
 public:
  EngineLines(const LiveFigures& from, const LiveFigures& to, double seconds)
      : from_(from), to_(to), seconds_(seconds) {}

  std::vector<std::string> Make() const {
    std::vector<std::string> lines = {
        Line("page reads", PerSecond("page_reads"),
             fmt::format("hits {}, longest wait for a frame {}",
                         Percent(Share(Gain("hits"), Gain("fixes"))),
                         Micros(Now("longest_frame_wait_ns") / 1e3))),
        Line("page writes", PerSecond("async_page_writes"),
             fmt::format("by users {}, dirty {}, cleaner's N {:.0f}", PerSecond("sync_page_writes"),
                         Percent(Share(Now("dirty_frames"), Now("frames"))),
                         Now("cleaner_outstanding"))),
        Line("device", BytesPerSecond("bytes_written"),
             fmt::format("written, {} read, {:.0f} % busy", BytesPerSecond("bytes_read"),
                         100 * Gain("device_busy_s") / seconds_))};
    if (to_.contains("log.syncs")) {
      lines.push_back(
          Line("log", BytesPerSecond("log.group_bytes"),
               fmt::format("{} syncs, {} long, {:.0f} checkpoints", PerSecond("log.syncs"),
                           Bytes(Now("log.file_bytes")), Now("log.checkpoints"))));
    }
    const std::string cost =
        to_.contains("write_cost") ? fmt::format("{:.2f}", Now("write_cost")) : "-";
    lines.push_back(Line("space", Bytes(Now("file_bytes")),
                         fmt::format("u_d {:.3f}, write cost {}, memory {}",
                                     Now("space_utilization"), cost, Bytes(Now("memory_bytes")))));
    return lines;
  }

 private:
  static double Of(const LiveFigures& figures, std::string_view name) {
    const auto found = figures.find(name);
    return found == figures.end() ? 0 : found->second;
  }
  static double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }
  double Now(std::string_view name) const { return Of(to_, name); }
  /// What a counter gained.
  double Gain(std::string_view name) const { return std::max(0., Of(to_, name) - Of(from_, name)); }
  std::string PerSecond(std::string_view name) const { return Count(Gain(name) / seconds_) + "/s"; }
  std::string BytesPerSecond(std::string_view name) const {
    return Bytes(Gain(name) / seconds_) + "/s";
  }

  const LiveFigures& from_;
  const LiveFigures& to_;
  const double seconds_;
};

}  // namespace

LiveFigures FiguresOf(const Statistics& statistics) {
  LiveFigures figures;
  for (const NamedStatistic& figure : ListStatistics(statistics)) {
    if (figure.measured) figures.emplace(figure.name, figure.real);
  }
  return figures;
}

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

std::vector<std::string> LiveView::Add(const LiveSample& sample, LiveFigures figures,
                                       size_t columns) {
  const size_t used = kLabel + kValue + 3;
  const size_t bars = std::min(kMostBars, columns > used ? columns - used : 0);
  Keep(sample.rate, rates_);
  Keep(sample.latency_us ? sample.latency_us->p99 : 0, p99s_);
  std::vector<std::string> lines = {fmt::format("{}: {:.0f} s", title_, sample.end_s)};
  lines.push_back(Line(unit_ + "/s", Count(sample.rate), Sparkline(rates_, bars)));
  lines.push_back(Line("p99", sample.latency_us ? Micros(sample.latency_us->p99) : "-",
                       Sparkline(p99s_, bars)));
  for (const auto& [operation, us] : sample.more_us) {
    lines.push_back(Line(operation, Micros(us.p50),
                         fmt::format("p50, p99 {}, at most {}", Micros(us.p99), Micros(us.max))));
  }
  if (!figures.empty() && !before_.empty() && sample.seconds > 0) {
    const auto more = EngineLines(before_, figures, sample.seconds).Make();
    lines.insert(lines.end(), more.begin(), more.end());
  }
  before_ = std::move(figures);
  for (std::string& line : lines) line = CutText(line, columns);
  return lines;
}

}  // namespace latchkey
