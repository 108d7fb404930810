#include "tools/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <utility>

#include "storage/base/counted_noun.h"

namespace latchkey {
namespace {

/// A share in percent with a sign, one decimal; more digits than that are noise.
std::string SignedPercent(double share) { return fmt::format("{:+.1f}", share * 100); }

std::string SignedValue(double value, ColumnFormat format) {
  return (value < 0 ? "-" : "+") + FormatValue(std::abs(value), format);
}

Verdict Judge(const FigureComparison& comparison) {
  if (comparison.from.count == 0 || comparison.to.count == 0) return Verdict::kNotMeasured;
  if (!comparison.exact && !comparison.difference) return Verdict::kNotEnoughRepetitions;
  const double difference = comparison.to.mean - comparison.from.mean;
  const Interval interval = comparison.difference.value_or(Interval{difference, difference});
  if (interval.low > 0) return Verdict::kHigher;
  return interval.high < 0 ? Verdict::kLower : Verdict::kNotDistinguishable;
}

std::vector<FigureComparison> CompareRows(const ReportKind& kind, const Json& from,
                                          const Json& to) {
  std::vector<FigureComparison> figures;
  for (const ReportFigure& figure : kind.figures) {
    FigureComparison compared = CompareFigure(figure, from, to, kind.exact);
    if (compared.verdict != Verdict::kNotMeasured) figures.push_back(compared);
  }
  return figures;
}

/// The settings' columns that have several values in one of the documents: they pair the rows.
std::vector<Column> PairingColumns(const ResultDocument& from, const ResultDocument& to) {
  std::vector<Column> chosen;
  for (const Column& column : from.kind->columns) {
    const auto varies = [&](const ResultDocument& document) {
      const auto rows = document.rows();
      return std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
        return ValueAt(row, column.pointer) != ValueAt(rows.front(), column.pointer);
      });
    };
    if (column.setting && (varies(from) || varies(to))) chosen.push_back(column);
  }
  return chosen;
}

std::string KeyOf(const Json& row, const std::vector<Column>& columns) {
  Json key = Json::array();
  for (const Column& column : columns) key.push_back(ValueAt(row, column.pointer));
  // Text that is not UTF-8 cannot be in a document that was parsed, but may be in one of this run.
  return key.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void AddDifference(ResultComparison& result, const std::string& name, const std::string& from,
                   const std::string& to) {
  if (from != to) result.differences.emplace_back(name, from + " -> " + to);
}

/// Settings with one value in each document, machine, build.
void AddDifferences(const ResultDocument& from, const ResultDocument& to,
                    const std::vector<Column>& pairing, ResultComparison& result) {
  if (!from.rows().empty() && !to.rows().empty()) {
    for (const Column& column : from.kind->columns) {
      const bool pairs = std::any_of(pairing.begin(), pairing.end(), [&](const Column& other) {
        return other.pointer == column.pointer;
      });
      if (!column.setting || pairs) continue;
      AddDifference(result, column.title,
                    FormatValue(ValueAt(from.rows().front(), column.pointer), column.format),
                    FormatValue(ValueAt(to.rows().front(), column.pointer), column.format));
    }
  }
  const std::pair<const char*, const char*> others[] = {
      {"revision", "/build/revision"}, {"compiler", "/build/compiler"},
      {"build type", "/build/type"},   {"processor", "/host/cpu"},
      {"kernel", "/host/kernel"},      {"file system", "/host/file_system"}};
  for (const auto& [name, pointer] : others) {
    AddDifference(result, name, TextAt(from.json, pointer, "-"), TextAt(to.json, pointer, "-"));
  }
}

}  // namespace

std::string WordFor(const FigureComparison& comparison) {
  const Sense sense = comparison.figure->sense;
  switch (comparison.verdict) {
    case Verdict::kNotMeasured:
      return "-";
    case Verdict::kNotEnoughRepetitions:
      return "not enough repetitions";
    case Verdict::kNotDistinguishable:
      return comparison.exact ? "equal" : "not distinguishable";
    case Verdict::kHigher:
      return sense == Sense::kRate ? "faster" : sense == Sense::kTime ? "slower" : "higher";
    case Verdict::kLower:
      return sense == Sense::kRate ? "slower" : sense == Sense::kTime ? "faster" : "lower";
  }
  return "-";
}

