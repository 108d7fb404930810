// One run of latchkey_campaign with a canary or without. It is a process of its own, since a seeded
// bug may break invariant checks or never end.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey {

enum class HuntEnd : uint8_t {
  kPassed,   ///< no mistake was found
  kMistake,  ///< the campaign found a mistake and named it
  kCheck,    ///< the engine ended itself: a broken invariant, a memory error
  kUnfit,    ///< neither: wrong flags, no reason printed, killed
  kTooLong,  ///< it was killed at its time limit
};

struct HuntResult {
  HuntEnd end = HuntEnd::kUnfit;
  std::string what;              ///< the line with the reason; empty: it passed
  std::optional<uint64_t> work;  ///< count until then, in the unit asked for; none if not reported
  uint64_t met = 0;              ///< how often the run reached the canary's place

  /// Whether a campaign has found a mistake. A run that does not end in time proves nothing: a slow
  /// machine causes that, too.
  bool caught() const { return end == HuntEnd::kMistake || end == HuntEnd::kCheck; }
};

struct HuntOrder {
  std::string program;                 ///< path of latchkey_campaign
  std::vector<std::string> arguments;  ///< verb and flags
  std::string canary;                  ///< empty: no canary
  std::string unit;                    ///< key of the line of counts
  Nanos limit = 300 * kNanosPerSecond;
};

/// Judges a process by its output (stdout and stderr) and by `wait_status`, as waitpid returns it.
HuntResult JudgeHunt(std::string_view output, int wait_status, std::string_view unit);

/// Runs the order and waits for its end. Returns an error if the process could not be started.
absl::StatusOr<HuntResult> Hunt(Runtime& runtime, const HuntOrder& order);

/// The line that campaign_main prints after a run with a canary. JudgeHunt reads it.
std::string TellCanaryMet(std::string_view canary, uint64_t met);

}  // namespace latchkey
