#include "bufferpool/replacement/replacement_list.h"

#include "bufferpool/replacement/arc.h"
#include "bufferpool/replacement/car.h"
#include "bufferpool/replacement/clock.h"
#include "bufferpool/replacement/gclock.h"
#include "bufferpool/replacement/lru.h"
#include "bufferpool/replacement/random.h"
#include "bufferpool/replacement/s3_fifo.h"
#include "bufferpool/replacement/sieve.h"
#include "bufferpool/replacement/two_q.h"
#include "bufferpool/replacement/w_tinylfu.h"

namespace latchkey {
namespace {

template <typename Algorithm>
constexpr uint32_t FewestFrames() {
  if constexpr (requires { Algorithm::kFewestFrames; }) return Algorithm::kFewestFrames;
  return 1;
}

template <typename Algorithm>
constexpr ReplacementInfo Entry() {
  return {{Algorithm::kName, Algorithm::kSummary, Algorithm::kParameters},
          Algorithm::kHitNeeds,
          FewestFrames<Algorithm>(),
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
    Entry<ArcReplacement>(),       //
    Entry<CarReplacement>(),       //
    Entry<S3FifoReplacement>(),    //
    Entry<SieveReplacement>(),     //
    Entry<WTinyLfuReplacement>(),  //
};

}  // namespace

const Registry<ReplacementInfo>& ReplacementAlgorithms() {
  static constexpr Registry<ReplacementInfo> registry("replacement algorithm", kAlgorithms);
  return registry;
}

}  // namespace latchkey
