// Recorded traces against what the pool counted itself.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bufferpool/replacement/trace_replay.h"
#include "bufferpool/testing/pool_fixture.h"
#include "storage/base/rng.h"
#include "storage/base/testing/temp_dir.h"
#include "tools/trace/fix_analysis.h"
#include "tools/trace/fix_trace_writer.h"
#include "tools/trace/page_trace.h"
#include "tpcc-lite/kv/latchkey_backend.h"

namespace latchkey::recorded_pool_test {
namespace {

TEST_CASE("LRU misses as often on the recorded trace of a pool as in the pool") {
  for (const uint32_t frames : {16u, 40u, 90u}) {
    TempDir folder;
    const std::string path = (folder.path() / "t").string();
    auto writer =
        FixTraceWriter::Create(ThreadRuntime(), path, {.page_size = 4096, .trees = {}}, 1'000'000);
    REQUIRE(writer.ok());
    PoolFixture f(frames, "lru",
                  "bp-wrapper:queue=1:threshold=1:free_lists=1:refill=1:prefetch=off");
    f.pool->SetFixRecorder(writer->get());
    std::vector<PageId> pages;
    Rng rng(frames);
    for (int i = 0; i < 20'000; ++i) {
      if (i < 50 || i % 400 == 0) pages.push_back(f.NewPage(1));
      const PageId page = pages[rng.Below(1 + rng.Below(pages.size()))];
      if (i % 4 == 0) {
        f.Add(page, 1);
      } else {
        f.ReadShared(page);
      }
    }
    const BufferPoolStats stats = f.pool->stats();
    f.pool->SetFixRecorder(nullptr);
    REQUIRE((*writer)->Finish({}).ok());
    const auto requests = ReadPageTrace(path);
    REQUIRE(requests.ok());
    CAPTURE(frames);
    CHECK(requests->pages.size() == stats.fixes);
    CHECK(CountMisses(ReplacementAlgorithms().Named("lru"), frames, requests->pages, 42) ==
          stats.misses + stats.new_pages);
    CHECK(stats.misses > 0);
  }
}

struct TracedDatabase {
  TracedDatabase() {
    KvOptions options;
    options.path = "traced";
    options.tables = {"one", "two"};
    options.cache_bytes = 2 << 20;
    options.device.kind = DeviceSpec::Kind::kMemory;
    auto opened = OpenLatchkeyBackend(options);
    REQUIRE(opened.ok());
    backend = *std::move(opened);
    auto made = backend->NewSession();
    REQUIRE(made.ok());
    session = *std::move(made);
  }
  void Put(TableIndex table, uint64_t key) {
    REQUIRE(
        session->PutAuto(table, std::to_string(key * 7919 % 100'003), std::string(200, 'v')).ok());
  }
  std::string Get(TableIndex table, uint64_t key) {
    std::string value;
    session->GetAuto(table, std::to_string(key * 7919 % 100'003), &value).IgnoreError();
    return value;
  }

  std::unique_ptr<KvBackend> backend;
  std::unique_ptr<KvSession> session;
};

TEST_CASE("A database's trace has the fixes that its pool counts, leaf and inner ones apart") {
  TempDir folder;
  const std::string path = (folder.path() / "t").string();
  std::unique_ptr<FixTraceWriter> writer;  // outlives the database
  TracedDatabase db;
  const std::vector<PageId> roots = db.backend->TreeRoots();
  REQUIRE(roots.size() == 2);
  auto created = FixTraceWriter::Create(
      ThreadRuntime(), path,
      {.page_size = 4096, .trees = {{roots[0], "one", false}, {roots[1], "two", true}}},
      10'000'000);
  REQUIRE(created.ok());
  writer = *std::move(created);
  const Statistics before = *db.backend->GetStatistics().latchkey;
  db.backend->SetFixRecorder(writer.get());
  for (uint64_t i = 0; i < 12'000; ++i) {
    db.Put(i % 2, i);
    db.Get(i % 2, i / 2);
  }
  db.backend->SetFixRecorder(nullptr);
  const Statistics after = *db.backend->GetStatistics().latchkey;
  REQUIRE(writer->Finish({}).ok());
  const absl::StatusOr<FixTrace> trace = ReadFixTrace(path);
  REQUIRE(trace.ok());

  const FixCounts counts = CountFixes(*trace, {});
  CHECK(counts.all() == after.fixes - before.fixes);
  CHECK(counts.missed == after.misses - before.misses);
  CHECK(counts.missed > 0);
  CHECK(counts.fixes[static_cast<size_t>(FixKind::kNew)] == after.new_pages - before.new_pages);
  uint64_t leaf = 0, inner = 0;
  std::map<uint32_t, std::set<uint8_t>> trees_of;
  for (const FixRecord& record : trace->records) {
    if (!record.is_fix()) continue;
    trees_of[record.page].insert(record.tree);
    if (record.kind() == FixKind::kNew) continue;  // the pool does not know its type yet
    leaf += record.type() == PageType::kTreeLeaf ? 1 : 0;
    inner += record.type() == PageType::kTreeInner ? 1 : 0;
  }
  CHECK(leaf == after.leaf_fixes - before.leaf_fixes);
  CHECK(inner == after.inner_fixes - before.inner_fixes);
  CHECK(inner > 0);
  for (const auto& [page, trees] : trees_of) {
    CAPTURE(page);
    CHECK(trees.size() == 1);
  }
  for (const uint8_t tree : {uint8_t{0}, uint8_t{1}}) {
    CHECK(CountFixes(*trace, {.tree = tree}).all() > 20'000);
    const auto data = CountFixes(*trace, {.tree = tree, .object = TracedObject::kData}).all();
    CHECK((data > 0) == (tree == 0));  // all pages of a secondary tree are index
  }
}

}  // namespace
}  // namespace latchkey::recorded_pool_test
