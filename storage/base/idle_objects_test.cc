#include "storage/base/idle_objects.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey::idle_objects_test {
namespace {

struct Counted {
  static inline std::atomic<int> alive{0};
  Counted() { ++alive; }
  ~Counted() { --alive; }
  int users = 0;
};

TEST_CASE("An object that was given back is the next one taken, and all end with their owner") {
  {
    IdleObjects<Counted> idle;
    CHECK(idle.Take() == nullptr);
    auto object = std::make_unique<Counted>();
    const Counted* const same = object.get();
    idle.Return(std::move(object));
    object = idle.Take();
    CHECK(object.get() == same);
    CHECK(idle.Take() == nullptr);
    idle.Return(std::move(object));
    for (size_t i = 0; i < 2 * IdleObjects<Counted>::kMost; ++i) {
      idle.Return(std::make_unique<Counted>());
    }
    CHECK(Counted::alive == IdleObjects<Counted>::kMost);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("No two threads have the same object at a time") {
  IdleObjects<Counted> idle;
  std::atomic<int> shared{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (int t = 0; t < 4; ++t) {
    actors.push_back(ThreadRuntime().Spawn("user " + std::to_string(t), [&] {
      for (int i = 0; i < 20'000; ++i) {
        auto object = idle.Take();
        if (object == nullptr) object = std::make_unique<Counted>();
        if (++object->users != 1) ++shared;
        --object->users;
        idle.Return(std::move(object));
      }
    }));
  }
  for (const auto& actor : actors) actor->Join();
  CHECK(shared == 0);
}

}  // namespace
}  // namespace latchkey::idle_objects_test
