// Traces of fixes as files: what is recorded is read, and nothing that is damaged.
#include "tools/trace/fix_trace.h"

#include <sys/resource.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "storage/base/rng.h"
#include "storage/base/testing/temp_dir.h"
#include "storage/runtime/simulated_runtime.h"
#include "tools/trace/fix_trace_writer.h"
#include "tools/trace/page_trace.h"

namespace latchkey::fix_trace_test {
namespace {

constexpr uint64_t kNoLimit = 1'000'000;

struct TraceFolder {
  FixTraceHeader header{.page_size = 4096,
                        .trees = {{PageId{3}, "table", false}, {PageId{9}, "index", true}},
                        .settings = {{"layout", "lfs"}}};
  std::unique_ptr<FixTraceWriter> Create(uint64_t limit = kNoLimit,
                                         Runtime& runtime = ThreadRuntime()) {
    auto writer = FixTraceWriter::Create(runtime, path, header, limit);
    REQUIRE(writer.ok());
    return *std::move(writer);
  }
  std::string Bytes() const {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  void Replace(const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  FixTrace Read() const {
    absl::StatusOr<FixTrace> trace = ReadFixTrace(path);
    INFO(trace.status().message());
    REQUIRE(trace.ok());
    return *std::move(trace);
  }
  std::string Error() const {
    const absl::StatusOr<FixTrace> trace = ReadFixTrace(path);
    REQUIRE(absl::IsInvalidArgument(trace.status()));
    return std::string(trace.status().message());
  }

  TempDir folder;
  std::string path = (folder.path() / "t.fixes").string();
};

FixEvent SomeEvent(Rng& rng) {
  const uint64_t trees[] = {3, 9, 12345};
  return {.page = PageId{rng.Below(2) == 0 ? rng.Below(50) : rng.Below(kMaxPageIds)},
          .tree = PageId{trees[rng.Below(3)]},
          .page_type = static_cast<uint8_t>(1 + rng.Below(3)),
          .kind = static_cast<FixKind>(rng.Below(kFixKinds)),
          .missed = rng.Below(2) == 0};
}

TEST_CASE("Each record of a trace is read as it was recorded, in the order of time") {
  TraceFolder f;
  auto writer = f.Create();
  Rng rng(1);
  std::vector<std::pair<uint32_t, FixEvent>> events;
  for (int i = 0; i < 60'000; ++i) {
    events.emplace_back(static_cast<uint32_t>(rng.Below(5)), SomeEvent(rng));
    if (events.back().second.kind == FixKind::kNew) events.back().second.page_type = 0;
    writer->Record(events.back().first, events.back().second);
  }
  REQUIRE(writer->Finish({{"done", 7}}).ok());
  const FixTrace trace = f.Read();
  CHECK(trace.header.page_size == 4096);
  CHECK(trace.header.trees.at(1).name == "index");
  CHECK(trace.header.trees.at(1).secondary);
  CHECK(trace.header.settings["layout"] == "lfs");
  CHECK(trace.totals["done"] == 7);
  CHECK_FALSE(trace.limited);
  REQUIRE(trace.records.size() == events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const auto& [actor, event] = events[i];
    const FixRecord& record = trace.records[i];
    CAPTURE(i);
    REQUIRE(record.page == Raw(event.page));
    REQUIRE(record.actor == actor);
    REQUIRE(record.kind() == event.kind);
    REQUIRE((record.missed != 0) == event.missed);
    if (event.kind == FixKind::kNew) continue;
    REQUIRE(record.type_bits == event.page_type);
    const PageId root{Raw(event.tree)};
    REQUIRE(record.tree == (root == PageId{3} ? 0 : root == PageId{9} ? 1 : FixRecord::kOtherTree));
  }
}

TEST_CASE("A new page has the type that its later records show") {
  TraceFolder f;
  auto writer = f.Create();
  const FixEvent fresh{.page = PageId{5}, .tree = PageId{3}, .page_type = 0, .kind = FixKind::kNew};
  FixEvent unfix = fresh;
  unfix.kind = FixKind::kModified;
  unfix.page_type = static_cast<uint8_t>(PageType::kTreeInner);
  writer->Record(0, fresh);
  writer->Record(0, unfix);
  unfix.page_type = static_cast<uint8_t>(PageType::kTreeLeaf);  // freed, and used anew
  writer->Record(0, fresh);
  writer->Record(0, unfix);
  REQUIRE(writer->Finish({}).ok());
  const FixTrace trace = f.Read();
  CHECK(trace.records[0].type() == PageType::kTreeInner);
  CHECK(trace.records[2].type() == PageType::kTreeLeaf);
}

TEST_CASE("A trace that ends anywhere before its end is refused, with the position") {
  TraceFolder f;
  auto writer = f.Create();
  Rng rng(2);
  for (uint32_t i = 0; i < 300; ++i) writer->Record(i % 3, SomeEvent(rng));
  REQUIRE(writer->Finish({}).ok());
  const std::string bytes = f.Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    f.Replace(bytes.substr(0, size));
    CAPTURE(size);
    REQUIRE_THAT(f.Error(), Catch::Contains("truncated") &&
                                Catch::Contains("ends at byte " + std::to_string(size)));
    REQUIRE_FALSE(ReadPageTrace(f.path).ok());
  }
  f.Replace(bytes + "x");
  CHECK_THAT(f.Error(), Catch::Contains("bytes follow its end"));
}

TEST_CASE("A trace with a flipped bit is refused, wherever it is") {
  TraceFolder f;
  auto writer = f.Create();
  Rng rng(3);
  for (uint32_t i = 0; i < 100; ++i) writer->Record(i % 3, SomeEvent(rng));
  REQUIRE(writer->Finish({}).ok());
  const std::string bytes = f.Bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << rng.Below(8)));
    f.Replace(damaged);
    CAPTURE(at);
    REQUIRE_FALSE(ReadFixTrace(f.path).ok());
  }
}

