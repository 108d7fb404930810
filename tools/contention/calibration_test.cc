#include "tools/contention/calibration.h"

#include <catch2/catch.hpp>

namespace latchkey::calibration_test {
namespace {

std::atomic<bool> stop;
std::atomic<uint64_t> draws;

/// Asks to stop at its first draw, and counts the others.
class StoppingStream final : public AccessStream {
 public:
  uint64_t Next() override {
    stop.store(true);
    return draws.fetch_add(1) % 1024;
  }
};

constexpr AccessPatternInfo kPatterns[] = {
    {{"stopping", "asks to stop", {}},
     false,
     [](const AccessPatternConfig&, std::span<const double>) -> std::unique_ptr<AccessStream> {
       return std::make_unique<StoppingStream>();
     }}};
constexpr Registry<AccessPatternInfo> kStopping("access pattern", kPatterns);

// It went on to the end of what it was measuring, some tenths of a second each.
TEST_CASE("A calibration ends within a measurement when it is told to stop") {
  stop.store(false);
  draws.store(0);
  const CalibrationConfig config{.algorithms = {"lru"},
                                 .accesses = kStopping.Named("stopping"),
                                 .pages = 1024,
                                 .repetitions = 1000,
                                 .stop = &stop};
  CHECK(absl::IsCancelled(Calibrate(config).status()));
  CHECK(draws.load() <= 20'000);  // what is done once, before the repetitions
}

TEST_CASE("A calibration that is told to stop before it begins measures nothing") {
  stop.store(true);
  draws.store(0);
  const CalibrationConfig config{
      .algorithms = {}, .accesses = kStopping.Named("stopping"), .stop = &stop};
  CHECK(absl::IsCancelled(Calibrate(config).status()));
  CHECK(draws.load() == 0);
}

}  // namespace
}  // namespace latchkey::calibration_test
