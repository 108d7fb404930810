#include "bufferpool/prefetch_gauge.h"

#include <catch2/catch.hpp>

namespace latchkey::prefetch_gauge_test {
namespace {

constexpr uint32_t kBatches = PrefetchGauge::kBatches;

// For how many of `batches` batches without a missing page the gauge asks.
uint32_t AskedOf(PrefetchGauge& gauge, uint32_t batches) {
  uint32_t asked = 0;
  for (uint32_t i = 0; i < batches; ++i) {
    if (!gauge.ShouldAsk()) continue;
    gauge.Note(false);
    ++asked;
  }
  return asked;
}

TEST_CASE("The gauge asks about every 64th batch only once 64 in a row had no missing page") {
  PrefetchGauge gauge;
  CHECK(AskedOf(gauge, kBatches) == kBatches);
  CHECK(AskedOf(gauge, 10 * kBatches) == 10);
}

TEST_CASE("After a batch with a missing page the gauge asks about each of the next 64") {
  PrefetchGauge gauge;
  AskedOf(gauge, 3 * kBatches);
  gauge.Note(true);
  CHECK(AskedOf(gauge, kBatches) == kBatches);
  CHECK(AskedOf(gauge, kBatches) == 1);
}

}  // namespace
}  // namespace latchkey::prefetch_gauge_test
