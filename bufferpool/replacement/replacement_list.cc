#include "bufferpool/replacement/replacement_list.h"

#include "bufferpool/replacement/clock.h"
#include "bufferpool/replacement/gclock.h"
#include "bufferpool/replacement/lru.h"
#include "bufferpool/replacement/random.h"
#include "bufferpool/replacement/two_q.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

template <typename Algorithm>
constexpr ReplacementInfo Entry() {
  return {{Algorithm::kName, Algorithm::kSummary, Algorithm::kParameters},
          [](const ReplacementConfig& config,
             std::span<const double> parameters) -> std::unique_ptr<ReplacementAlgorithm> {
            return std::make_unique<Algorithm>(config, parameters);
          }};
}

constexpr ReplacementInfo kAlgorithms[] = {
    Entry<RandomReplacement>(),  //
    Entry<LruReplacement>(),     //
    Entry<ClockReplacement>(),   //
    Entry<GclockReplacement>(),  //
    Entry<TwoQReplacement>(),    //
};

}  // namespace

std::span<const ReplacementInfo> ReplacementAlgorithms() { return kAlgorithms; }

absl::StatusOr<ReplacementChoice> ReplacementChoice::Parse(std::string_view item) {
  std::vector<PolicyDescription> known;
  for (const ReplacementInfo& info : kAlgorithms) known.push_back(info.description);
  LATCHKEY_ASSIGN_OR_RETURN(PolicyChoice choice, ParsePolicy(item, "replacement algorithm", known));
  return ReplacementChoice(&kAlgorithms[choice.index], std::move(choice.values));
}

}  // namespace latchkey
