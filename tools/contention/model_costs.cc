#include "tools/contention/model_costs.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr double kMostNanos = 1e9;
constexpr const char* kRemedy = "write one with latchkey contention calibrate --json=FILE";

constexpr NamedCost kNamedCosts[] = {
    {"access", &ModelCosts::access},
    {"pin", &ModelCosts::pin},
    {"work", &ModelCosts::work},
    {"lock", &ModelCosts::lock},
    {"queue", &ModelCosts::queue},
    {"miss", &ModelCosts::miss},
    {"moved_miss", &ModelCosts::moved_miss},
    {"sweep", &ModelCosts::sweep},
    {"transfer", &ModelCosts::transfer},
    {"sleep", &ModelCosts::sleep},
    {"wake", &ModelCosts::wake},
    {"switch", &ModelCosts::switching},
    {"spin", &ModelCosts::spin},
    {"hit", nullptr, &AlgorithmCosts::hit, &AlgorithmCosts::batched_hit},
    {"load", nullptr, &AlgorithmCosts::load},
    {"moved", nullptr, &AlgorithmCosts::moved, &AlgorithmCosts::batch_moved},
};

struct AlgorithmField {
  const char* name;
  double AlgorithmCosts::*field;
};
constexpr AlgorithmField kAlgorithmFields[] = {{"hit", &AlgorithmCosts::hit},
                                               {"batched_hit", &AlgorithmCosts::batched_hit},
                                               {"load", &AlgorithmCosts::load},
                                               {"moved", &AlgorithmCosts::moved},
                                               {"batch_moved", &AlgorithmCosts::batch_moved}};

absl::StatusOr<double> CostIn(const Json& object, std::string_view name, std::string_view where) {
  const auto found = object.find(std::string(name));
  if (found == object.end() || !found->is_number()) {
    return InvalidArgument("costs of the model: {} has no number \"{}\"; {}", where, name, kRemedy);
  }
  const double cost = found->get<double>();
  if (!std::isfinite(cost) || cost < 0 || cost > kMostNanos) {
    return InvalidArgument("costs of the model: {} {} is {}: 0 to {} ns; {}", where, name, cost,
                           kMostNanos, kRemedy);
  }
  return cost;
}

}  // namespace

bool ModelCosts::operator==(const ModelCosts& other) const {
  return ToJson(*this) == ToJson(other);
}

std::span<const NamedCost> NamedCosts() { return kNamedCosts; }

ModelCosts Scaled(const ModelCosts& costs, const NamedCost& which, double factor) {
  ModelCosts scaled = costs;
  if (which.common != nullptr) {
    scaled.*which.common *= factor;
    return scaled;
  }
  for (auto& [name, algorithm] : scaled.algorithms) {
    algorithm.*which.of_algorithms *= factor;
    if (which.of_algorithms_too != nullptr) algorithm.*which.of_algorithms_too *= factor;
  }
  return scaled;
}

Json ToJson(const ModelCosts& costs) {
  Json common = Json::object();
  for (const NamedCost& cost : kNamedCosts) {
    if (cost.common != nullptr) common[std::string(cost.name)] = costs.*cost.common;
  }
  Json algorithms = Json::object();
  for (const auto& [name, algorithm] : costs.algorithms) {
    for (const AlgorithmField& field : kAlgorithmFields) {
      algorithms[name][field.name] = algorithm.*field.field;
    }
  }
  return {{"schema", kModelCostsSchema},
          {"source", costs.source},
          {"nanoseconds", std::move(common)},
          {"algorithms", std::move(algorithms)}};
}

absl::StatusOr<ModelCosts> ModelCostsFrom(const Json& document) {
  if (!document.is_object() || document.value("schema", Json()) != Json(kModelCostsSchema) ||
      !document.value("nanoseconds", Json()).is_object() ||
      !document.value("algorithms", Json()).is_object() ||
      !document.value("source", Json("")).is_string()) {
    return InvalidArgument("not a document of {}; {}", kModelCostsSchema, kRemedy);
  }
  ModelCosts costs;
  costs.source = document.value("source", "");
  for (const NamedCost& cost : kNamedCosts) {
    if (cost.common == nullptr) continue;
    LATCHKEY_ASSIGN_OR_RETURN(costs.*cost.common,
                              CostIn(document["nanoseconds"], cost.name, "\"nanoseconds\""));
  }
  for (const auto& [name, fields] : document["algorithms"].items()) {
    AlgorithmCosts& algorithm = costs.algorithms[name];
    for (const AlgorithmField& field : kAlgorithmFields) {
      LATCHKEY_ASSIGN_OR_RETURN(algorithm.*field.field, CostIn(fields, field.name, name));
    }
  }
  return costs;
}

absl::StatusOr<ModelCosts> ReadModelCosts(const std::string& path) {
  std::ifstream file(path);
  if (!file) return InvalidArgument("--costs={}: cannot be read; {}", path, kRemedy);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  absl::StatusOr<ModelCosts> costs = ModelCostsFrom(document);
  if (!costs.ok())
    return InvalidArgument("--costs={}: {}", path, std::string(costs.status().message()));
  return costs;
}

absl::StatusOr<AlgorithmCosts> CostsOf(const ModelCosts& costs, std::string_view algorithm) {
  const auto found = costs.algorithms.find(std::string(algorithm));
  if (found != costs.algorithms.end()) return found->second;
  std::string known;
  for (const auto& [name, unused] : costs.algorithms) known += (known.empty() ? "" : ", ") + name;
  return InvalidArgument(
      "the costs of the model have none for replacement algorithm {}, only {}; {}", algorithm,
      known, kRemedy);
}

const ModelCosts& DefaultModelCosts() {
  static const ModelCosts costs{
      .access = 84,
      .pin = 5.6,
      .work = 63,
      .lock = 9.2,
      .queue = 13.8,
      .miss = 101,
      .moved_miss = 140,
      .sweep = 23,
      .transfer = 45,
      .sleep = 219,
      .wake = 8583,
      .switching = 17706,
      .spin = 74,
      // hit, batched_hit, load, moved, batch_moved
      .algorithms = {{"arc", {17.4, 5.1, 35, 75, 5.3}},
                     {"car", {1.4, 1.6, 35, 3.7, 0.2}},
                     {"clock", {3.9, 1.8, 6.3, 0, 0.2}},
                     {"fifo", {5.2, 1.8, 5.6, 0, 0.2}},
                     {"gclock", {9.7, 1.8, 6.1, 0.3, 0.3}},
                     {"hot-cold", {14.7, 1.4, 5.7, 0.3, 0.3}},
                     {"lfu", {27, 3.9, 55, 57, 9}},
                     {"lirs", {21, 4.6, 34, 87, 6.6}},
                     {"lru", {16.4, 2.9, 5.8, 68, 4}},
                     {"lru2", {29, 4.1, 88, 66, 6.1}},
                     {"mq", {44, 13, 46, 81, 13.4}},
                     {"2q", {7.8, 1.6, 25, 0, 0.1}},
                     {"random", {6.2, 1.6, 7.3, 0, 0}},
                     {"s3-fifo", {3.7, 1.8, 26, 3.3, 0.2}},
                     {"sieve", {3.8, 1.8, 5.8, 1.4, 0.2}},
                     {"w-tinylfu", {45, 14.9, 33, 88, 10.5}}},
      .source =
          "built in: medians of nine calibrations, AMD EPYC, 2 cores; "
          "transfer, moved, moved_miss fitted to "
          "rows of contention pool; 20000 pages, zipf:skew=0.86",
  };
  return costs;
}

}  // namespace latchkey
