// lk_statistics_*.
#include <string>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

lk_code Tell(const NamedStatistic& figure, lk_statistic* to, lk_error* error) {
  const lk_statistic told = {0,
                             figure.measured,
                             figure.is_integer,
                             figure.is_counter,
                             figure.name.data(),  // a literal: it ends with NUL
                             figure.integer,
                             figure.real,
                             figure.help.data()};  // also a literal
  return WriteStruct(told, "lk_statistic", to, error);
}

std::string NamesOf(const std::vector<NamedStatistic>& figures) {
  std::string names;
  for (const NamedStatistic& figure : figures) {
    names += names.empty() ? "" : ", ";
    names += figure.name;
  }
  return names;
}

template <typename Call>
lk_code WithStatistics(lk_statistics statistics, lk_error* error, Call call) noexcept {
  return With(statistic_lists, "statistics", statistics.id, error, call);
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_statistics_take(lk_db db, lk_statistics* statistics, lk_error* error) {
  if (statistics == nullptr) return FailNull(error, "statistics");
  statistics->id = 0;
  return WithDatabase(db, error, [&](Database& database) {
    return MakeHandle(statistic_lists, "statistics", &statistics->id, error,
                      ListStatistics(database.GetStatistics()));
  });
}

size_t lk_statistics_count(lk_statistics statistics) {
  const std::vector<NamedStatistic>* found = statistic_lists.Find(statistics.id);
  return found == nullptr ? 0 : found->size();
}

lk_code lk_statistics_at(lk_statistics statistics, size_t index, lk_statistic* statistic,
                         lk_error* error) {
  if (statistic == nullptr) return FailNull(error, "statistic");
  return WithStatistics(statistics, error, [&](std::vector<NamedStatistic>& figures) {
    if (index >= figures.size()) {
      return Fail(error, LK_NOT_FOUND,
                  "no statistic has this index: give less than lk_statistics_count");
    }
    return Tell(figures[index], statistic, error);
  });
}

lk_code lk_statistics_find(lk_statistics statistics, const char* name, lk_statistic* statistic,
                           lk_error* error) {
  if (name == nullptr) return FailNull(error, "name");
  if (statistic == nullptr) return FailNull(error, "statistic");
  return WithStatistics(statistics, error, [&](std::vector<NamedStatistic>& figures) {
    for (const NamedStatistic& figure : figures) {
      if (figure.name == name) return Tell(figure, statistic, error);
    }
    return Fail(error, LK_NOT_FOUND,
                "no statistic is named '" + std::string(name) + "'; there are " + NamesOf(figures));
  });
}

lk_code lk_statistics_release(lk_statistics statistics, lk_error* error) {
  return Release(statistic_lists, "statistics", statistics.id, error);
}

lk_code lk_metrics(lk_db db, int format, lk_value* text, lk_error* error) {
  if (text == nullptr) return FailNull(error, "text");
  if (format != LK_METRICS_PROMETHEUS && format != LK_METRICS_JSON) {
    return Fail(error, LK_INVALID_ARGUMENT,
                "the metrics format is " + std::to_string(format) +
                    ": give LK_METRICS_PROMETHEUS or LK_METRICS_JSON");
  }
  return WithDatabase(db, error, [&](Database& database) {
    return ReadInto(text, error, [&](std::string* written) {
      *written = database.GetMetrics(format == LK_METRICS_JSON ? MetricsFormat::kJson
                                                               : MetricsFormat::kPrometheus);
      return absl::OkStatus();
    });
  });
}

lk_code lk_reset_statistics_extremes(lk_db db, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    database.ResetStatisticsExtremes();
    return kOk;
  });
}

}  // extern "C"
