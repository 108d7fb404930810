// The pool against the replay: the same algorithm misses at the same requests. One actor, one victim
// at a time, no page cleaner.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/replacement/trace_replay.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/base/hash.h"
#include "tools/contention/zero_page_store.h"
#include "tools/trace/page_trace.h"
#include "tools/trace/testing/trace_folder.h"

namespace latchkey::pool_replay_test {
namespace {

constexpr uint64_t kSeed = 42;

// The misses of a pool that fixes the pages of `trace`, and reads the pages of so many requests ahead
// of their fixes.
uint64_t PoolMisses(const std::string& replacement, const std::string& scheme, uint32_t frames,
                    const PageTrace& trace, size_t read_ahead = 0) {
  Runtime& runtime = ThreadRuntime();
  ZeroPageStore store(4096, trace.unique_pages);
  auto policy = MakeFixPolicy(runtime, ReplacementAlgorithms().Named(replacement),
                              SynchronizationSchemes().Named(scheme), frames, frames, kSeed);
  REQUIRE(policy.ok());
  const auto pool = BufferPool::Create(runtime, store, *std::move(policy), frames, frames);
  REQUIRE(pool.ok());
  PoolActor& actor = (*pool)->Here();
  std::vector<PageId> ahead;
  for (size_t i = 0; i < trace.pages.size(); ++i) {
    if (read_ahead > 0 && i % read_ahead == 0) {
      const size_t end = std::min(trace.pages.size(), i + read_ahead);
      ahead.clear();
      for (size_t next = i; next < end; ++next) ahead.push_back(PageId{trace.pages[next]});
      (*pool)->Prefetch(actor, ahead);
    }
    OptimisticGuard guard;
    REQUIRE((*pool)->FixOptimistic(actor, PageId{trace.pages[i]}, &guard).ok());
  }
  const BufferPoolStats stats = (*pool)->stats();
  CHECK(stats.hits + stats.misses == trace.pages.size());
  return stats.misses;
}

// To an algorithm, eight loads and then eight fixes are another order of requests. These prefer to
// evict what came last, or what has the fewest requests. Some of the eight pages would be evicted
// between two of the eight requests on demand; read ahead, they are not.
bool DependsOnReadAhead(const std::string& replacement) {
  static const std::set<std::string> names = {"lfu", "lru2", "mq", "lirs", "sieve", "w-tinylfu"};
  return names.contains(replacement);
}

constexpr char kOneAtATime[] = "bp-wrapper:queue=1:threshold=1:free_lists=1:refill=1:prefetch=off";

void ComparePoolWithReplay(const std::string& name, uint32_t frames) {
  const std::filesystem::path file = TraceFolder() / (name + ".u64.zst");
  if (!std::filesystem::exists(file)) {
    WARN("skipped: no " << file << "; set LATCHKEY_TRACES to its folder");
    return;
  }
  const auto trace = ReadPageTrace(file.string());
  REQUIRE(trace.ok());
  for (const std::string& replacement : PoolReplacementNames()) {
    CAPTURE(name, frames, replacement);
    // The pool draws the seed of a region from its own.
    const uint64_t replayed = CountMisses(ReplacementAlgorithms().Named(replacement), frames,
                                          trace->pages, MixHash(kSeed));
    CHECK(PoolMisses(replacement, kOneAtATime, frames, *trace) == replayed);
    const auto ahead = static_cast<double>(PoolMisses(replacement, kOneAtATime, frames, *trace, 8));
    CAPTURE(replayed, ahead);
    const double difference = ahead / static_cast<double>(replayed) - 1;
    CHECK(difference < 0.02);
    if (!DependsOnReadAhead(replacement)) CHECK(std::abs(difference) < 0.005);
  }
}

TEST_CASE("A pool misses at the same requests of sprite as the replay, with every algorithm") {
  ComparePoolWithReplay("lirs_sprite", 708);
}

#ifdef NDEBUG
TEST_CASE("A pool misses at the same requests of OLTP as the replay, with every algorithm") {
  ComparePoolWithReplay("OLTP", 5000);
}
#endif

TEST_CASE("A replay ends when it is told to stop, and says that it has not seen all") {
  std::vector<uint32_t> requests(100'000);
  for (size_t i = 0; i < requests.size(); ++i) requests[i] = static_cast<uint32_t>(i);
  std::atomic<bool> stop{false};
  for (const ReplacementInfo& info : ReplacementAlgorithms()) {
    CAPTURE(std::string(info.description.name));
    const ReplacementChoice algorithm = ReplacementAlgorithms().Named(info.description.name);
    const TraceReplaySettings settings{.frames = 100, .stop = &stop};
    stop.store(false);
    const TraceReplayResult whole = ReplayTrace(algorithm, settings, requests);
    CHECK(whole.misses == requests.size());
    CHECK_FALSE(whole.stopped);
    stop.store(true);
    const TraceReplayResult part = ReplayTrace(algorithm, settings, requests);
    CHECK(part.misses == 0);
    CHECK(part.stopped);
  }
}

}  // namespace
}  // namespace latchkey::pool_replay_test
