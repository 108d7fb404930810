#include "tools/report/page_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tools/report/html_text.h"
#include "tpcc-lite/report/steadiness.h"

namespace latchkey {
namespace {

std::string Cell(std::string_view name, std::string_view css, std::string_view text) {
  return Element(name, css.empty() ? "" : fmt::format("class=\"{}\"", css), EscapeHtml(text));
}

std::string Table(std::string_view css, std::string_view head, std::string_view body) {
  return Element("div", "class=\"scroll\"",
                 Element("table", fmt::format("class=\"{}\"", css),
                         Element("thead", "", head) + "\n" + Element("tbody", "", body)));
}

std::string Notice(std::string_view tone, std::string_view lead, std::string_view text) {
  return Element("li", fmt::format("class=\"{}\"", tone),
                 Element("strong", "", EscapeHtml(lead)) + " " + EscapeHtml(text));
}

/// The list at `field` of each row, each text once, in the order of the rows.
std::vector<std::string> TextsOf(const RowSet& set, const char* field) {
  std::vector<std::string> texts;
  for (const Json& row : set.rows) {
    if (!row.contains(field)) continue;
    for (const Json& text : row.at(field)) {
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
  }
  return texts;
}

std::string FigureRow(const FigureComparison& c) {
  const ColumnFormat format = c.figure->format;
  const auto mean = [&](const SampleMean& m) {
    return FormatValue(m.mean, format) + (m.count > 1 ? fmt::format(" ({})", m.count) : "");
  };
  return Element("tr", "",
                 Cell("th", "", c.figure->title) + Cell("td", "verdict " + ToneOf(c), WordFor(c)) +
                     Cell("td", "number", ChangeOf(c)) + Cell("td", "number", IntervalOf(c)) +
                     Cell("td", "number", mean(c.from)) + Cell("td", "number", mean(c.to))) +
         '\n';
}

std::string Unpaired(const ResultComparison& c) {
  std::string text;
  if (c.rows.empty()) text = "No row of one has the settings of a row of the other. ";
  text += DescribeUnpaired(c);
  return text.empty() ? "" : Element("p", "class=\"note\"", EscapeHtml(text));
}

/// A value for people: numbers as they are, lists joined, null as "-".
std::string Plain(const Json& value) {
  if (value.is_array()) {
    std::vector<std::string> items;
    for (const Json& item : value) items.push_back(Plain(item));
    return fmt::format("{}", fmt::join(items, ", "));
  }
  return FormatValue(value, ColumnFormat::kText);
}

}  // namespace

std::string DocumentList(std::span<const ResultDocument* const> documents) {
  std::string items;
  for (size_t i = 0; i < documents.size(); ++i) {
    const ResultDocument& document = *documents[i];
    const std::string letter = documents.size() > 1 ? LetterOf(i) + ": " : "";
    const std::string text =
        fmt::format("{}, {} results, revision {}, {}", TextAt(document.json, "/schema"),
                    document.rows().size(), TextAt(document.json, "/build/revision", "unknown"),
                    TextAt(document.json, "/host/cpu", "unknown processor"));
    items += Element("li", "",
                     Element("b", "", EscapeHtml(letter + document.name)) + " " +
                         Element("span", "class=\"note\"", EscapeHtml(text)));
  }
  return Element("ul", "class=\"documents\"", items) + '\n';
}

std::string Notices(std::span<const ResultDocument* const> documents, const RowSet& set) {
  std::string items;
  for (const ResultDocument* document : documents) {
    const auto field = document->json.find("interrupted");
    if (field == document->json.end() || *field != true) continue;
    items += Notice("bad", "Interrupted:", document->name + " has partial results.");
  }
  for (size_t i = 0; i < set.rows.size(); ++i) {
    const std::string error = TextAt(set.rows[i], "/error");
    if (!error.empty()) items += Notice("bad", "Failed:", set.names[i] + ": " + error);
  }
  for (size_t i = 0; i < set.rows.size(); ++i) {
    if (!set.rows[i].contains("unsteady") || set.rows[i].at("unsteady").empty()) continue;
    const auto reasons = set.rows[i].at("unsteady").get<std::vector<std::string>>();
    items +=
        Notice("", "Not steady:", fmt::format("{}: {}", set.names[i], fmt::join(reasons, "; ")));
  }
  for (const std::string& warning : TextsOf(set, "warnings"))
    items += Notice("", "Warning:", warning);
  return items.empty() ? "" : Element("ul", "class=\"notices\"", items) + '\n';
}

std::string ComparisonTable(const ResultComparison& c) {
  if (c.rows.empty() && c.only_from + c.only_to == 0) return "";
  std::string out = Element("h3", "", EscapeHtml(fmt::format("{} against {}", c.to, c.from)));
  std::string differences;
  for (const auto& [name, change] : c.differences) {
    differences +=
        Element("li", "", EscapeHtml(name) + ": " + Element("b", "", EscapeHtml(change)));
  }
  if (!differences.empty()) out += Element("ul", "class=\"facts\"", differences);
  std::string body;
  for (const RowComparison& row : c.rows) {
    body += Element("tr", "class=\"group\"", Element("th", "colspan=\"6\"", EscapeHtml(row.name)));
    for (const FigureComparison& figure : row.figures) body += FigureRow(figure);
    if (row.figures.empty()) {
      body += Element("tr", "", Element("td", "colspan=\"6\"", "no figure that both measured"));
    }
  }
  std::string head;
  for (const char* title : {"Figure", "Verdict"}) head += Cell("th", "", title);
  for (const char* title : {"Change", "95 % interval", "Baseline (n)", "Compared (n)"}) {
    head += Cell("th", "number", title);
  }
  if (!body.empty()) out += Table("comparison", Element("tr", "", head), body);
  return out + Unpaired(c);
}

std::string ResultTable(const RowSet& set) {
  const ColumnSplit split = SplitColumns(set.rows, set.kind->columns);
  const auto css = [](const Column& column) {
    return column.format == ColumnFormat::kText ? "" : "number";
  };
  std::string head, body;
  if (set.documents > 1) head += Cell("th", "", "");
  for (const Column& column : split.shown) head += Cell("th", css(column), column.title);
  for (size_t i = 0; i < set.rows.size(); ++i) {
    std::string cells;
    if (set.documents > 1) cells += Cell("th", "", LetterOf(set.document_of[i]));
    for (const Column& column : split.shown) {
      const Json value = ValueAt(set.rows[i], column.pointer);
      cells += Cell("td", css(column), FormatValue(value, column.format));
    }
    body += Element("tr", "", cells) + '\n';
  }
  return Section("All results", Table("results", Element("tr", "", head), body));
}

std::string SettingsList(const RowSet& set) {
  std::string out;
  for (const auto& [without, settings] : SplitColumns(set.rows, set.kind->columns).common) {
    if (!without.empty()) {
      out += Element("p", "class=\"note\"", EscapeHtml("Every row but " + without + ":"));
    }
    std::string items;
    for (const std::string& setting : settings) items += Cell("li", "", setting);
    out += Element("ul", "class=\"facts\"", items);
  }
  return out.empty() ? "" : Section("Settings of every row", out);
}

std::string MachineTable(std::span<const ResultDocument* const> documents) {
  std::string head = Cell("th", "", ""), body;
  for (size_t i = 0; i < documents.size(); ++i) {
    head += Cell("th", "", documents.size() > 1 ? LetterOf(i) : documents[i]->name);
  }
  for (const char* block : {"host", "build"}) {
    const Json& first = documents.front()->json;
    if (!first.contains(block) || !first.at(block).is_object()) continue;
    for (const auto& [name, unused] : first.at(block).items()) {
      std::string title = name;
      std::replace(title.begin(), title.end(), '_', ' ');
      std::string cells = Cell("th", "", title);
      for (const ResultDocument* document : documents) {
        const Json::json_pointer pointer = Json::json_pointer("/" + std::string(block)) / name;
        const Json value = ValueAt(document->json, pointer);
        const bool bytes = name == "memory_bytes";
        cells += Cell("td", "", bytes ? FormatValue(value, ColumnFormat::kBytes) : Plain(value));
      }
      body += Element("tr", "", cells) + '\n';
    }
  }
  if (body.empty()) return "";
  return Section("Machine and build", Table("machine", Element("tr", "", head), body));
}

}  // namespace latchkey
