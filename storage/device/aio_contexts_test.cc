#include "storage/device/aio_contexts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <vector>

#include "storage/runtime/testing/in_child.h"

namespace latchkey::aio_contexts_test {
namespace {

// Counts contexts; the address of a context is its number.
class CountingKernel final : public AioKernel {
 public:
  int most = 1000;
  std::vector<io_context_t> alive, destroyed;

  int Setup(int, io_context_t* context) override {
    if (static_cast<int>(alive.size()) >= most) return -EAGAIN;
    *context = reinterpret_cast<io_context_t>(++last_);
    alive.push_back(*context);
    return 0;
  }
  void Destroy(io_context_t context, int) override {
    REQUIRE(std::erase(alive, context) == 1);
    destroyed.push_back(context);
  }
  int Submit(io_context_t, long, iocb**) override { return 0; }
  int GetEvents(io_context_t, long, long, io_event*, timespec*) override { return 0; }
  const AioRing* Ring(io_context_t) override { return nullptr; }

 private:
  uintptr_t last_ = 0;
};

io_context_t SetUp(AioContexts& contexts, int depth) {
  io_context_t context = nullptr;
  REQUIRE(contexts.Setup(depth, &context) == 0);
  return context;
}

TEST_CASE("A context that is not used any more serves the next queue of its depth") {
  CountingKernel kernel;
  AioContexts contexts(kernel);
  const io_context_t first = SetUp(contexts, 8);
  contexts.Destroy(first, 8);
  CHECK(kernel.destroyed.empty());
  CHECK(SetUp(contexts, 16) != first);
  CHECK(SetUp(contexts, 8) == first);
  CHECK(SetUp(contexts, 8) != first);
}

TEST_CASE("No more than a few contexts are kept, and none longer than what keeps them") {
  CountingKernel kernel;
  {
    AioContexts contexts(kernel);
    std::vector<io_context_t> used;
    for (size_t i = 0; i < AioContexts::kMostKept + 5; ++i) used.push_back(SetUp(contexts, 8));
    for (const io_context_t context : used) contexts.Destroy(context, 8);
    CHECK(kernel.alive.size() == AioContexts::kMostKept);
  }
  CHECK(kernel.alive.empty());
}

TEST_CASE("Kept contexts are given back when the system has none left") {
  CountingKernel kernel;
  kernel.most = 2;
  AioContexts contexts(kernel);
  const io_context_t first = SetUp(contexts, 8), second = SetUp(contexts, 8);
  contexts.Destroy(first, 8);
  SetUp(contexts, 64);
  CHECK(kernel.destroyed == std::vector<io_context_t>{first});
  io_context_t none = nullptr;
  CHECK(contexts.Setup(64, &none) == -EAGAIN);
  contexts.Destroy(second, 8);
}

TEST_CASE("The child of a fork uses no context of its parent") {
  CountingKernel kernel;
  AioContexts contexts(kernel);
  const io_context_t first = SetUp(contexts, 8);
  contexts.Destroy(first, 8);
  CHECK(InChild([&] {
          io_context_t context = nullptr;
          return contexts.Setup(8, &context) == 0 && context != first ? 0 : 1;
        }) == 0);
  CHECK(SetUp(contexts, 8) == first);
}

}  // namespace
}  // namespace latchkey::aio_contexts_test
