// More threads than cores, frames or transaction slots.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "engine/testing/testing_database.h"
#include "storage/base/sanitizers.h"
#include "storage/runtime/runtime.h"

namespace latchkey::many_threads_test {
namespace {

// A process used to end when its 4,097th thread called the engine.
TEST_CASE("Five thousand threads that live at once may all use one database") {
  constexpr uint32_t kThreads = kThreadSanitizer ? 500 : 5000;  // TSan allows some 8,000 in all
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  Runtime& runtime = ThreadRuntime();
  std::atomic<uint32_t> answered{0}, may_end{0};
  std::vector<std::unique_ptr<Actor>> threads;
  try {
    for (uint32_t i = 0; i < kThreads; ++i) {
      threads.push_back(runtime.Spawn("thread", [&, i] {
        (void)db->Put(tree, std::to_string(i), "v");
        answered.fetch_add(1);
        while (may_end.load() == 0) runtime.WaitOnWord(may_end, 0, kForever);
      }));
    }
  } catch (const std::system_error& refused) {
    WARN("the system allows only " << threads.size() << " threads: " << refused.what());
  }
  for (Backoff wait(runtime); answered.load() < threads.size();) wait.Pause();
  may_end.store(1);
  runtime.Wake(may_end, UINT32_MAX);
  for (auto& thread : threads) thread->Join();

  uint32_t found = 0;
  Transaction txn = db->Begin();
  Cursor cursor = txn.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) ++found;
  REQUIRE_OK(cursor.status());
  CHECK(found == threads.size());
}

}  // namespace
}  // namespace latchkey::many_threads_test
