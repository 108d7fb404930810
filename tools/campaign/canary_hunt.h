// One run of latchkey_campaign as a process of its own, with a canary selected or none: a seeded
// bug may break invariant checks or run on for ever.
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
  kPassed,   ///< nothing was found wrong
  kMistake,  ///< the campaign found a mistake and said which
  kCheck,    ///< the engine stopped itself: a broken invariant, a fault of memory
  kUnfit,    ///< neither: wrong flags, no reason told, killed
  kTooLong,  ///< it was ended when its time was over
};

struct HuntResult {
  HuntEnd end = HuntEnd::kUnfit;
  std::string what;              ///< the line that tells the reason; empty when it passed
  std::optional<uint64_t> work;  ///< done until then, in the unit asked for; none if not told
  uint64_t met = 0;              ///< how often the run came to the place of the canary

  /// Whether a campaign has noticed something. A run that does not end proves nothing: a slow
  /// machine makes one, too.
  bool caught() const { return end == HuntEnd::kMistake || end == HuntEnd::kCheck; }
};

struct HuntOrder {
  std::string program;                 ///< path of latchkey_campaign
  std::vector<std::string> arguments;  ///< verb and flags
  std::string canary;                  ///< empty: none
  std::string unit;                    ///< key of the line of counts
  Nanos limit = 300 * kNanosPerSecond;
};

/// What a process that printed `output` (stdout and stderr) and ended with `wait_status`, as
/// waitpid tells it, has found.
HuntResult JudgeHunt(std::string_view output, int wait_status, std::string_view unit);

/// Runs the order and waits for its end. An error: the process could not be started.
absl::StatusOr<HuntResult> Hunt(Runtime& runtime, const HuntOrder& order);

/// What campaign_main prints behind a run with a canary, for JudgeHunt.
std::string TellCanaryMet(std::string_view canary, uint64_t met);

}  // namespace latchkey