TEST_CASE("A trace in which blocks were exchanged is refused") {
  TraceFolder f;
  auto writer = f.Create();
  const FixEvent event{.page = PageId{1}, .tree = PageId{3}, .page_type = 1};
  for (uint32_t actor = 0; actor < 2; ++actor) writer->Record(actor, event);
  REQUIRE(writer->Finish({}).ok());
  std::string bytes = f.Bytes();
  const size_t first = bytes.find("F\0\0\0", 0, 4);
  const size_t second = bytes.find("F\0\0\0", first + 1, 4);
  const size_t size = second - first;
  for (size_t i = 0; i < size; ++i) std::swap(bytes[first + i], bytes[second + i]);
  f.Replace(bytes);
  CHECK_THAT(f.Error(), Catch::Contains("damaged at byte " + std::to_string(first)));
}

TEST_CASE("A compressed trace is read, and its fixes are requests") {
  TraceFolder f;
  auto writer = f.Create();
  const auto record = [&](uint64_t page, FixKind kind) {
    writer->Record(0, {.page = PageId{page}, .tree = PageId{3}, .page_type = 1, .kind = kind});
  };
  record(70, FixKind::kModified);  // its fix was before the recording
  record(70, FixKind::kShared);
  record(5, FixKind::kShared);
  record(5, FixKind::kUpgrade);
  record(70, FixKind::kExclusive);
  record(8, FixKind::kNew);
  REQUIRE(writer->Finish({}).ok());
  const std::string bytes = f.Bytes();
  std::string compressed(ZSTD_compressBound(bytes.size()), '\0');
  compressed.resize(
      ZSTD_compress(compressed.data(), compressed.size(), bytes.data(), bytes.size(), 3));
  for (const std::string& content : {bytes, compressed}) {
    f.Replace(content);
    CHECK(f.Read().records.size() == 6);
    const absl::StatusOr<PageTrace> requests = ReadPageTrace(f.path);
    REQUIRE(requests.ok());
    CHECK(requests->pages == std::vector<uint32_t>{0, 1, 0, 2});
    CHECK(requests->writes == std::vector<bool>{false, true, true, true});
    CHECK(requests->unique_pages == 3);
  }
}

