// Drawing with inline SVG: no script, colours by the classes of the page's style.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace latchkey {

/// Colours of the style that tell series, documents or parts apart: classes s0 to s7.
inline constexpr size_t kColors = 8;
std::string ColorClass(size_t number);  ///< "s3"; numbers from kColors on begin again

/// Width of all charts, in the units of their viewBox. A phone shows them about 1:1, so that a text
/// of kTextSize is read without zooming.
inline constexpr double kChartWidth = 360;
inline constexpr double kTextSize = 11;

/// An upper bound, for most texts, of the width of `text` in a sans-serif font of kTextSize.
double TextWidth(std::string_view text);
/// `text` in lines of at most `width`, broken at spaces or, within a long word, anywhere.
std::vector<std::string> WrapToWidth(const std::string& text, double width);

/// Whether `value` can be drawn: finite, and of a size with which positions can be computed.
bool IsDrawable(double value);

enum class Anchor { kStart, kMiddle, kEnd };

struct SvgPoint {
  double x;
  double y;
};

/// The marks of one chart, drawn in order. Texts and tips are escaped here. A `tip` is shown while
/// the pointer rests on the mark. `css` is a list of classes; "mark" is the class of what shows data.
class Svg {
 public:
  void Line(SvgPoint from, SvgPoint to, std::string_view css, std::string_view tip = "");
  void Rect(SvgPoint corner, double width, double height, std::string_view css,
            std::string_view tip = "");
  void Circle(SvgPoint centre, double radius, std::string_view css, std::string_view tip = "");
  void Polyline(const std::vector<SvgPoint>& points, std::string_view css);
  void Text(SvgPoint at, Anchor anchor, std::string_view css, std::string_view text);

  /// The whole element, kChartWidth wide. `label` describes it to a screen reader.
  std::string Finish(double height, std::string_view label) const;

 private:
  void Add(std::string_view name, const std::string& attributes, std::string_view tip);
  std::string body_;
};

}  // namespace latchkey
