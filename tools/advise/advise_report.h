// Advice as text for readers, and as the document "latchkey.advise/1" for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/advise/advice.h"
#include "tools/advise/sample_replay.h"
#include "tools/advise/trace_writes.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {

inline constexpr const char* kAdviseSchema = "latchkey.advise/1";

/// The advice for one stream of writes.
struct Advice {
  std::string workload;                ///< "trace FILE", or a distribution
  std::optional<TraceWrites> counted;  ///< of a trace
  AdviceQuestion question;
  std::vector<Candidate> candidates;
  AdviceChoice choice;
  std::vector<Replay> replays;  ///< the first is Overwrite; empty: nothing was replayed
  uint64_t replayed_pages = 0;  ///< of the sample
  bool may_change_page_size = true;
  std::vector<std::string> notes;  ///< what limits the advice
};

/// The advised candidate: the best measured one, or the best predicted one without replays.
const Candidate& Advised(const Advice& advice);
/// Why it is advised; several sentences.
std::string ReasonOf(const Advice& advice);

/// Tables, advice, reason and notes; lines of at most `width` columns unless a word is longer.
std::string AdviceText(const Advice& advice, size_t width);
/// Every candidate and replay. What is not known is null.
Json AdviceJson(const Advice& advice);

}  // namespace latchkey
