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
    {"moved_load", nullptr, &AlgorithmCosts::moved_load},
};

struct AlgorithmField {
  const char* name;
  double AlgorithmCosts::*field;
};
constexpr AlgorithmField kAlgorithmFields[] = {{"hit", &AlgorithmCosts::hit},
                                               {"batched_hit", &AlgorithmCosts::batched_hit},
                                               {"load", &AlgorithmCosts::load},
                                               {"moved", &AlgorithmCosts::moved},
                                               {"batch_moved", &AlgorithmCosts::batch_moved},
                                               {"moved_load", &AlgorithmCosts::moved_load}};

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
      .access = 82,
      .pin = 5,
      .work = 76,
      .lock = 9.5,
      .queue = 13.1,
      .miss = 108,
      .moved_miss = 154,
      .sweep = 29,
      .transfer = 29,
      .sleep = 221,
      .wake = 6870,
      .switching = 14201,
      .spin = 74,
      // hit, batched_hit, load, moved, batch_moved, moved_load
      .algorithms = {{"arc", {18, 5.4, 37, 63, 4.1, 69}},
                     {"car", {4.7, 1.4, 35, 0.7, 0.5, 71}},
                     {"clock", {4.6, 1.4, 5.7, 0.9, 0.8, 56}},
                     {"fifo", {2.7, 1.6, 5.6, 1.1, 0.8, 65}},
                     {"gclock", {4.5, 1.6, 5.8, 0, 0.6, 57}},
                     {"hot-cold", {14.4, 1.6, 5.4, 0.2, 0.9, 66}},
                     {"lfu", {21, 3.6, 57, 34, 7.1, 152}},
                     {"lirs", {19, 4.6, 62, 58, 4.4, 59}},
                     {"lru", {14.9, 3.2, 6.3, 61, 3.3, 61}},
                     {"lru2", {27, 4.2, 109, 49, 4.4, 154}},
                     {"mq", {45, 14.2, 56, 66, 10.5, 59}},
                     {"2q", {2.2, 1.7, 54, 0.4, 0.9, 60}},
                     {"random", {5, 1.6, 7.9, 0.8, 0.7, 76}},
                     {"s3-fifo", {6.6, 1.8, 54, 0.6, 1, 60}},
                     {"sieve", {3, 1.4, 5.7, 0.2, 0.8, 74}},
                     {"w-tinylfu", {45, 15.5, 34, 74, 8.9, 77}}},
      .source =
          "built in: medians of nine calibrations, AMD EPYC, 2 cores; 20000 pages, zipf:skew=0.86",
  };
  return costs;
}

}  // namespace latchkey
