#include "engine/watch/slow_calls.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "storage/base/out_of_memory.h"

namespace latchkey {
namespace {

constexpr std::string_view kFor[] = {"for pages to be read", "for frames of the cache",
                                     "for locks of other transactions", "for syncs of the log",
                                     "for room in the log"};
static_assert(std::size(kFor) == kWaitedKinds);

double Millis(Nanos time) { return static_cast<double>(time) / kNanosPerMilli; }

}  // namespace

void SlowCalls::Tell(std::string_view operation, Nanos took, const WaitTimes& before) {
  CatchOutOfMemory([&] {
    const WaitTimes now = waits_.Read();
    std::string message = fmt::format("slow call: {} took {:.1f} ms", operation, Millis(took));
    std::string_view separator = ", of it ";
    for (size_t i = 0; i < kWaitedKinds; ++i) {
      const Nanos waited = now[i] - before[i];
      if (waited == 0) continue;
      message += fmt::format("{}{:.1f} ms {}", separator, Millis(waited), kFor[i]);
      separator = ", ";
    }
    LogTo(sink_, LogEvent::kSlowCall, LogLevel::kDebug, message, took);
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace latchkey
