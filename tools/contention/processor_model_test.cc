#include "tools/contention/processor_model.h"

#include <catch2/catch.hpp>
#include <string>

#include "tools/contention/sensitivity.h"

namespace latchkey::processor_model_test {
namespace {

ProcessorModelConfig ModelOf(const char* replacement, const char* synchronization,
                             uint32_t processors, uint64_t accesses = 50'000) {
  ProcessorModelConfig config{
      .emulator = {.replacement = ReplacementAlgorithms().Named(replacement),
                   .synchronization = SynchronizationSchemes().Named(synchronization),
                   .accesses = AccessPatterns().Named("zipf"),
                   .pages = 1000,
                   .frames = 1000,
                   .work = kNanosPerMicro},
      .processors = processors,
      .accesses = accesses};
  config.emulator.times.threads = processors;
  return config;
}

struct Figures {
  double throughput, contentions;  // per second, per million accesses
};

Figures Run(const ProcessorModelConfig& config) {
  const absl::StatusOr<ProcessorModelResult> result = RunProcessorModel(config);
  REQUIRE(result.ok());
  const PoolEmulatorResult& emulated = result->emulated;
  const auto accesses = static_cast<double>(emulated.hits + emulated.misses);
  return {.throughput = accesses / emulated.interval.seconds,
          .contentions = 1e6 * static_cast<double>(emulated.contentions) / accesses};
}

TEST_CASE("One modelled processor takes the time of the work and of each call") {
  ProcessorModelConfig config = ModelOf("lru", "global", 1);
  const ModelCosts& costs = config.costs;
  const double expected =
      kNanosPerMicro + costs.work + costs.access + costs.lock + costs.algorithms.at("lru").hit;
  CHECK(Run(config).throughput == Approx(1e9 / expected).epsilon(0.01));
  CHECK(Run(config).contentions == 0);
}

TEST_CASE("A global lock limits many processors, and bp-wrapper and nb-gclock do not") {
  const double one = Run(ModelOf("lru", "global", 1)).throughput;
  const Figures global = Run(ModelOf("lru", "global", 32));
  const Figures wrapped = Run(ModelOf("lru", "bp-wrapper:free_lists=1", 32));
  const Figures lock_free = Run(ModelOf("gclock", "nb-gclock", 32));
  CHECK(global.throughput < 16 * one);
  CHECK(wrapped.throughput > 28 * one);
  CHECK(lock_free.throughput > 28 * one);
  CHECK(global.contentions > 10'000);
  CHECK(wrapped.contentions < global.contentions / 100);
}

TEST_CASE("A modelled run repeats with its seed") {
  const ProcessorModelConfig config = ModelOf("2q", "global", 8);
  const Figures one = Run(config), other = Run(config);
  CHECK(one.throughput == other.throughput);
  CHECK(one.contentions == other.contentions);
}

TEST_CASE("A pool that misses pays for the misses") {
  ProcessorModelConfig config = ModelOf("lru", "global", 1);
  config.emulator.work = 0;
  const double hits = Run(config).throughput;
  config.emulator.frames = 100;
  CHECK(Run(config).throughput < 0.8 * hits);
}

TEST_CASE("With a part for each processor, the separated buffer takes no lock and keeps growing") {
  const auto run = [](const char* synchronization, uint32_t processors) {
    ProcessorModelConfig config = ModelOf("gclock", synchronization, processors, 200'000);
    config.emulator.work = 0;
    config.emulator.accesses = AccessPatterns().Named("uniform");
    config.emulator.pages = 100'000;
    config.emulator.frames = 320;
    return Run(config);
  };
  CHECK(run("separate:actors=16", 16).throughput > 15 * run("separate:actors=1", 1).throughput);
  CHECK(run("separate:actors=16", 16).contentions == 0);
  CHECK(run("separate:actors=8", 16).contentions > 50);  // half of the processors have none
}

TEST_CASE("Pinned fixes of one hot page wait for its word, and optimistic ones do not") {
  ProcessorModelConfig config = ModelOf("gclock", "nb-gclock", 16);
  config.emulator.work = 0;
  config.emulator.accesses = AccessPatterns().Named("zipf:skew=2");
  const double optimistic = Run(config).throughput;
  config.emulator.latches = true;
  CHECK(Run(config).throughput < optimistic / 3);
}

TEST_CASE("An order of two policies that a cost turns is said to depend on it") {
  // Under bp-wrapper a hit of lirs costs its note in the queue instead of the lock.
  std::vector<LabelledModel> models = {
      {"lru", ModelOf("lru", "global", 1, 5000)},
      {"lirs", ModelOf("lirs", "bp-wrapper:free_lists=1", 1, 5000)},
      {"mq", ModelOf("mq", "global", 1, 5000)}};
  for (LabelledModel& model : models) {
    model.config.emulator.work = 0;
    model.config.costs.queue = 18;
    model.config.costs.lock = 10;
  }
  const auto statements = AnalyseSensitivity(models, [](double) {});
  REQUIRE(statements.ok());
  REQUIRE(statements->size() == 3);  // there are no contentions
  const Statement& close = statements->at(0);
  CHECK(close.Text(models) == "lru is faster than lirs");
  CHECK(close.holds);
  CHECK_THAT(close.depends_on, Catch::VectorContains(std::string("queue halved")));
  const Statement& clear = statements->at(1);
  CHECK(clear.Text(models) == "lru is faster than mq");
  CHECK(clear.depends_on.empty());
}

TEST_CASE("Costs survive being written and read, and a bad document is refused with the remedy") {
  const Json document = ToJson(DefaultModelCosts());
  const absl::StatusOr<ModelCosts> read = ModelCostsFrom(document);
  REQUIRE(read.ok());
  CHECK(*read == DefaultModelCosts());
  const auto refusal = [](Json changed) {
    const absl::Status status = ModelCostsFrom(changed).status();
    REQUIRE(absl::IsInvalidArgument(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("contention calibrate"));
    return std::string(status.message());
  };
  refusal(Json::array());
  Json changed = document;
  changed["nanoseconds"].erase("transfer");
  CHECK_THAT(refusal(changed), Catch::Contains("no number \"transfer\""));
  changed = document;
  changed["nanoseconds"]["lock"] = -3;
  CHECK_THAT(refusal(changed), Catch::Contains("lock is -3: 0 to"));
  changed = document;
  changed["algorithms"]["lru"] = 7;
  CHECK_THAT(refusal(changed), Catch::Contains("lru has no number \"hit\""));
}

TEST_CASE("A model without costs for its algorithm is refused with those that there are") {
  ProcessorModelConfig config = ModelOf("lru", "global", 2);
  config.costs.algorithms = {{"2q", {}}};
  const absl::Status refused = RunProcessorModel(config).status();
  REQUIRE(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("lru, only 2q"));
}

TEST_CASE("A scaled cost is the only one that differs") {
  for (const NamedCost& cost : NamedCosts()) {
    CAPTURE(std::string(cost.name));
    const ModelCosts scaled = Scaled(DefaultModelCosts(), cost, 2);
    CHECK_FALSE(scaled == DefaultModelCosts());
    CHECK(Scaled(scaled, cost, 0.5) == DefaultModelCosts());
  }
}

}  // namespace
}  // namespace latchkey::processor_model_test
