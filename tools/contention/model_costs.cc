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
      .access = 72,
      .pin = 8.3,
      .work = 33,
      .lock = 10.4,
      .queue = 14,
      .miss = 150,
      .moved_miss = 80,
      .sweep = 36,
      .transfer = 38,
      .sleep = 240,
      .wake = 4900,
      .switching = 7600,
      .spin = 80,
      // hit, batched_hit, load, moved, batch_moved
      .algorithms = {{"arc", {22, 5.5, 39, 128, 2.5}},
                     {"car", {5.5, 2.5, 37, 66, 2.7}},
                     {"clock", {3.8, 1.3, 5.6, 44, 0}},
                     {"fifo", {3.5, 1.2, 6.1, 34, 0}},
                     {"gclock", {3.8, 1.4, 5.6, 26, 1.1}},
                     {"lfu", {22, 4, 59, 174, 0.6}},
                     {"lirs", {25, 4.6, 29, 113, 2.8}},
                     {"lru", {14, 3.3, 6.2, 71, 0.3}},
                     {"lru2", {29, 4.3, 81, 168, 1.1}},
                     {"mq", {40, 14, 58, 174, 1.3}},
                     {"2q", {3.9, 1.3, 25, 11, 1.7}},
                     {"random", {3.4, 1.2, 7.9, 45, 0}},
                     {"s3-fifo", {10, 2.5, 31, 101, 3.3}},
                     {"sieve", {9.6, 1.5, 6.9, 85, 0.6}},
                     {"w-tinylfu", {50, 16, 36, 221, 1.3}}},
      .source =
          "built in, provisional: AMD EPYC, 2 cores that others used; 20000 pages, zipf:skew=0.86"};
  return costs;
}

}  // namespace latchkey
