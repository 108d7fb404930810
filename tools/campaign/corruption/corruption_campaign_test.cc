#include "tools/campaign/corruption/corruption_campaign.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iterator>
#include <string>

#include "layout/testing/layouts_under_test.h"
#include "storage/base/sanitizers.h"
#include "storage/wal/log_format.h"
#include "tools/campaign/corruption/corruption_workers.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey::corruption_campaign_test {
namespace {

constexpr uint64_t kFewer = kSanitizer ? 20 : 1;

const CorruptionImage& ImageOf(ImageState state) {
  static const std::vector<CorruptionImage> kImages = [] {
    std::vector<CorruptionImage> images;
    for (const ImageState each : kAllImageStates) {
      auto image = MakeCorruptionImage("hylog", each, 1);
      if (!image.ok()) FAIL(image.status().message());
      images.push_back(*std::move(image));
    }
    return images;
  }();
  return kImages[static_cast<size_t>(state)];
}

TEST_CASE("No damage of a database is taken for data, on any layout, closed or crashed") {
  const CorruptionReport report =
      RunCorruptionCampaign({.cases = 3600 / kFewer, .reads = 24'000 / kFewer, .max_failures = 1});
  for (const std::string& failure : report.failures) FAIL(failure);
  CHECK(report.images == LayoutItems().size() * std::size(kAllImageStates));
  CHECK(report.tally.cases == 3600 / kFewer);
  CHECK(report.tally.of(CaseVerdict::kRight) > 0);
  CHECK(report.tally.of(CaseVerdict::kRefused) > 0);
  CHECK(report.tally.reads == 24'000 / kFewer);
  CHECK(report.tally.reads_refused + report.tally.reads_unharmed == report.tally.reads);
  CHECK(report.tally.reads_unharmed <
        report.tally.reads / 20);  // bits of pages that are compressed
}

TEST_CASE("The judge of damaged images accuses a sound image that is too old") {
  for (const ImageState state : kAllImageStates) {
    const CorruptionImage& image = ImageOf(state);
    std::string what;
    const Damage older{.kind = DamageKind::kOlderImage};
    INFO(ImageStateName(state));
    CHECK(RunCorruptionCase(image, older, false, &what) == CaseVerdict::kWrong);
    CHECK(what.find("wrong data") == 0);
  }
}

TEST_CASE("The judge of damaged images accuses errors that nobody can act on") {
  std::string why;
  const CorruptionImage& image = ImageOf(ImageState::kClosed);
  const Damage damage{};
  const auto verdict = [&](absl::Status status) { return JudgeCase(image, damage, status, &why); };
  CHECK(verdict(absl::DataLossError("page 7")) == CaseVerdict::kRefused);
  CHECK(verdict(absl::FailedPreconditionError("not ours")) == CaseVerdict::kRefused);
  CHECK(verdict(absl::InternalError("hangs")) == CaseVerdict::kWrong);
  CHECK(verdict(absl::NotFoundError("no such page")) == CaseVerdict::kWrong);
}

TEST_CASE("Commits may be missing only when the last group of a crashed log is damaged itself") {
  const CorruptionImage& image = ImageOf(ImageState::kCrashed);
  REQUIRE_FALSE(image.last_group.empty());
  const uint64_t begin = image.last_group.front().begin;
  const Damage inside{.disk = kLogDisk, .offset = begin};
  const Damage before{.disk = kLogDisk, .offset = begin - 1};
  const Damage elsewhere{.disk = kDataDisk, .offset = begin};
  CHECK(IsInLastGroup(image, inside));
  CHECK_FALSE(IsInLastGroup(image, before));
  CHECK_FALSE(IsInLastGroup(image, elsewhere));
  CHECK(ImageOf(ImageState::kClosed).last_group.empty());
}

// A splice of older bytes that began within the last group kept the group's header and tore its
// body. The campaign called this wrong data, but nothing on the disks tells it from an unfinished
// group.
TEST_CASE("A splice that tears the last group leaves what the groups before it say, exactly") {
  int left_groups = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const auto image = MakeCorruptionImage("overwrite", ImageState::kCrashed, seed);
    REQUIRE(image.ok());
    const ByteRange last = image->last_group.front();
    if (last.end - last.begin <= kMinLogBlock) continue;
    INFO(seed);
    const Damage within{
        .kind = DamageKind::kOlderTail, .disk = kLogDisk, .offset = last.begin + kMinLogBlock};
    const auto left = NewestGroupLeft(*image, within);
    REQUIRE(left.has_value());
    CHECK(*left < image->groups.back().name);
    std::string what;
    const auto found = OpenImage(*image, Damaged(*image, within), false);
    const CaseVerdict verdict = JudgeCase(*image, within, found, &what);
    // Refused where the splice also hit older groups, since slots are in no order.
    CHECK(verdict == (found.ok() ? CaseVerdict::kOlderLog : CaseVerdict::kRefused));
    left_groups += found.ok();
    const auto older = OpenImage(*image, image->older, false);
    REQUIRE(older.ok());
    CHECK(JudgeCase(*image, within, older, &what) == CaseVerdict::kWrong);
  }
  CHECK(left_groups > 0);
}

TEST_CASE("A damage is repeated by its name and changes nothing but what it names") {
  const CorruptionImage& image = ImageOf(ImageState::kCrashed);
  const DamageList list(image, 8);
  REQUIRE(list.size() > 100'000);
  for (const uint64_t index : list.Choose(400 / kFewer, 7)) {
    const Damage damage = list.at(index);
    const auto again = DamageOf(damage.Name());
    REQUIRE(again.has_value());
    CHECK(again->Name() == damage.Name());
    const std::vector<DiskImage> first = Damaged(image, damage), second = Damaged(image, *again);
    for (uint32_t disk = 0; disk < kImageDisks; ++disk) {
      CHECK(first[disk].Hash() == second[disk].Hash());
      if (disk != damage.disk) CHECK(first[disk].Hash() == image.disks[disk].Hash());
    }
    if (damage.kind == DamageKind::kFlip) {
      CHECK(first[damage.disk].Hash() != image.disks[damage.disk].Hash());
    }
  }
  CHECK_FALSE(DamageOf("flip:0:12").has_value());
  CHECK_FALSE(DamageOf("flip:9:12:0").has_value());
  CHECK_FALSE(DamageOf("bend:0:12:0").has_value());
}

TEST_CASE("Every byte of an image in use is flipped once, and every bit on request") {
  const CorruptionImage& image = ImageOf(ImageState::kClosed);
  const DamageList bytes(image, 1), bits(image, 8);
  uint64_t flips_of_bytes = 0, flips_of_bits = 0;
  for (const uint64_t index : bytes.Choose(0, 1)) {
    flips_of_bytes += bytes.at(index).kind == DamageKind::kFlip;
  }
  for (const uint64_t index : bits.Choose(0, 1)) {
    flips_of_bits += bits.at(index).kind == DamageKind::kFlip;
  }
  CHECK(flips_of_bytes > 100'000);
  CHECK(flips_of_bits == 8 * flips_of_bytes);
}

/// A runner with one case that ends its process.
class Deadly final : public CaseRunner {
 public:
  uint64_t cases() const override { return 9; }
  std::string Describe(uint64_t number) const override { return "case " + std::to_string(number); }
  bool RunCase(uint64_t number, CorruptionTally* tally, std::string* failure) override {
    if (number == 3) std::_Exit(7);
    ++tally->cases;
    if (number == 6) *failure = "is wrong";
    return number != 6;
  }
};

TEST_CASE("A case that ends its process is a finding, and the others go on") {
  Deadly runner;
  CorruptionTally tally;
  std::vector<std::string> failures;
  RunCases(runner, 2, 5, &tally, &failures);
  CHECK(tally.cases == 9);
  REQUIRE(failures.size() == 2);
  std::sort(failures.begin(), failures.end());
  CHECK(failures[0] == "case 3: ended with exit code 7");
  CHECK(failures[1] == "case 6: is wrong");
}

}  // namespace
}  // namespace latchkey::corruption_campaign_test
