#include "tools/report/bar_chart.h"

#include <algorithm>

#include "tools/report/axis.h"
#include "tools/report/svg.h"

namespace latchkey {
namespace {

constexpr double kMargin = 8;
constexpr double kBarsRight = kChartWidth - 26;  // half a tick's label stands right of the axis
constexpr double kLineHeight = 14;
constexpr double kBarHeight = 12;
constexpr double kGap = 8;
constexpr double kValueGap = 10;
constexpr double kLabelGap = 4;  // between the axis and a label

/// The parts of a bar that are drawn.
std::vector<BarPart> Drawn(const Bar& bar) {
  std::vector<BarPart> parts;
  for (const BarPart& part : bar.parts) {
    if (IsDrawable(part.value) && (part.value >= 0 || bar.parts.size() == 1)) parts.push_back(part);
  }
  return parts;
}

/// All values that the axis must show; empty: there is no mark.
std::vector<double> ExtentOf(const BarChart& chart) {
  std::vector<double> values;
  for (const Bar& bar : chart.bars) {
    const std::vector<BarPart> parts = Drawn(bar);
    if (parts.empty()) continue;
    double total = 0;
    for (const BarPart& part : parts) total += part.value;
    values.push_back(total);
    if (bar.interval) values.insert(values.end(), {bar.interval->low, bar.interval->high});
    values.insert(values.end(), bar.samples.begin(), bar.samples.end());
  }
  std::erase_if(values, [](double value) { return !IsDrawable(value); });
  return values;
}

class BarPainter {
 public:
  BarPainter(const BarChart& chart, const std::vector<double>& extent)
      : chart_(chart), axis_(Axis::Linear(extent, chart.format)) {}

  std::string Paint() {
    double y = kMargin;
    for (const Bar& bar : chart_.bars) y = Place(bar, y) + kGap;
    return DrawAbove(y).Finish(y + kLineHeight + kMargin, chart_.title);
  }

 private:
  double X(double value) const { return kMargin + axis_.Share(value) * (kBarsRight - kMargin); }

  /// Finds the places of the bar and its label. Returns where the bar ends.
  double Place(const Bar& bar, double y) {
    const double free = kChartWidth - 2 * kMargin - kLabelGap - TextWidth(bar.value) - kValueGap;
    bool first = true;
    for (const std::string& line : WrapToWidth(bar.label, free)) {
      labels_.push_back({{kMargin + kLabelGap, y + kTextSize}, Anchor::kStart, "label", line});
      if (first) {
        labels_.push_back(
            {{kChartWidth - kMargin, y + kTextSize}, Anchor::kEnd, "value", bar.value});
      }
      first = false;
      y += kLineHeight;
    }
    y += 2;
    bars_.push_back({&bar, y});
    return y + kBarHeight;
  }

  /// The grid behind everything, the labels, the bars; the tick labels below `bottom`.
  Svg DrawAbove(double bottom) const {
    Svg svg;
    for (const double tick : axis_.ticks()) {
      svg.Line({X(tick), kMargin}, {X(tick), bottom}, tick == 0 ? "zero" : "grid");
    }
    PaintTickLabels(svg, bottom + kTextSize);
    for (const PlacedText& text : labels_) {
      // A text in the background's colour below it keeps the grid from crossing its letters.
      svg.Text(text.at, text.anchor, text.css + std::string(" halo"), text.text);
    }
    for (const auto& [bar, y] : bars_) PaintParts(svg, *bar, y);
    return svg;
  }

  /// Leaves out a label that would touch the one before it.
  void PaintTickLabels(Svg& svg, double y) const {
    double free_from = 0;
    for (const double tick : axis_.ticks()) {
      const std::string label = axis_.Label(tick);
      const double width = TextWidth(label);
      const double left = std::max(X(tick) - width / 2, 1.0);
      if (left < free_from) continue;
      svg.Text({left + width / 2, y}, Anchor::kMiddle, "tick", label);
      free_from = left + width + 6;
    }
  }

  void PaintParts(Svg& svg, const Bar& bar, double y) const {
    double from = 0;
    for (const BarPart& part : Drawn(bar)) {
      const double left = X(std::min(from, from + part.value));
      const double right = X(std::max(from, from + part.value));
      // A value of 0 is a mark, too: a thin line at its place.
      svg.Rect({left, y}, std::max(right - left, part.value == 0 && bar.parts.size() > 1 ? 0 : 1.0),
               kBarHeight, "mark bar " + ColorClass(part.color), part.tip);
      from += part.value;
    }
    const double middle = y + kBarHeight / 2;
    for (const double sample : bar.samples) {
      if (IsDrawable(sample)) svg.Circle({X(sample), middle}, 1.8, "sample");
    }
    if (!bar.interval || !IsDrawable(bar.interval->low) || !IsDrawable(bar.interval->high)) return;
    const double low = X(bar.interval->low), high = X(bar.interval->high);
    svg.Line({low, middle}, {high, middle}, "whisker");
    for (const double end : {low, high})
      svg.Line({end, y + 2}, {end, y + kBarHeight - 2}, "whisker");
  }

  struct PlacedText {
    SvgPoint at;
    Anchor anchor;
    std::string css;
    std::string text;
  };
  struct PlacedBar {
    const Bar* bar;
    double y;
  };
  const BarChart& chart_;
  const Axis axis_;
  std::vector<PlacedText> labels_;
  std::vector<PlacedBar> bars_;
};

}  // namespace

std::string DrawBars(const BarChart& chart) {
  const std::vector<double> extent = ExtentOf(chart);
  return extent.empty() ? "" : BarPainter(chart, extent).Paint();
}

}  // namespace latchkey
