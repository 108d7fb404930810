#include "tools/report/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/report/html_text.h"
#include "tools/report/page_style.h"
#include "tools/report/page_tables.h"
#include "tools/report/report_charts.h"
#include "tools/report/svg.h"

namespace latchkey {
namespace {

using Group = std::vector<const ResultDocument*>;

/// The documents by kind, in the order of the first of each.
std::vector<Group> GroupByKind(std::span<const ResultDocument> documents) {
  std::vector<Group> groups;
  for (const ResultDocument& document : documents) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.front()->kind == document.kind;
    });
    if (found == groups.end()) {
      groups.push_back({&document});
    } else {
      found->push_back(&document);
    }
  }
  return groups;
}

std::string Legend(const ReportChart& chart) {
  std::string items;
  for (size_t i = 0; i < chart.legend.size(); ++i) {
    const char* key = chart.lines
                          ? "<svg class=\"key\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><line "
                            "class=\"line s{}\" x1=\"1\" y1=\"5\" x2=\"25\" y2=\"5\"/></svg>"
                          : "<svg class=\"key square\" viewBox=\"0 0 10 10\" aria-hidden=\"true\">"
                            "<rect class=\"bar s{}\" width=\"10\" height=\"10\"/></svg>";
    items += Element("li", "",
                     fmt::format(fmt::runtime(key), i % kColors) + EscapeHtml(chart.legend[i]));
  }
  return items.empty() ? "" : Element("ul", "class=\"legend\"", items);
}

std::string Charts(std::string_view title, std::string_view note,
                   const std::vector<ReportChart>& charts) {
  if (charts.empty()) return "";
  std::string figures;
  for (const ReportChart& chart : charts) {
    figures +=
        Element("figure", "class=\"chart\"",
                Element("figcaption", "", EscapeHtml(chart.title)) + chart.svg + Legend(chart));
    figures += '\n';
  }
  return Section(
      title, Element("p", "class=\"note\"", note) + Element("div", "class=\"charts\"", figures));
}

std::string Comparisons(const Group& group) {
  std::string out;
  for (size_t i = 1; i < group.size(); ++i) {
    ResultComparison compared = CompareDocuments(*group.front(), *group[i]);
    compared.from = LetterOf(0);
    compared.to = LetterOf(i);
    out += ComparisonTable(compared);
  }
  if (group.size() == 1) out += ComparisonTable(CompareWithin(*group.front()));
  if (out.empty()) return "";
  return Section(
      "Comparison",
      out +
          Element("p", "class=\"note\"",
                  "Intervals: 95 % of the difference of the means of the repetitions, by Welch's t "
                  "test, as a share of the baseline's mean. With 0 inside, the two are not "
                  "distinguishable. From three repetitions on. Each interval holds on its own: "
                  "among twenty comparisons of equals, one is expected to look different."));
}

std::string GroupSections(const Group& group) {
  const RowSet set = CollectRows(group);
  std::string out = Element("h1", "", EscapeHtml(group.front()->kind->title));
  out += DocumentList(group) + Notices(group, set);
  if (set.rows.empty()) return out + Element("p", "", "No results: no run has ended.");
  out += Comparisons(group);
  out += Charts("Figures",
                "With three or more repetitions: their mean, with a line for its 95 % interval "
                "(Student's t) and a dot for each repetition. Otherwise the median.",
                DrawFigures(set));
  out += Charts("Over time",
                "One point for each sample of the measured part, of the median repetition.",
                DrawOverTime(set));
  out += Charts("Latency", "By percentile, medians of the repetitions.", DrawLatencies(set));
  out += Charts("Where it goes", "Sums over the measured part, medians of the repetitions.",
                DrawBreakdowns(set));
  return out + ResultTable(set) + SettingsList(set) + MachineTable(group);
}

std::string TitleOf(std::span<const ResultDocument> documents) {
  std::string title = documents.front().kind->title + ": " + documents.front().name;
  if (documents.size() > 1) title += fmt::format(" and {} more", documents.size() - 1);
  return title;
}

}  // namespace

std::string Section(std::string_view title, std::string_view content) {
  return Element("section", "",
                 Element("h2", "", EscapeHtml(title)) + '\n' + std::string(content)) +
         '\n';
}

std::string ReportPage(std::span<const ResultDocument> documents) {
  std::string body;
  for (const Group& group : GroupByKind(documents))
    body += Element("article", "", GroupSections(group));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      // Whatever a result's text contains: the page runs no script and loads nothing.
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}\n</main>\n</body>\n</"
      "html>\n",
      EscapeHtml(TitleOf(documents)), kPageStyle, body);
}

}  // namespace latchkey
