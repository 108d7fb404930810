#include "tools/report/line_chart.h"

#include <algorithm>
#include <cmath>

#include "tools/report/axis.h"
#include "tools/report/svg.h"

namespace latchkey {
namespace {

constexpr double kTop = 10;
constexpr double kLeft = 56;
constexpr double kLinesRight = kChartWidth - 26;
constexpr double kPlotHeight = 150;
constexpr double kBottom = kTop + kPlotHeight;
constexpr double kTickLabelY = kBottom + 15;
constexpr double kXTitleY = kTickLabelY + 16;
constexpr double kLeastRatioOfLogarithm = 8;
/// With more points their marks would hide the line.
constexpr size_t kMostMarkedPoints = 120;

class LinePainter {
 public:
  explicit LinePainter(const LineChart& chart) : chart_(chart) { Collect(); }

  bool empty() const { return y_values_.empty(); }

  std::string Paint() {
    y_ = chart_.logarithmic ? Axis::Logarithmic(y_values_, chart_.y_format)
                            : Axis::Linear(y_values_, chart_.y_format);
    SetRangeOfX();
    for (const double tick : y_.ticks()) {
      svg_.Line({kLeft, Y(tick)}, {kLinesRight, Y(tick)}, tick == y_.low() ? "zero" : "grid");
      svg_.Text({kLeft - 6, Y(tick) + 4}, Anchor::kEnd, "tick", y_.Label(tick));
    }
    PaintTicksOfX();
    for (size_t i = 0; i < chart_.series.size(); ++i) PaintSeries(i);
    const bool titled = !chart_.x_title.empty();
    if (titled) {
      svg_.Text({(kLeft + kLinesRight) / 2, kXTitleY}, Anchor::kMiddle, "tick", chart_.x_title);
    }
    return svg_.Finish((titled ? kXTitleY : kTickLabelY) + 6, chart_.title);
  }

 private:
  bool IsShown(const LinePoint& point) const {
    return IsDrawable(point.x) && IsDrawable(point.y) && (!chart_.logarithmic || point.y > 0);
  }

  void Collect() {
    for (const LineSeries& series : chart_.series) {
      for (const LinePoint& point : series.points) {
        if (!IsShown(point)) continue;
        x_values_.push_back(point.x);
        y_values_.push_back(point.y);
        if (!point.interval || chart_.logarithmic) continue;
        for (const double end : {point.interval->low, point.interval->high}) {
          if (IsDrawable(end)) y_values_.push_back(end);
        }
      }
    }
    std::sort(x_values_.begin(), x_values_.end());
    x_values_.erase(std::unique(x_values_.begin(), x_values_.end()), x_values_.end());
  }

  void SetRangeOfX() {
    if (!chart_.steps.empty()) {
      x_low_ = -0.3;
      x_high_ = static_cast<double>(chart_.steps.size()) - 0.7;
    } else if (chart_.ticks_at_points) {
      x_low_ = x_values_.front();
      x_high_ = x_values_.back();
      x_logarithmic_ = x_low_ > 0 && x_high_ >= kLeastRatioOfLogarithm * x_low_;
    } else {
      const Axis axis = Axis::Linear(x_values_, chart_.x_format);
      x_low_ = axis.low();
      x_high_ = std::max(x_values_.back(), axis.low() + (axis.high() - axis.low()) / 1000);
    }
  }

  double X(double value) const {
    double share = x_logarithmic_ ? std::log(value / x_low_) / std::log(x_high_ / x_low_)
                                  : (value - x_low_) / (x_high_ - x_low_);
    if (!std::isfinite(share)) share = 0.5;  // all points have the same x
    return kLeft + share * (kLinesRight - kLeft);
  }
  double Y(double value) const { return kBottom - y_.Share(value) * kPlotHeight; }

  std::vector<std::pair<double, std::string>> TicksOfX() const {
    std::vector<std::pair<double, std::string>> ticks;
    for (size_t i = 0; i < chart_.steps.size(); ++i) {
      ticks.emplace_back(static_cast<double>(i), chart_.steps[i]);
    }
    if (!ticks.empty()) return ticks;
    const std::vector<double> values =
        chart_.ticks_at_points ? x_values_ : Axis::Linear(x_values_, chart_.x_format).ticks();
    for (const double value : values) {
      if (value <= x_high_) ticks.emplace_back(value, FormatShort(value, chart_.x_format));
    }
    return ticks;
  }

  /// Leaves out a label that would touch the one before it.
  void PaintTicksOfX() {
    double free_from = 0;
    for (const auto& [value, label] : TicksOfX()) {
      const double width = TextWidth(label);
      const double left = std::min(X(value) - width / 2, kChartWidth - width - 1);
      if (left < free_from) continue;
      svg_.Line({X(value), kBottom}, {X(value), kBottom + 3}, "zero");
      svg_.Text({left + width / 2, kTickLabelY}, Anchor::kMiddle, "tick", label);
      free_from = left + width + 6;
    }
  }

  void PaintSeries(size_t number) {
    const LineSeries& series = chart_.series[number];
    const std::string color = ColorClass(number);
    PaintLine(series, color);
    const auto shown = static_cast<size_t>(
        std::count_if(series.points.begin(), series.points.end(),
                      [this](const LinePoint& point) { return IsShown(point); }));
    for (const LinePoint& point : series.points) {
      if (!IsShown(point)) continue;
      PaintInterval(point, color);
      if (shown > kMostMarkedPoints) continue;
      svg_.Circle({X(point.x), Y(point.y)}, shown > kMostMarkedPoints / 3 ? 1.5 : 2.8,
                  "mark dot " + color, series.name + ": " + point.tip);
    }
  }

  /// One line for each run of points without a gap; a point between two gaps is a line of no length,
  /// which round ends make visible.
  void PaintLine(const LineSeries& series, const std::string& color) {
    std::vector<SvgPoint> run;
    const auto end_run = [&] {
      if (run.size() == 1) run.push_back(run.front());
      if (!run.empty()) svg_.Polyline(run, "mark line " + color);
      run.clear();
    };
    for (const LinePoint& point : series.points) {
      if (IsShown(point)) {
        run.push_back({X(point.x), Y(point.y)});
      } else {
        end_run();
      }
    }
    end_run();
  }

  void PaintInterval(const LinePoint& point, const std::string& color) {
    if (!point.interval || chart_.logarithmic) return;
    if (!IsDrawable(point.interval->low) || !IsDrawable(point.interval->high)) return;
    const double x = X(point.x), low = Y(point.interval->low), high = Y(point.interval->high);
    svg_.Line({x, low}, {x, high}, "line thin " + color);
    for (const double end : {low, high})
      svg_.Line({x - 3, end}, {x + 3, end}, "line thin " + color);
  }

  const LineChart& chart_;
  Svg svg_;
  Axis y_ = Axis::Linear({}, ColumnFormat::kNumber);
  std::vector<double> x_values_, y_values_;
  double x_low_ = 0, x_high_ = 1;
  bool x_logarithmic_ = false;
};

}  // namespace

std::string DrawLines(const LineChart& chart) {
  LinePainter painter(chart);
  return painter.empty() ? "" : painter.Paint();
}

}  // namespace latchkey
