#include "layout/separate/share_separator.h"

#include <catch2/catch.hpp>
#include <vector>

#include "layout/separate/hylog_separator.h"
#include "storage/base/rng.h"

namespace latchkey::share_separator_test {
namespace {

constexpr uint64_t kPages = 20'000;

// Writes to `separator`, an interval after the other.
class Writes {
 public:
  explicit Writes(Separator& separator) : separator_(separator) { inputs_.page_id_limit = kPages; }
  template <typename Pick>
  void Run(int intervals, Pick pick) {
    for (int i = 0; i < intervals; ++i) {
      for (uint64_t w = separator_.TuningInterval(kPages); w-- > 0;) {
        separator_.OnWrite(PageId{pick(rng_)});
      }
      separator_.Tune(inputs_, [](PageId) { return true; });
    }
  }
  std::vector<bool> Hot() const {
    std::vector<bool> hot(kPages);
    for (uint64_t i = 0; i < kPages; ++i) {
      hot[i] = separator_.OnMove(PageId{i}) == Placement::kHot;
    }
    return hot;
  }

 private:
  Separator& separator_;
  TuningInputs inputs_;
  Rng rng_{7};
};

double ShareOf(const std::vector<bool>& hot) {
  return static_cast<double>(std::count(hot.begin(), hot.end(), true)) / kPages;
}

const auto kUniform = [](Rng& rng) { return rng.Below(kPages); };
// 90 % of the writes to the first 10 % of the pages.
const auto kSkewed = [](Rng& rng) {
  return rng.Below(10) > 0 ? rng.Below(kPages / 10) : rng.Below(kPages);
};

TEST_CASE("A fixed share of the pages is hot, before any history and after it") {
  const double h = GENERATE(0.0, 0.1, 0.42, 1.0);
  CAPTURE(h);
  ShareSeparator separator(ThreadRuntime(), h);
  CHECK(separator.hot_page_proportion() == h);
  Writes writes(separator);
  CHECK(ShareOf(writes.Hot()) == Approx(h).margin(.01));
  writes.Run(20, kUniform);
  CHECK(ShareOf(writes.Hot()) == Approx(h).margin(.01));
  writes.Run(20, kSkewed);
  CHECK(ShareOf(writes.Hot()) == Approx(h).margin(.01));
}

TEST_CASE("Pages that come into use are hot in the fixed share, too") {
  const double h = GENERATE(0.0, 0.42, 1.0);
  ShareSeparator separator(ThreadRuntime(), h);
  TuningInputs inputs;
  inputs.page_id_limit = kPages;
  const uint64_t used = kPages / 2;  // the other ids are free as yet
  for (int interval = 0; interval < 20; ++interval) {
    for (uint64_t i = 0; i < used; ++i) separator.OnWrite(PageId{i});
    separator.Tune(inputs, [&](PageId id) { return Raw(id) < used; });
  }
  uint64_t hot = 0;
  for (uint64_t i = used; i < kPages; ++i) hot += separator.OnWrite(PageId{i}) == Placement::kHot;
  CHECK(static_cast<double>(hot) / static_cast<double>(kPages - used) == Approx(h).margin(.02));
}

TEST_CASE("The hot pages of a fixed share are the most written ones, and follow the stream") {
  ShareSeparator separator(ThreadRuntime(), .1);
  Writes writes(separator);
  const auto found = [&](uint64_t from) {
    const std::vector<bool> hot = writes.Hot();
    const auto begin = hot.begin() + static_cast<int64_t>(from);
    return static_cast<double>(std::count(begin, begin + kPages / 10, true)) / (kPages / 10);
  };
  writes.Run(20, kSkewed);
  CHECK(found(0) > .97);
  // The hot set moves to other pages: within a few memories of the counters the choice follows.
  const auto moved = [](Rng& rng) {
    return rng.Below(10) > 0 ? kPages / 2 + rng.Below(kPages / 10) : rng.Below(kPages);
  };
  writes.Run(30, moved);
  CHECK(found(kPages / 2) > .97);
}

TEST_CASE("Under uniform writes few pages change between hot and cold") {
  ShareSeparator separator(ThreadRuntime(), .3);
  Writes writes(separator);
  writes.Run(40, kUniform);
  const std::vector<bool> before = writes.Hot();
  writes.Run(1, kUniform);
  const std::vector<bool> after = writes.Hot();
  uint64_t changed = 0;
  for (uint64_t i = 0; i < kPages; ++i) changed += before[i] != after[i];
  CHECK(static_cast<double>(changed) / kPages < .03);
}

TEST_CASE(
    "HyLog with a fixed share is chosen by its parameter, and HyLog without one stays itself") {
  CHECK(Layouts().Named("hylog").ToString() == "hylog");
  CHECK(Layouts().Named("hylog:h=0.4").ToString() == "hylog:h=0.4");
  CHECK(Layouts().Named("hylog:0.4").Make(ThreadRuntime())->hot_page_proportion() == .4);
  const auto plain = Layouts().Named("hylog").Make(ThreadRuntime());
  CHECK(dynamic_cast<HylogSeparator*>(plain.get()) != nullptr);
  for (const char* item : {"hylog:h=1.1", "hylog:h=-0.1", "hylog:h=nan", "hylog:h=none"}) {
    CHECK_THAT(std::string(Layouts().Parse(item).status().message()),
               Catch::Contains("must be a number from 0 to 1"));
  }
  CHECK_THAT(std::string(Layouts().Parse("hylog:hot=0.1").status().message()),
             Catch::Contains("h (fixed share") && Catch::Contains("default none"));
}

}  // namespace
}  // namespace latchkey::share_separator_test
