#include "engine/log/deferred_frees.h"

#include <catch2/catch.hpp>
#include <vector>

#include "engine/log/testing/memory_log.h"

namespace latchkey::deferred_frees_test {
namespace {

struct Frees {
  MemoryLog log{ThreadRuntime()};
  LogHealth health{log, nullptr};
  std::vector<PageId> returned;
  DeferredFrees frees{ThreadRuntime(), log, health,
                      [this](PageId page) { returned.push_back(page); }};
};

TEST_CASE("A freed page goes to the store once its free is durable") {
  Frees f;
  REQUIRE(f.frees.Defer(PageId{7}));
  REQUIRE(f.frees.FlushAll().ok());
  CHECK(f.returned == std::vector{PageId{7}});
  CHECK(f.frees.count() == 0);
}

// The log failed as it grew. An old value was freed behind that, without a record, and the store
// made the free durable. The next open freed the value once more: "page 7 is not allocated", and the
// database did not open.
TEST_CASE("A page that is freed after the log has failed never goes to the store") {
  Frees f;
  f.health.SetFailed();
  REQUIRE(f.frees.Defer(PageId{7}));
  f.frees.Drain();
  f.frees.FlushAll().IgnoreError();
  f.frees.Drain();
  CHECK(f.returned.empty());
}

}  // namespace
}  // namespace latchkey::deferred_frees_test
