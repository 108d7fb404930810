#include "storage/runtime/wait_ledger.h"

#include <fmt/format.h>

#include "storage/base/out_of_memory.h"

namespace latchkey {

void WaitWatch::Note(Waited what, Nanos time, std::string_view for_what) const {
  if (ledger != nullptr) ledger->Add(what, time);
  if (time < kLeastStall || !sink.wants_events()) return;
  CatchOutOfMemory([&] {
    LogTo(sink, LogEvent::kStall, LogLevel::kDebug,
          fmt::format("a call has waited {} ms {}", time / kNanosPerMilli, for_what), time);
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace latchkey