TEST_CASE("A trace keeps the first records up to its limit, and says so") {
  TraceFolder f;
  auto writer = f.Create(10);
  for (uint64_t i = 0; i < 10; ++i) writer->Record(0, {.page = PageId{i}});
  CHECK_FALSE(writer->limited());
  for (uint64_t i = 10; i < 100; ++i) writer->Record(1, {.page = PageId{i}});
  REQUIRE(writer->Finish({}).ok());
  const FixTrace trace = f.Read();
  CHECK(trace.limited);
  REQUIRE(trace.records.size() == 10);
  CHECK(trace.records.back().page == 9);
}

TEST_CASE("A recording that is not finished leaves an older trace, and no file of its own") {
  TraceFolder f;
  f.Replace("older");
  f.Create().reset();
  CHECK(f.Bytes() == "older");
  CHECK_FALSE(std::filesystem::exists(f.path + ".partial"));
  const auto refused = FixTraceWriter::Create(ThreadRuntime(), "/no-such-folder/t", f.header, 1);
  CHECK(absl::IsNotFound(refused.status()));
}

TEST_CASE("A full disk ends a recording with its reason, and leaves no file") {
  TraceFolder f;
  auto writer = f.Create();
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 20'000;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  Rng rng(4);
  for (uint32_t i = 0; i < 30'000; ++i) writer->Record(0, SomeEvent(rng));
  const absl::Status finished = writer->Finish({});
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK_THAT(std::string(finished.message()), Catch::Contains("EFBIG"));
  CHECK(std::filesystem::is_empty(f.folder.path()));
}

TEST_CASE("Actors that record at once lose no record, and each keeps its order") {
  TraceFolder f;
  auto writer = f.Create();
  constexpr uint64_t kEach = 20'000;
  {
    std::vector<std::unique_ptr<Actor>> actors;
    for (int a = 0; a < 4; ++a) {
      actors.push_back(ThreadRuntime().Spawn("recording", [&] {
        const uint32_t me = ThreadRuntime().ActorIndex();
        for (uint64_t i = 0; i < kEach; ++i) writer->Record(me, {.page = PageId{i}});
      }));
    }
  }
  REQUIRE(writer->Finish({}).ok());
  const FixTrace trace = f.Read();
  REQUIRE(trace.records.size() == 4 * kEach);
  // An index may be given to one actor after another: each begins at page 0 again.
  std::vector<uint64_t> next(Runtime::kMaxActors);
  for (const FixRecord& record : trace.records) {
    REQUIRE(record.page == next[record.actor] % kEach);
    ++next[record.actor];
  }
}

TEST_CASE("Events during and after the end of a recording are dropped or kept whole") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TraceFolder f;
    SimulatedRuntime runtime({.seed = seed, .quantum = 0, .preempt_probability = 0.3});
    const absl::Status ran = runtime.Run([&] {
      auto writer = f.Create(kNoLimit, runtime);
      uint64_t recorded = 0;
      auto actor = runtime.Spawn("recording", [&] {
        for (uint64_t i = 0; i < 200; ++i) {
          writer->Record(runtime.ActorIndex(), {.page = PageId{i}});
          ++recorded;
          runtime.SchedulePoint();
        }
      });
      for (int i = 0; i < 50; ++i) runtime.SchedulePoint();
      const uint64_t before = recorded;
      if (!writer->Finish({}).ok()) std::abort();
      actor.reset();
      if (f.Read().records.size() != before) std::abort();
    });
    REQUIRE(ran.ok());
  }
}

}  // namespace
}  // namespace latchkey::fix_trace_test