std::string ToneOf(const FigureComparison& comparison) {
  const Sense sense = comparison.figure->sense;
  const bool higher = comparison.verdict == Verdict::kHigher;
  if ((!higher && comparison.verdict != Verdict::kLower) || sense == Sense::kNeutral) return "";
  const bool good_if_higher = sense == Sense::kRate || sense == Sense::kGain;
  return higher == good_if_higher ? "good" : "bad";
}

std::string ChangeOf(const FigureComparison& comparison) {
  if (comparison.verdict == Verdict::kNotMeasured) return "-";
  const double change = comparison.to.mean - comparison.from.mean;
  const double base = std::abs(comparison.from.mean);
  if (base == 0) return change == 0 ? "0" : SignedValue(change, comparison.figure->format);
  return SignedPercent(change / base) + " %";
}

std::string IntervalOf(const FigureComparison& comparison) {
  if (comparison.exact) return "exact";
  if (!comparison.difference) return "-";
  const Interval& by = *comparison.difference;
  const double base = std::abs(comparison.from.mean);
  if (base == 0) {
    const ColumnFormat format = comparison.figure->format;
    return fmt::format("{} to {}", SignedValue(by.low, format), SignedValue(by.high, format));
  }
  return fmt::format("{} to {} %", SignedPercent(by.low / base), SignedPercent(by.high / base));
}

FigureComparison CompareFigure(const ReportFigure& figure, const Json& from, const Json& to,
                               bool exact) {
  const auto simulated = [](const Json& row) {
    const auto field = row.find("virtual_time");
    return field != row.end() && *field == true;
  };
  const std::vector<double> a = SamplesOf(from, figure.pointer), b = SamplesOf(to, figure.pointer);
  FigureComparison result{.figure = &figure, .from = MeanOf(a), .to = MeanOf(b)};
  result.exact = exact || (simulated(from) && simulated(to));
  if (!result.exact) result.difference = WelchInterval(a, b);
  result.verdict = Judge(result);
  return result;
}

ResultComparison CompareDocuments(const ResultDocument& from, const ResultDocument& to) {
  ResultComparison result{.from = from.name, .to = to.name};
  const std::vector<Column> pairing = PairingColumns(from, to);
  AddDifferences(from, to, pairing, result);
  std::map<std::string, std::deque<const Json*>> waiting;
  for (const Json& row : from.rows()) waiting[KeyOf(row, pairing)].push_back(&row);
  const std::vector<std::string> names = RowNames(to.rows(), to.kind->columns);
  for (size_t i = 0; i < names.size(); ++i) {
    const Json& row = to.rows()[i];
    std::deque<const Json*>& partners = waiting[KeyOf(row, pairing)];
    if (partners.empty()) {
      ++result.only_to;
      continue;
    }
    result.rows.push_back({names[i], CompareRows(*from.kind, *partners.front(), row)});
    partners.pop_front();
  }
  for (const auto& [key, rows] : waiting) result.only_from += rows.size();
  return result;
}

std::string DescribeUnpaired(const ResultComparison& comparison) {
  std::string text;
  for (const auto& [rows, file] : {std::pair(comparison.only_from, comparison.from),
                                   std::pair(comparison.only_to, comparison.to)}) {
    if (rows == 0) continue;
    text += fmt::format("{}{} {} in {} alone.", text.empty() ? "" : " ", CountOf(rows, "row"),
                        rows == 1 ? "is" : "are", file);
  }
  return text;
}

ResultComparison CompareWithin(const ResultDocument& document) {
  const std::vector<std::string> names = RowNames(document.rows(), document.kind->columns);
  ResultComparison result;
  if (names.size() < 2) return result;
  result.from = names.front();
  result.to = "the other rows";
  for (size_t i = 1; i < names.size(); ++i) {
    result.rows.push_back(
        {names[i], CompareRows(*document.kind, document.rows().front(), document.rows()[i])});
  }
  return result;
}

}  // namespace latchkey
