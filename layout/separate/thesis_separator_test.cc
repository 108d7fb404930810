#include "layout/separate/thesis_separator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "layout/separate/separator.h"
#include "storage/base/rng.h"

namespace latchkey::thesis_separator_test {
namespace {

constexpr uint64_t kPages = 20'000;
constexpr Nanos kSecond = 1'000'000'000;

// A store whose disks take 5 ms for a page and 6.25 ms for a segment of 32 pages, and are busy for a share of the time.
class Store {
 public:
  Store(Separator& separator, double space_utilization, double busy = 1)
      : separator_(separator), busy_(busy) {
    inputs_.space_utilization = space_utilization;
    inputs_.page_id_limit = kPages;
    inputs_.page_size = 4096;
    inputs_.disks = 2;
    Tune();
  }
  // `writes` writes, by `pick`, in `seconds`.
  template <typename Pick>
  void Run(uint64_t writes, Pick pick, Nanos time) {
    const uint64_t calls = std::max<uint64_t>(1, writes / separator_.TuningInterval(kPages));
    for (uint64_t w = 0, call = 1; w < writes; ++w) {
      separator_.OnWrite(PageId{pick(rng_)});
      if (w + 1 < writes * call / calls) continue;
      ++call;
      inputs_.now += time / static_cast<Nanos>(calls) + 1;
      Serve(time / static_cast<Nanos>(calls));
      Tune();
    }
  }
  double HotShare() const {
    uint64_t hot = 0;
    for (uint64_t i = 0; i < kPages; ++i) hot += separator_.OnMove(PageId{i}) == Placement::kHot;
    return static_cast<double>(hot) / kPages;
  }

 private:
  void Tune() {
    separator_.Tune(inputs_, [](PageId) { return true; });
  }
  // The disks write pages and segments, half of their busy time each.
  void Serve(Nanos time) {
    served_ += static_cast<Nanos>(static_cast<double>(time) * busy_ * inputs_.disks / 2);
    SetTotals(IoClass::kPageWrite, 4096, 5'000'000);
    SetTotals(IoClass::kSegmentWrite, 32 * 4096, 6'250'000);
  }
  void SetTotals(IoClass io_class, uint64_t bytes, Nanos service) {
    IoClassStats& stats = inputs_.device.by_class[static_cast<size_t>(io_class)];
    stats.requests = static_cast<uint64_t>(served_ / service);
    stats.bytes = stats.requests * bytes;
    stats.service = static_cast<Nanos>(stats.requests) * service;
  }

