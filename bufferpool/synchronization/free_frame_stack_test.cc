#include "bufferpool/synchronization/free_frame_stack.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey::free_frame_stack_test {
namespace {

TEST_CASE("Free frames come back last in, first out, and then none") {
  std::vector<std::atomic<uint32_t>> links(5);
  FreeFrameStack stack(ThreadRuntime(), links.data());
  CHECK(stack.Pop() == kNoFrame);
  for (uint32_t f = 1; f <= 4; ++f) stack.Push(FrameId{f});
  CHECK(stack.size() == 4);
  for (uint32_t f = 4; f >= 1; --f) CHECK(stack.Pop() == FrameId{f});
  CHECK(stack.Pop() == kNoFrame);
  CHECK(stack.size() == 0);
}

TEST_CASE("Actors at two stacks of free frames never hold the same frame") {
  constexpr uint32_t kFrames = 16;
  std::vector<std::atomic<uint32_t>> links(kFrames + 1);
  std::vector<std::atomic<bool>> held(kFrames + 1);
  FreeFrameStack stacks[2] = {FreeFrameStack(ThreadRuntime(), links.data()),
                              FreeFrameStack(ThreadRuntime(), links.data())};
  for (uint32_t f = 1; f <= kFrames; ++f) stacks[f % 2].Push(FrameId{f});
  std::atomic<uint32_t> collisions{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint32_t a = 0; a < 4; ++a) {
    actors.push_back(ThreadRuntime().Spawn("stack-" + std::to_string(a), [&, a] {
      for (uint32_t i = 0; i < 20'000; ++i) {
        const FrameId frame = stacks[(i + a) % 2].Pop();
        if (frame == kNoFrame) continue;
        if (held[Raw(frame)].exchange(true)) collisions.fetch_add(1);
        held[Raw(frame)].store(false);
        stacks[(i / 3 + a) % 2].Push(frame);
      }
    }));
  }
  actors.clear();
  CHECK(collisions.load() == 0);
  CHECK(stacks[0].size() + stacks[1].size() == kFrames);
}

}  // namespace
}  // namespace latchkey::free_frame_stack_test
