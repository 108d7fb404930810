#include "storage/runtime/fork_observer.h"
#include "storage/runtime/testing/in_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>

namespace latchkey::fork_observer_test {
namespace {

class Noticing final : public ForkObserver {
 public:
  Noticing() { Watch(); }
  ~Noticing() override { Unwatch(); }
  void OnForkInChild() override { forks.fetch_add(1); }
  std::atomic<int> forks{0};
};

TEST_CASE("An observer is told of a fork in the child only, and of the child's own fork again") {
  Noticing first, second;
  { const Noticing gone; }
  CHECK(InChild([&] {
          const int here = first.forks + second.forks;
          const int below = InChild([&] { return first.forks + second.forks; });
          return 10 * here + below;
        }) == 24);
  CHECK(first.forks == 0);
  CHECK(second.forks == 0);
}

TEST_CASE("Observers come and go in a child as in its parent") {
  Noticing parents;
  CHECK(InChild([] {
          const Noticing own;
          int seen = 0;
          ForkObserver::VisitAll([&](const ForkObserver&) { ++seen; });
          return 10 * seen + own.forks;
        }) == 20);
}

}  // namespace
}  // namespace latchkey::fork_observer_test
