#include "tools/campaign/corruption/corruption_campaign.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "layout/geometry.h"
#include "tools/campaign/corruption/corruption_workers.h"
#include "tools/campaign/shared/add_members.h"

namespace latchkey {
namespace {

// Limit of the memory that one case may add to the process: far more than an open of so small an
// image takes, far less than a corrupted size would take if it were believed.
constexpr uint64_t kMostMemoryKib = 64 << 10;

uint64_t PeakMemoryKib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss);
}

bool IsNamed(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status);
}

/// Whether the damage replaces a page by an older one.
bool IsStalePage(const CorruptionImage& image, const Damage& damage) {
  const bool is_page = damage.disk == kDataDisk && damage.offset >= kHeaderAreaBytes;
  const bool is_older =
      damage.kind == DamageKind::kLostWrite || damage.kind == DamageKind::kOlderPage;
  return is_page && is_older &&
         Damaged(image, damage)[kDataDisk].Hash() != image.disks[kDataDisk].Hash();
}

std::string FlagsOf(const CorruptionImage& image, const Damage& damage) {
  return fmt::format("--layout={} --image={} --seeds={} --damage={}", image.layout,
                     ImageStateName(image.state), image.seed, damage.Name());
}

/// The cases of one image.
class ImageSweep final : public CaseRunner {
 public:
  ImageSweep(const CorruptionImage& image, const CorruptionOptions& options, uint64_t cases)
      : image_(image),
        options_(options),
        list_(image, options.bits),
        chosen_(list_.Choose(cases, image.seed)) {}

  uint64_t cases() const override { return chosen_.size(); }
  std::string Describe(uint64_t number) const override {
    return FlagsOf(image_, list_.at(chosen_[number]));
  }
  bool RunCase(uint64_t number, CorruptionTally* tally, std::string* failure) override {
    const Damage damage = list_.at(chosen_[number]);
    const bool reopen = options_.reopen_every > 0 && number % options_.reopen_every == 0;
    const uint64_t memory_before = PeakMemoryKib();
    CaseVerdict verdict = RunCorruptionCase(image_, damage, reopen, failure);
    const uint64_t memory = PeakMemoryKib() - memory_before;
    if (memory > kMostMemoryKib) {
      verdict = CaseVerdict::kWrong;
      *failure = fmt::format("took {} KiB of memory", memory);
    }
    ++tally->cases;
    ++tally->by_kind[static_cast<size_t>(damage.kind)];
    ++tally->by_verdict[static_cast<size_t>(verdict)];
    tally->reopened += reopen && verdict != CaseVerdict::kRefused;
    if (IsStalePage(image_, damage)) {
      ++tally->stale;
      tally->stale_refused += verdict == CaseVerdict::kRefused;
    }
    tally->most_memory_kib = std::max(tally->most_memory_kib, memory);
    return verdict != CaseVerdict::kWrong;
  }

 private:
  const CorruptionImage& image_;
  const CorruptionOptions& options_;
  const DamageList list_;
  const std::vector<uint64_t> chosen_;
};

/// The share of image `number` of `images` in `total`.
uint64_t ShareOf(uint64_t total, uint64_t number, uint64_t images) {
  return total * (number + 1) / images - total * number / images;
}

class Campaign {
 public:
  explicit Campaign(const CorruptionOptions& options)
      : options_(options),
        images_(options.layouts.size() * options.states.size() * options.seeds) {}

  CorruptionReport Run() {
    for (const std::string& layout : options_.layouts) {
      for (uint64_t i = 0; i < options_.seeds; ++i) {
        for (const ImageState state : options_.states) {
          if (report_.failures.size() >= options_.max_failures) return std::move(report_);
          Sweep(layout, state, options_.first_seed + i);
        }
      }
    }
    return std::move(report_);
  }

 private:
  void Sweep(const std::string& layout, ImageState state, uint64_t seed) {
    const absl::StatusOr<CorruptionImage> image = MakeCorruptionImage(layout, state, seed);
    if (!image.ok()) {
      report_.failures.push_back(fmt::format("--layout={} --image={} --seeds={}: {}", layout,
                                             ImageStateName(state), seed,
                                             std::string(image.status().message())));
      return;
    }
    const uint64_t number = report_.images++;
    uint64_t cases = options_.cases == 0 ? 0 : ShareOf(options_.cases, number, images_);
    if (options_.cases == 0 || cases > 0) {
      ImageSweep sweep(*image, options_, cases);
      RunCases(sweep, options_.jobs, options_.max_failures, &report_.tally, &report_.failures);
    }
    std::string failure;
    ReadDamagedPages(*image, ShareOf(options_.reads, number, images_), &report_.tally, &failure);
    if (!failure.empty()) report_.failures.push_back(std::move(failure));
  }

  const CorruptionOptions& options_;
  const uint64_t images_;
  CorruptionReport report_;
};

}  // namespace

void CorruptionTally::Add(const CorruptionTally& other) {
  for (size_t i = 0; i < kDamageKinds; ++i) by_kind[i] += other.by_kind[i];
  for (size_t i = 0; i < kCaseVerdicts; ++i) by_verdict[i] += other.by_verdict[i];
  using T = CorruptionTally;
  AddMembers<&T::cases, &T::reopened, &T::stale, &T::stale_refused, &T::reads, &T::reads_refused,
             &T::reads_unharmed>(other, this);
  most_memory_kib = std::max(most_memory_kib, other.most_memory_kib);
}

CaseVerdict JudgeCase(const CorruptionImage& image, const Damage& damage,
                      const absl::StatusOr<ImageContents>& found, std::string* why) {
  if (!found.ok()) {
    if (IsNamed(found.status())) return CaseVerdict::kRefused;
    *why = "no named error: " + found.status().ToString();
    return CaseVerdict::kWrong;
  }
  if (image.IsRight(found->fingerprint)) return CaseVerdict::kRight;
  if (IsInLastGroup(image, damage) &&
      image.IsRightUpTo(NewestGroup(Damaged(image, damage)[kLogDisk]), found->fingerprint)) {
    return CaseVerdict::kLastGroup;
  }
  const std::optional<GroupName> left = NewestGroupLeft(image, damage);
  if (left && image.IsRightUpTo(*left, found->fingerprint)) return CaseVerdict::kOlderLog;
  *why = "wrong data: " + image.oracle.Explain(image.position, found->fingerprint);
  return CaseVerdict::kWrong;
}

CaseVerdict RunCorruptionCase(const CorruptionImage& image, const Damage& damage, bool reopen,
                              std::string* what) {
  const absl::StatusOr<ImageContents> found = OpenImage(image, Damaged(image, damage), reopen);
  const CaseVerdict verdict = JudgeCase(image, damage, found, what);
  if (verdict != CaseVerdict::kWrong && !found.ok()) *what = found.status().ToString();
  return verdict;
}

CorruptionReport RunCorruptionCampaign(const CorruptionOptions& options) {
  return Campaign(options).Run();
}

}  // namespace latchkey