  Separator& separator_;
  const double busy_;
  Nanos served_ = 0;  // by the pages, and as much by the segments
  TuningInputs inputs_;
  Rng rng_{7};
};

const auto kUniform = [](Rng& rng) { return rng.Below(kPages); };
// 95 % of the writes to the first 5 % of the pages.
const auto kSkewed = [](Rng& rng) {
  return rng.Below(20) > 0 ? rng.Below(kPages / 20) : rng.Below(kPages);
};

TEST_CASE("As published, every page is hot until the first interval of 20 minutes ends") {
  ThesisSeparator separator(ThreadRuntime(), std::nullopt, ThesisSeparator::kInterval);
  Store store(separator, 0.97);
  store.Run(200'000, kSkewed, 19 * 60 * kSecond);
  CHECK(store.HotShare() == 1);
  CHECK(separator.adjusted_eta() == 0);
  store.Run(20'000, kSkewed, 2 * 60 * kSecond);
  CHECK(store.HotShare() < 0.2);
  CHECK(separator.hot_page_proportion() == Approx(store.HotShare()));
}

TEST_CASE("As published, eta is the ratio of service times over the share of busy time") {
  const double busy = GENERATE(1.0, 0.75);
  ThesisSeparator separator(ThreadRuntime(), std::nullopt, kSecond);
  Store store(separator, 0.9, busy);
  store.Run(50'000, kUniform, 100 * kSecond);
  // 5 ms a page against 6.25 / 32 ms.
  CHECK(separator.adjusted_eta() == Approx(25.6 / busy).epsilon(.02));
}

TEST_CASE("As published, the hot pages are those that were written most in the last interval") {
  ThesisSeparator separator(ThreadRuntime(), std::nullopt, 10 * kSecond);
  Store store(separator, 0.97);
  store.Run(400'000, kSkewed, 10 * kSecond);
  // The hottest 5 % had 380 writes each, the others 1 on average.
  for (uint64_t i = 0; i < kPages / 20; ++i)
    REQUIRE(separator.OnMove(PageId{i}) == Placement::kHot);
  CHECK(store.HotShare() < 0.2);
  // The pages change: after an interval the decision follows.
  const auto moved = [](Rng& rng) { return kPages / 2 + kSkewed(rng) / 2; };
  store.Run(400'000, moved, 10 * kSecond);
  CHECK(separator.OnMove(PageId{0}) == Placement::kInPlace);
  CHECK(separator.OnMove(PageId{kPages / 2}) == Placement::kHot);
}

TEST_CASE(
    "As published, an empty disk has only hot pages and a full one under uniform writes only cold "
    "ones") {
  for (const double space_utilization : {0.5, 0.995}) {
    ThesisSeparator separator(ThreadRuntime(), std::nullopt, 10 * kSecond);
    Store store(separator, space_utilization);
    store.Run(2'000'000, kUniform, 10 * kSecond);
    CHECK(store.HotShare() == Approx(space_utilization < 0.9 ? 1.0 : 0.0).margin(.15));
  }
}

// LAYOUT_REFERENCE A11: with few writes per page, noise looks like skew. Ours does not do that.
TEST_CASE("As published, few writes per page look like skew") {
  ThesisSeparator separator(ThreadRuntime(), std::nullopt, 10 * kSecond);
  Store store(separator, 0.97);
  store.Run(2 * kPages, kUniform, 10 * kSecond);
  CHECK(store.HotShare() > 0.2);
  CHECK(store.HotShare() < 0.9);
}

TEST_CASE("With a fixed proportion, pages of the threshold's count are all hot") {
  ThesisSeparator separator(ThreadRuntime(), 0.05, 10 * kSecond);
  Store store(separator, 0.97);
  store.Run(400'000, kSkewed, 10 * kSecond);
  CHECK(store.HotShare() == Approx(0.05).margin(.005));
  ThesisSeparator none(ThreadRuntime(), 0.0, 10 * kSecond);
  Store cold(none, 0.97);
  cold.Run(400'000, kSkewed, 10 * kSecond);
  CHECK(cold.HotShare() == 0);
  ThesisSeparator all(ThreadRuntime(), 1.0, 10 * kSecond);
  Store hot(all, 0.97);
  hot.Run(400'000, kSkewed, 10 * kSecond);
  CHECK(hot.HotShare() == 1);
}

TEST_CASE("hylog:thesis and its parameters have names") {
  CHECK(ParseLayout("hylog")->ToString() == "hylog");
  CHECK(ParseLayout("hylog:thesis")->ToString() == "hylog:by=thesis");
  CHECK(ParseLayout("hylog:thesis:h=0.3:interval=60s")->ToString() ==
        "hylog:h=0.3:by=thesis:interval=60s");
  CHECK(ParseLayout("hylog:h=0.3")->ToString() == "hylog:h=0.3");
  const absl::Status lone = ParseLayout("hylog:interval=60s").status();
  CHECK_THAT(std::string(lone.message()), Catch::Contains("hylog:thesis:interval="));
  for (const char* wrong : {"hylog:by=guess", "hylog:thesis:interval=0s", "hylog:thesis:h=2"}) {
    CAPTURE(wrong);
    CHECK(absl::IsInvalidArgument(ParseLayout(wrong).status()));
  }
}

}  // namespace
}  // namespace latchkey::thesis_separator_test
