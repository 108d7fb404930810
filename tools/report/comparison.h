// Compares rows of results by an interval test, and says "faster", "slower" or "not distinguishable".
//
// A figure of two rows is compared by Welch's t interval of the difference of the means of their
// repetitions (interval.h). If the interval has 0 inside, they are not distinguishable. Each interval
// holds with 95 % on its own: among twenty comparisons of equals, one is expected to look different.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/interval.h"
#include "tools/report/report_kind.h"
#include "tools/report/result_document.h"

namespace latchkey {

enum class Verdict { kNotMeasured, kNotEnoughRepetitions, kNotDistinguishable, kLower, kHigher };

struct FigureComparison {
  const ReportFigure* figure = nullptr;
  SampleMean from = {};  ///< of the baseline's row
  SampleMean to = {};
  std::optional<Interval> difference = {};  ///< of the means: to - from
  /// Computed figures, or runs in virtual time: the difference is exact for these settings and this
  /// seed, and needs no repetitions.
  bool exact = false;
  Verdict verdict = Verdict::kNotMeasured;
};

/// "faster", "slower", "higher", "lower", "not distinguishable", "not enough repetitions" or "-".
std::string WordFor(const FigureComparison& comparison);
/// "good", "bad" or "" for the colour of the verdict.
std::string ToneOf(const FigureComparison& comparison);
/// The change of the mean, "+9.0 %"; in the figure's own unit if the baseline's mean is 0; "-".
std::string ChangeOf(const FigureComparison& comparison);
/// Its interval, "+7.1 to +10.9 %"; "exact"; "-" if there is none.
std::string IntervalOf(const FigureComparison& comparison);

/// `exact`: of the kind. Rows in virtual time are exact as well.
FigureComparison CompareFigure(const ReportFigure& figure, const Json& from, const Json& to,
                               bool exact);

struct RowComparison {
  std::string name = {};                       ///< tells the pair apart from the others
  std::vector<FigureComparison> figures = {};  ///< those that both rows measured
};

/// Two documents, or the rows of one.
struct ResultComparison {
  std::string from = {};  ///< the baseline
  std::string to = {};
  /// Settings, machine and build that differ: name, "old -> new".
  std::vector<std::pair<std::string, std::string>> differences = {};
  std::vector<RowComparison> rows = {};
  size_t only_from = 0;  ///< rows without a partner
  size_t only_to = 0;
};

/// Pairs rows of the same settings. A setting that has one value in each document does not count: it
/// may be the difference that is to be compared. It is listed in `differences` instead. Of several
/// rows with the same settings, the first are partners, the second, and so on. REQUIRES: both are of
/// the same kind.
ResultComparison CompareDocuments(const ResultDocument& from, const ResultDocument& to);

/// "2 rows are in a.json alone. 1 row is in b.json alone." "": each row has a partner.
std::string DescribeUnpaired(const ResultComparison& comparison);

/// Every row against the first one. No rows: it has fewer than two.
ResultComparison CompareWithin(const ResultDocument& document);

}  // namespace latchkey
