#include "tools/layout_lab/page_chooser.h"

#include <algorithm>
#include <cmath>

#include "storage/base/check.h"
#include "tpcc-lite/bench/zipf.h"
#include "tpcc-lite/workload/random_inputs.h"

namespace latchkey {
namespace {

/// The first `page_percent` of the places, at least one, get `write_percent` of the choices.
class HotPlaces {
 public:
  HotPlaces(uint64_t places, double write_percent, double page_percent)
      : places_(places),
        hot_(std::clamp<uint64_t>(
            static_cast<uint64_t>(std::llround(static_cast<double>(places) * page_percent / 100)),
            1, places)),
        hot_share_(write_percent / 100) {}
  uint64_t Next(Rng& rng) const {
    const bool hot = hot_ == places_ || rng.Unit() < hot_share_;
    return hot ? rng.Below(hot_) : hot_ + rng.Below(places_ - hot_);
  }

 private:
  const uint64_t places_, hot_;
  const double hot_share_;
};

class Uniform final : public PageChooser {
 public:
  explicit Uniform(uint64_t pages) : pages_(pages) {}
  uint64_t Next(Rng& rng) override { return rng.Below(pages_); }

 private:
  const uint64_t pages_;
};

class HotCold final : public PageChooser {
 public:
  HotCold(uint64_t pages, double write_percent, double page_percent, uint64_t seed)
      : places_(pages, write_percent, page_percent), page_of_(pages, seed) {}
  uint64_t Next(Rng& rng) override { return page_of_(places_.Next(rng)); }

 private:
  const HotPlaces places_;
  const Permutation page_of_;
};

class Knuth final : public PageChooser {
 public:
  Knuth(uint64_t pages, double write_percent, double page_percent, uint64_t seed)
      : pages_(pages),
        exponent_(std::log(page_percent / 100) / std::log(write_percent / 100)),
        page_of_(pages, seed) {}
  uint64_t Next(Rng& rng) override {
    // The inverse of w(h) = h^theta; exponent_ is 1 / theta.
    const double h = std::pow(rng.Unit(), exponent_);
    const auto rank = static_cast<uint64_t>(h * static_cast<double>(pages_));
    return page_of_(std::min(rank, pages_ - 1));
  }

 private:
  const uint64_t pages_;
  const double exponent_;
  const Permutation page_of_;
};

class Zipf final : public PageChooser {
 public:
  Zipf(uint64_t pages, double theta, uint64_t seed) : ranks_(pages, theta), page_of_(pages, seed) {}
  uint64_t Next(Rng& rng) override { return page_of_(ranks_.Next(rng)); }

 private:
  const ZipfGenerator ranks_;
  const Permutation page_of_;
};

class MovingHotSet final : public PageChooser {
 public:
  MovingHotSet(uint64_t pages, double write_percent, double page_percent, double lap)
      : pages_(pages), places_(pages, write_percent, page_percent), choices_per_step_(lap) {}
  uint64_t Next(Rng& rng) override {
    const auto steps = static_cast<uint64_t>(static_cast<double>(choices_++) / choices_per_step_);
    return (places_.Next(rng) + steps) % pages_;
  }

 private:
  const uint64_t pages_;
  const HotPlaces places_;
  const double choices_per_step_;  // the hot set moves on by one page
  uint64_t choices_ = 0;
};

class NuRand final : public PageChooser {
 public:
  NuRand(uint64_t pages, uint64_t rows, uint64_t seed) : rows_(rows) {
    const auto keys = static_cast<uint32_t>(pages * rows);
    keys_.a = ScaledA(8191, 100'000, keys);
    keys_.high = keys - 1;
    keys_.c = static_cast<uint32_t>(Rng(seed).Below(uint64_t{keys_.a} + 1));
  }
  uint64_t Next(Rng& rng) override { return keys_.Draw(rng) / rows_; }

 private:
  const uint64_t rows_;
  NonUniform keys_;
};

}  // namespace

std::unique_ptr<PageChooser> NewUniformPages(uint64_t pages) {
  return std::make_unique<Uniform>(pages);
}

std::unique_ptr<PageChooser> NewHotColdPages(uint64_t pages, double write_percent,
                                             double page_percent, uint64_t seed) {
  return std::make_unique<HotCold>(pages, write_percent, page_percent, seed);
}

std::unique_ptr<PageChooser> NewKnuthPages(uint64_t pages, double write_percent,
                                           double page_percent, uint64_t seed) {
  LATCHKEY_CHECK(page_percent > 0 && page_percent <= write_percent && write_percent < 100);
  return std::make_unique<Knuth>(pages, write_percent, page_percent, seed);
}

std::unique_ptr<PageChooser> NewZipfPages(uint64_t pages, double theta, uint64_t seed) {
  return std::make_unique<Zipf>(pages, theta, seed);
}

std::unique_ptr<PageChooser> NewMovingHotSet(uint64_t pages, double write_percent,
                                             double page_percent, double lap) {
  return std::make_unique<MovingHotSet>(pages, write_percent, page_percent, lap);
}

std::unique_ptr<PageChooser> NewNuRandPages(uint64_t pages, uint64_t rows, uint64_t seed) {
  LATCHKEY_CHECK(rows > 0 && pages <= kMostNuRandRows / rows);
  return std::make_unique<NuRand>(pages, rows, seed);
}

}  // namespace latchkey
