#include "tpcc-lite/report/spread.h"

#include <algorithm>
#include <cmath>

#include "storage/base/check.h"

namespace latchkey {
namespace {

/// The field's name without the path: "/buffer/hit_ratio" -> "hit_ratio".
std::string LastName(const std::string& pointer) { return pointer.substr(pointer.rfind('/') + 1); }

std::vector<double> NumbersAt(std::span<const Json> documents, const Json::json_pointer& pointer) {
  std::vector<double> numbers;
  for (const Json& document : documents) {
    const Json value = ValueAt(document, pointer);
    if (value.is_number()) numbers.push_back(value.get<double>());
  }
  return numbers;
}

size_t IndexOfMedian(std::span<const Json> documents, const std::string& figure) {
  const Json::json_pointer pointer(figure);
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < documents.size(); ++i) {
    const Json value = ValueAt(documents[i], pointer);
    if (value.is_number()) order.emplace_back(value.get<double>(), i);
  }
  if (order.empty()) return 0;
  std::sort(order.begin(), order.end());
  return order[(order.size() - 1) / 2].second;
}

/// Replaces the numbers below `node` by medians. A count stays an integer if its median is one.
void PutMedians(Json& node, const Json::json_pointer& here, std::span<const Json> documents) {
  if (node.is_object()) {
    for (auto& [name, child] : node.items()) PutMedians(child, here / name, documents);
    return;
  }
  if (!node.is_number() && !node.is_null()) return;
  const std::vector<double> numbers = NumbersAt(documents, here);
  if (numbers.empty()) return;
  const double median = Median(numbers);
  if (node.is_number_integer() && std::floor(median) == median) {
    node = static_cast<int64_t>(median);
  } else {
    node = median;
  }
}

Json SpreadOf(const std::vector<double>& numbers) {
  if (numbers.empty()) return nullptr;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  const double median = Median(numbers);
  const double largest = std::max(std::abs(*low), std::abs(*high));
  const bool tells = std::abs(median) >= largest * kLeastMedianShare && largest > 0;
  const Json half_range = tells ? Json((*high - *low) / 2 / std::abs(median)) : Json(nullptr);
  return {{"min", *low}, {"max", *high}, {"half_range", half_range}};
}

}  // namespace

double Median(std::vector<double> values) {
  LATCHKEY_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Json CombineRepetitions(std::span<const Json> repetitions, std::span<const std::string> figures) {
  LATCHKEY_CHECK(!repetitions.empty() && !figures.empty());
  Json result = repetitions[IndexOfMedian(repetitions, figures[0])];
  if (repetitions.size() > 1) PutMedians(result, Json::json_pointer(), repetitions);
  Json each = Json::array();
  for (const Json& repetition : repetitions) {
    Json row = Json::object();
    for (const std::string& figure : figures) {
      row[LastName(figure)] = ValueAt(repetition, figure);
    }
    if (repetitions.size() > 1 && repetition.contains("samples"))
      row["samples"] = repetition["samples"];
    each.push_back(std::move(row));
  }
  Json spread = Json::object();
  for (const std::string& figure : figures) {
    spread[LastName(figure)] = SpreadOf(NumbersAt(repetitions, Json::json_pointer(figure)));
  }
  result["repeat"] = repetitions.size();
  result["repetitions"] = std::move(each);
  result["spread"] = std::move(spread);
  return result;
}

}  // namespace latchkey
