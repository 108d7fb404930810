#include "tools/campaign/calls/calls_campaign.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>

#include "storage/runtime/simulated_runtime.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/seed_range.h"

namespace latchkey {
namespace {

// A broken invariant or a time limit ends the process. Its last output is the command that repeats the
// life.
char last_words[512];
size_t last_words_size = 0;

void SayLastWords(int) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, last_words, last_words_size);
  std::signal(SIGABRT, SIG_DFL);
}

std::string Repeat(uint64_t seed, const CallsOptions& options) {
  return fmt::format("latchkey_campaign calls --seeds={} --calls={}{}", seed, options.calls,
                     options.threads ? " --threads" : "");
}

CallCounts RunLife(uint64_t seed, const CallsOptions& options) {
  const CallLifePlan plan = CallLifePlan::Of(seed, options.calls);
  const std::string words = fmt::format("WRONG seed {} ended the process: {}\n  {}\n", seed,
                                        Repeat(seed, options), plan.Describe());
  last_words_size = std::min(words.size(), sizeof(last_words));
  std::copy_n(words.data(), last_words_size, last_words);
  CallCounts counts;
  if (options.threads) {
    counts = RunCallLife(ThreadRuntime(), seed, plan);
  } else {
    SimulatedRuntime runtime({.seed = seed,
                              .preempt_probability = plan.preempt_probability,
                              .max_hand_overs = 50'000'000,
                              .may_be_abandoned = true});
    const absl::Status ran = runtime.Run([&] { counts = RunCallLife(runtime, seed, plan); });
    if (!ran.ok()) counts.mistakes.push_back("the life did not end: " + ran.ToString());
  }
  for (std::string& mistake : counts.mistakes) {
    mistake = fmt::format("seed {}: {}\n  {}\n  {}", seed, mistake, Repeat(seed, options),
                          plan.Describe());
  }
  return counts;
}

}  // namespace

CallCounts CheckCalls(const CallsOptions& options) {
  constexpr size_t kMostMistakes = 20;
  CallCounts total;
  for (uint64_t i = 0; i < options.seeds && total.mistakes.size() < kMostMistakes; ++i) {
    total.Add(RunLife(options.first_seed + i, options));
  }
  return total;
}

int RunCallsCampaign(const std::vector<std::string>& arguments) {
  CampaignFlags command(
      "Random public calls with odd sizes on few keys, while disks fill up or fail");
  CallsOptions options;
  std::string seeds = "1..200";
  command.Add("--seeds", seeds, "One life each: FIRST..LAST, or one").ShowDefault();
  command.Add("--calls", options.calls, "Calls of each caller").ShowDefault();
  command.Add("--threads", options.threads,
              "On threads instead of a simulation: a seed does not repeat the schedule");
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  if (!ParseSeeds(seeds, &options)) {
    fmt::print(stderr, "--seeds={}: FIRST..LAST, or one number\n", seeds);
    return 2;
  }
  std::signal(SIGABRT, SayLastWords);
  const CallCounts counts = CheckCalls(options);
  std::signal(SIGABRT, SIG_DFL);
  for (const std::string& mistake : counts.mistakes) fmt::print("WRONG {}\n", mistake);
  fmt::print(
      "counts: calls lives={} calls={} ok={} not_found={} aborted={} exhausted={} refused={} "
      "unavailable={} invalid={} faults={} reopened={} compared={} leaked={} mistakes={} "
      "cpu_seconds={:.0f}\n",
      counts.lives, counts.calls, counts.ok, counts.not_found, counts.aborted, counts.exhausted,
      counts.refused, counts.unavailable, counts.invalid, counts.faults, counts.reopened,
      counts.compared, counts.leaked, counts.mistakes.size(), ProcessorSeconds());
  return counts.mistakes.empty() ? 0 : 1;
}

}  // namespace latchkey
