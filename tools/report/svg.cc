#include "tools/report/svg.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "tools/report/html_text.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {
namespace {

/// A coordinate with two decimals, without trailing zeros.
std::string Number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

bool BeginsCharacter(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

constexpr double kCharacterWidth = 0.58 * kTextSize;
/// Characters beyond ASCII may be as wide as high.
constexpr double kWideCharacterWidth = kTextSize;

}  // namespace

std::string ColorClass(size_t number) { return fmt::format("s{}", number % kColors); }

double TextWidth(std::string_view text) {
  double width = 0;
  for (const char c : text) {
    if (!BeginsCharacter(c)) continue;
    width += static_cast<uint8_t>(c) < 0x80 ? kCharacterWidth : kWideCharacterWidth;
  }
  return width;
}

std::vector<std::string> WrapToWidth(const std::string& text, double width) {
  std::vector<std::string> lines(1);
  size_t last_space = std::string::npos;  // in the last line
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (end < text.size() && !BeginsCharacter(text[end])) ++end;
    const std::string character = text.substr(at, end - at);
    at = end;
    if (!lines.back().empty() && TextWidth(lines.back() + character) > width) {
      std::string rest;
      if (last_space != std::string::npos && last_space > 0 && character != " ") {
        rest = lines.back().substr(last_space + 1);
        lines.back().erase(last_space);
      }
      lines.push_back(std::move(rest));
      last_space = std::string::npos;
      if (character == " " && lines.back().empty()) continue;
    }
    if (character == " ") last_space = lines.back().size();
    lines.back() += character;
  }
  return lines;
}

bool IsDrawable(double value) { return std::isfinite(value) && std::abs(value) < 1e100; }

void Svg::Add(std::string_view name, const std::string& attributes, std::string_view tip) {
  body_ += Element(name, attributes, tip.empty() ? "" : Element("title", "", EscapeHtml(tip)));
  body_ += '\n';
}

void Svg::Line(SvgPoint from, SvgPoint to, std::string_view css, std::string_view tip) {
  Add("line",
      fmt::format("class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", css, Number(from.x),
                  Number(from.y), Number(to.x), Number(to.y)),
      tip);
}

void Svg::Rect(SvgPoint corner, double width, double height, std::string_view css,
               std::string_view tip) {
  Add("rect",
      fmt::format("class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", css,
                  Number(corner.x), Number(corner.y), Number(width), Number(height)),
      tip);
}

void Svg::Circle(SvgPoint centre, double radius, std::string_view css, std::string_view tip) {
  Add("circle",
      fmt::format("class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"", css, Number(centre.x),
                  Number(centre.y), Number(radius)),
      tip);
}

void Svg::Polyline(const std::vector<SvgPoint>& points, std::string_view css) {
  std::string path;
  for (const SvgPoint& point : points) {
    path += fmt::format("{}{},{}", path.empty() ? "" : " ", Number(point.x), Number(point.y));
  }
  Add("polyline", fmt::format("class=\"{}\" points=\"{}\"", css, path), "");
}

void Svg::Text(SvgPoint at, Anchor anchor, std::string_view css, std::string_view text) {
  static constexpr const char* kAnchors[] = {"start", "middle", "end"};
  body_ += Element("text",
                   fmt::format("class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\"", css,
                               Number(at.x), Number(at.y), kAnchors[static_cast<size_t>(anchor)]),
                   EscapeHtml(text));
  body_ += '\n';
}

std::string Svg::Finish(double height, std::string_view label) const {
  return Element("svg",
                 fmt::format("role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\"",
                             EscapeHtml(label), Number(kChartWidth), Number(height)),
                 "\n" + body_);
}

}  // namespace latchkey
