#include "bufferpool/replacement/replacement_list.h"

#include "bufferpool/replacement/arc.h"
#include "bufferpool/replacement/car.h"
#include "bufferpool/replacement/clock.h"
#include "bufferpool/replacement/fifo.h"
#include "bufferpool/replacement/gclock.h"
#include "bufferpool/replacement/hot_cold.h"
#include "bufferpool/replacement/lfu.h"
#include "bufferpool/replacement/lirs.h"
#include "bufferpool/replacement/lru.h"
#include "bufferpool/replacement/lru2.h"
#include "bufferpool/replacement/mq.h"
#include "bufferpool/replacement/opt.h"
#include "bufferpool/replacement/random.h"
#include "bufferpool/replacement/s3_fifo.h"
#include "bufferpool/replacement/sieve.h"
#include "bufferpool/replacement/two_q.h"
#include "bufferpool/replacement/w_tinylfu.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

template <typename Algorithm>
constexpr uint32_t FewestFrames() {
  if constexpr (requires { Algorithm::kFewestFrames; }) return Algorithm::kFewestFrames;
  return 1;
}

template <typename Algorithm>
constexpr bool NeedsFuture() {
  if constexpr (requires { Algorithm::kNeedsFuture; }) return Algorithm::kNeedsFuture;
  return false;
}

template <typename Algorithm>
constexpr std::string_view SimulatorOnly(std::span<const double> parameters) {
  if constexpr (requires { Algorithm::SimulatorOnly(parameters); }) {
    return Algorithm::SimulatorOnly(parameters);
  }
  return "";
}

template <typename Algorithm>
constexpr ReplacementInfo Entry() {
  return {{Algorithm::kName, Algorithm::kSummary, Algorithm::kParameters},
          Algorithm::kHitNeeds,
          FewestFrames<Algorithm>(),
          NeedsFuture<Algorithm>(),
          SimulatorOnly<Algorithm>,
          Algorithm::BytesPerFrame,
          [](const ReplacementConfig& config,
             std::span<const double> parameters) -> std::unique_ptr<ReplacementAlgorithm> {
            return std::make_unique<Algorithm>(config, parameters);
          }};
}

constexpr ReplacementInfo kAlgorithms[] = {
    Entry<RandomReplacement>(),    //
    Entry<LruReplacement>(),       //
    Entry<ClockReplacement>(),     //
    Entry<GclockReplacement>(),    //
    Entry<TwoQReplacement>(),      //
    Entry<FifoReplacement>(),      //
    Entry<LfuReplacement>(),       //
    Entry<Lru2Replacement>(),      //
    Entry<MqReplacement>(),        //
    Entry<LirsReplacement>(),      //
    Entry<ArcReplacement>(),       //
    Entry<CarReplacement>(),       //
    Entry<S3FifoReplacement>(),    //
    Entry<SieveReplacement>(),     //
    Entry<WTinyLfuReplacement>(),  //
    Entry<HotColdReplacement>(),   //
    Entry<OptReplacement>(),       //
};

}  // namespace

const Registry<ReplacementInfo>& ReplacementAlgorithms() {
  static constexpr Registry<ReplacementInfo> registry("replacement algorithm", kAlgorithms);
  return registry;
}

std::vector<std::string> PoolReplacementNames() {
  std::vector<std::string> names;
  for (const ReplacementInfo& info : ReplacementAlgorithms()) {
    if (!info.needs_future) names.emplace_back(info.description.name);
  }
  return names;
}

absl::Status CheckRunsInPool(const ReplacementChoice& replacement) {
  if (replacement.entry().needs_future) {
    std::string known;
    for (const std::string& name : PoolReplacementNames()) {
      known += (known.empty() ? "" : ", ") + name;
    }
    return InvalidArgument(
        "replacement algorithm {} reads the future of a trace: only a trace replay can run it; a "
        "pool can run {}",
        replacement.name(), known);
  }
  const std::string_view only = replacement.entry().simulator_only(replacement.values());
  if (only.empty()) return absl::OkStatus();
  return InvalidArgument("replacement algorithm {}: only a trace replay can run {}",
                         replacement.name(), only);
}

}  // namespace latchkey
