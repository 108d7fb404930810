#include "bufferpool/synchronization/access_queues.h"

#include <catch2/catch.hpp>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey::access_queues_test {
namespace {

Access Hit(uint64_t page) {
  return {.page = PageId{page}, .frame = FrameId{1}, .kind = Access::Kind::kHit};
}

std::vector<uint64_t> Drain(AccessQueues& queues, size_t region, uint32_t actor) {
  std::vector<uint64_t> pages;
  queues.Drain(region, actor, [&](const Access& access) { pages.push_back(Raw(access.page)); });
  return pages;
}

TEST_CASE("A queue gives back an actor's accesses in order, round and round") {
  AccessQueues queues(2, 3);
  for (uint64_t round = 0; round < 5; ++round) {
    CHECK(queues.Push(1, 7, Hit(10 * round)) == 1);
    CHECK(queues.Push(1, 7, Hit(10 * round + 1)) == 2);
    CHECK(Drain(queues, 0, 7).empty());
    CHECK(Drain(queues, 1, 6).empty());
    CHECK(Drain(queues, 1, 7) == std::vector<uint64_t>{10 * round, 10 * round + 1});
  }
}

TEST_CASE("All queues of a region can be drained, whatever became of their actors") {
  AccessQueues queues(1, 4);
  queues.Push(0, 3, Hit(30));
  queues.Push(0, Runtime::kMaxActors - 1, Hit(40));
  queues.Push(0, 3, Hit(31));
  std::vector<uint64_t> pages;
  queues.DrainAll(0, [&](const Access& access) { pages.push_back(Raw(access.page)); });
  CHECK(pages == std::vector<uint64_t>{30, 31, 40});
}

TEST_CASE("While prefetches are stopped no entry is prefetched") {
  AccessQueues queues(1, 4);
  queues.Push(0, 0, Hit(5));
  size_t prefetched = 0;
  const auto count = [&](const Access&) { ++prefetched; };
  queues.StopPrefetches(ThreadRuntime());
  queues.PrefetchEntries(0, 0, count);
  CHECK(prefetched == 0);
  queues.AllowPrefetches();
  queues.PrefetchEntries(0, 0, count);
  CHECK(prefetched == 1);
}

TEST_CASE("A stop of prefetches waits for the actor that prefetches now") {
  Runtime& runtime = ThreadRuntime();
  AccessQueues queues(1, 64);
  std::atomic<bool> moved{false};
  std::atomic<uint32_t> saw_moved{0};
  auto prefetcher = runtime.Spawn("prefetcher", [&] {
    for (int round = 0; round < 2000; ++round) {
      queues.Push(0, 0, Hit(1));
      queues.PrefetchEntries(0, 0, [&](const Access&) { saw_moved += moved.load() ? 1 : 0; });
      Drain(queues, 0, 0);
    }
  });
  for (int round = 0; round < 200; ++round) {
    queues.StopPrefetches(runtime);
    moved = true;
    runtime.BackOff(3);
    moved = false;
    queues.AllowPrefetches();
  }
  prefetcher->Join();
  CHECK(saw_moved == 0);
}

}  // namespace
}  // namespace latchkey::access_queues_test
