// The flags and the output of latchkey_campaign corruption.
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tools/campaign/corruption/corruption_campaign.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/seed_range.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

struct Flags {
  CorruptionOptions campaign;
  std::vector<std::string> images = {"closed", "crashed", "torn"};
  std::string seeds = "1";
  std::string damage;
};

void AddFlags(CampaignFlags& command, Flags& flags) {
  CorruptionOptions& campaign = flags.campaign;
  command.Add("--layout", campaign.layouts, "Layouts, separated by commas")
      .SeparatedByCommas()
      .OneOf(LayoutItems());
  command.Add("--image", flags.images, "closed, crashed, torn")
      .SeparatedByCommas()
      .OneOf({"closed", "crashed", "torn"});
  command.Add("--seeds", flags.seeds, "FIRST..LAST, or one").ShowDefault();
  command.Add("--cases", campaign.cases, "Damages of all images together; 0 = every one")
      .ShowDefault();
  command.Add("--reads", campaign.reads, "Damaged pages read below an open database").ShowDefault();
  command.Add("--bits", campaign.bits, "Of each byte in use, flipped one at a time: 1 or 8")
      .OneOf({"1", "8"})
      .ShowDefault();
  command
      .Add("--reopen-every", campaign.reopen_every,
           "Every n-th image is closed and opened again; 0 = never")
      .ShowDefault();
  command.Add("--jobs", campaign.jobs, "Processes at a time; 0 = this one alone")
      .Range(0, 256)
      .ShowDefault();
  command.Add("--max-failures", campaign.max_failures, "Stop behind about so many")
      .Range(1, 1000)
      .ShowDefault();
  command.Add("--damage", flags.damage, "Only this one, KIND:DISK:OFFSET:BIT as failures say");
}

const char* VerdictName(CaseVerdict verdict) {
  static constexpr const char* kVerdicts[kCaseVerdicts] = {"right", "refused", "last group lost",
                                                           "older log", "WRONG"};
  return kVerdicts[static_cast<size_t>(verdict)];
}

/// Runs one damage on the first image that the flags name.
int RepeatOne(const Flags& flags, const Damage& damage) {
  const CorruptionOptions& options = flags.campaign;
  const absl::StatusOr<CorruptionImage> image =
      MakeCorruptionImage(options.layouts.front(), options.states.front(), options.first_seed);
  std::string what;
  CaseVerdict verdict = CaseVerdict::kWrong;
  if (image.ok()) {
    verdict = RunCorruptionCase(*image, damage, options.reopen_every > 0, &what);
  } else {
    what = image.status().ToString();
  }
  fmt::print("{}: {}\ncounts: corruption cases=1 wrong={}\n", VerdictName(verdict), what,
             verdict == CaseVerdict::kWrong ? 1 : 0);
  return verdict == CaseVerdict::kWrong ? 1 : 0;
}

void PrintCounts(const CorruptionReport& report, double cpu_seconds) {
  const CorruptionTally& tally = report.tally;
  uint64_t units = 0, splices = 0;
  for (size_t k = 0; k < kDamageKinds; ++k) {
    const auto kind = static_cast<DamageKind>(k);
    if (kind >= DamageKind::kZeros && kind <= DamageKind::kShiftDown) units += tally.of(kind);
    if (kind >= DamageKind::kOlderTail) splices += tally.of(kind);
  }
  fmt::print(
      "counts: corruption images={} cases={} flips={} units={} lengths={} splices={} right={} "
      "refused={} last_group={} older_log={} wrong={} stale={} stale_refused={} reopened={} "
      "reads={} reads_refused={} reads_unharmed={} most_memory_kib={} cpu_s={:.1f}\n",
      report.images, tally.cases, tally.of(DamageKind::kFlip), units,
      tally.of(DamageKind::kTruncate) + tally.of(DamageKind::kExtend), splices,
      tally.of(CaseVerdict::kRight), tally.of(CaseVerdict::kRefused),
      tally.of(CaseVerdict::kLastGroup), tally.of(CaseVerdict::kOlderLog),
      tally.of(CaseVerdict::kWrong), tally.stale, tally.stale_refused, tally.reopened, tally.reads,
      tally.reads_refused, tally.reads_unharmed, tally.most_memory_kib, cpu_seconds);
}

}  // namespace

int RunCorruptionCommand(const std::vector<std::string>& arguments) {
  CampaignFlags command("Damages small databases in every place and opens them");
  Flags flags;
  AddFlags(command, flags);
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  if (!ParseSeeds(flags.seeds, &flags.campaign)) {
    fmt::print(stderr, "--seeds is FIRST..LAST, or one number\n");
    return 2;
  }
  flags.campaign.states.clear();
  for (const ImageState state : kAllImageStates) {
    for (const std::string& name : flags.images) {
      if (name == ImageStateName(state)) flags.campaign.states.push_back(state);
    }
  }
  if (!flags.damage.empty()) {
    const std::optional<Damage> damage = DamageOf(flags.damage);
    if (damage) return RepeatOne(flags, *damage);
    fmt::print(stderr, "--damage is KIND:DISK:OFFSET:BIT as a failure prints it\n");
    return 2;
  }
  const double cpu_before = ProcessorSeconds();
  const CorruptionReport report = RunCorruptionCampaign(flags.campaign);
  for (const std::string& failure : report.failures) fmt::print("WRONG {}\n", failure);
  PrintCounts(report, ProcessorSeconds() - cpu_before);
  return report.failures.empty() ? 0 : 1;
}

}  // namespace latchkey
