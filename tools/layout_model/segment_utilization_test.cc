#include "tools/layout_model/segment_utilization.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "layout/separate/write_cost_model.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey::segment_utilization_test {
namespace {

TEST_CASE("Victims of segments with few slots have the utilisation of the reference table") {
  struct Row {
    double u_d, of_128, of_32;
  };
  for (const Row& row : {Row{.50, .1980, .1825}, Row{.70, .4607, .4423}, Row{.80, .6219, .6022},
                         Row{.90, .7997, .7782}, Row{.95, .8943, .8722}, Row{.97, .9332, .9116},
                         Row{.98, .9526, .9317}}) {
    CAPTURE(row.u_d);
    CHECK(CleaningUtilizationOf(128, row.u_d) == Approx(row.of_128).margin(1e-4));
    CHECK(CleaningUtilizationOf(32, row.u_d) == Approx(row.of_32).margin(1e-4));
  }
}

TEST_CASE("With very many slots the utilisation of victims is that of (6.2) and of plugging") {
  for (const double u_d : {.5, .7, .8, .9, .95, .98}) {
    CAPTURE(u_d);
    CHECK(CleaningUtilizationOf(1 << 20, u_d) == Approx(CleaningUtilization(u_d)).margin(1e-5));
    CHECK(PluggingUtilizationOf(1 << 20, u_d) == Approx(PluggingUtilization(u_d)).margin(1e-5));
    CHECK(CleaningUtilizationOf(64, u_d) < CleaningUtilizationOf(128, u_d));
    CHECK(CleaningUtilizationOf(128, u_d) < CleaningUtilization(u_d));
  }
}

TEST_CASE("A disk without free space, and one without pages, have victims as full as they are") {
  CHECK(CleaningUtilizationOf(128, 0) == 0);
  CHECK(CleaningUtilizationOf(128, 1) == 1);
  CHECK(PluggingUtilizationOf(128, 1) == 1);
  CHECK(CleaningUtilizationOf(2, 1e-9) == Approx(0).margin(1e-6));
}

// Uniform writes into segments of `slots` pages, by the rules alone: without store and device.
class TinyLog {
 public:
  TinyLog(uint32_t slots, uint32_t segments, double u_d, bool plugging)
      : slots_(slots), plugging_(plugging), live_(segments, 0), holders_(segments) {
    const auto pages = static_cast<uint32_t>(u_d * slots * segments);
    for (uint32_t s = 1; s < segments; ++s) free_.push_back(s);  // 0 is open
    segment_of_.assign(pages, segments);
    place_of_.assign(pages, 0);
    for (uint32_t page = 0; page < pages; ++page) Append(page);
  }
  // Mean utilisation of the victims of so many user writes.
  double Run(uint64_t writes) {
    victims_ = emptied_ = 0;
    for (uint64_t i = 0; i < writes; ++i) {
      const auto page = static_cast<uint32_t>(rng_.Below(segment_of_.size()));
      Leave(page);
      Append(page);
    }
    return static_cast<double>(emptied_) / static_cast<double>(victims_ * slots_);
  }

 private:
  void OpenNext() {
    open_ = free_.back();
    free_.pop_back();
    filled_ = 0;
  }
  void Append(uint32_t page) {
    if (filled_ == slots_) {
      while (free_.empty() && filled_ == slots_) Clean();
      if (filled_ == slots_) OpenNext();
    }
    ++filled_;
    Enter(page, open_);
  }
  void Enter(uint32_t page, uint32_t segment) {
    segment_of_[page] = segment;
    place_of_[page] = static_cast<uint32_t>(holders_[segment].size());
    holders_[segment].push_back(page);
    ++live_[segment];
  }
  void Leave(uint32_t page) {
    std::vector<uint32_t>& pages = holders_[segment_of_[page]];
    place_of_[pages.back()] = place_of_[page];
    pages[place_of_[page]] = pages.back();
    pages.pop_back();
    --live_[segment_of_[page]];
  }
  // The closed segment with the fewest live pages, or with the most of those that have a hole.
  uint32_t Choose(bool fullest, uint32_t except) const {
    uint32_t best = static_cast<uint32_t>(live_.size());
    for (uint32_t s = 0; s < live_.size(); ++s) {
      if (s == open_ || s == except || std::find(free_.begin(), free_.end(), s) != free_.end() ||
          (fullest && live_[s] == slots_)) {
        continue;
      }
      if (best == live_.size() || (fullest ? live_[s] > live_[best] : live_[s] < live_[best])) {
        best = s;
      }
    }
    return best;
  }
  void Clean() {
    const uint32_t victim = Choose(false, static_cast<uint32_t>(live_.size()));
    ++victims_;
    emptied_ += live_[victim];
    const std::vector<uint32_t> pages = holders_[victim];
    for (const uint32_t page : pages) {
      Leave(page);
      if (plugging_) Enter(page, Choose(true, victim));
    }
    free_.push_back(victim);
    if (plugging_) return;
    OpenNext();  // the live pages begin the segment that they came from
    for (const uint32_t page : pages) {
      ++filled_;
      Enter(page, open_);
    }
  }

  const uint32_t slots_;
  const bool plugging_;
  Rng rng_{42};
  std::vector<uint32_t> live_, free_, segment_of_, place_of_;
  std::vector<std::vector<uint32_t>> holders_;
  uint32_t open_ = 0, filled_ = 0;
  uint64_t victims_ = 0, emptied_ = 0;
};

TEST_CASE("A simulated log has victims of the predicted utilisation") {
  if (kSanitizer) return;  // a steady state takes its time
  const bool plugging = GENERATE(false, true);
  CAPTURE(plugging);
  constexpr uint32_t kSlotsOfSegment = 32, kSegments = 512;
  TinyLog log(kSlotsOfSegment, kSegments, 0.9, plugging);
  log.Run(100'000);
  const double u = log.Run(150'000);
  // One segment is open, so that the others are a little fuller than the whole.
  const double expected = plugging ? PluggingUtilizationOf(kSlotsOfSegment, 0.9)
                                   : CleaningUtilizationOf(kSlotsOfSegment, 0.9);
  CHECK(u == Approx(expected).margin(0.005));
}

}  // namespace
}  // namespace latchkey::segment_utilization_test
