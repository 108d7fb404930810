#include "engine/watch/latencies.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/testing/manual_clock.h"

namespace latchkey::latencies_test {
namespace {

std::map<std::string, OperationLatency> ByName(const std::vector<OperationLatency>& list) {
  std::map<std::string, OperationLatency> named;
  for (const OperationLatency& latency : list) named.emplace(latency.operation, latency);
  return named;
}

uint64_t Timed1(Latencies& latencies, int calls) {
  for (int i = 0; i < calls; ++i) {
    CHECK(latencies.Measure(Timed::kGet, [&] { return i; }) == i);
  }
  return ByName(latencies.List())["get"].count;
}

TEST_CASE("one call in so many is timed: every one, none, or as many on the average") {
  Latencies all(ThreadRuntime(), 1), none(ThreadRuntime(), 0), some(ThreadRuntime(), 64);
  CHECK(Timed1(all, 1000) == 1000);
  CHECK(Timed1(none, 1000) == 0);
  const uint64_t timed = Timed1(some, 64'000);
  CHECK(timed > 900);
  CHECK(timed < 1100);
}

TEST_CASE("each call of short transactions is timed as often as another") {
  Latencies latencies(ThreadRuntime(), 64);
  for (int transaction = 0; transaction < 8'000; ++transaction) {
    SampledCalls calls(latencies);
    for (size_t call = 0; call < 8; ++call)
      calls.Measure(static_cast<Timed>(call), [] { return 0; });
  }
  for (const OperationLatency& latency : latencies.List()) {
    if (latency.operation == "page_write") continue;  // the ninth
    CAPTURE(latency.operation, latency.count);
    CHECK(latency.count > 80);
    CHECK(latency.count < 180);
  }
}

TEST_CASE("of one long transaction one call in so many is timed") {
  Latencies some(ThreadRuntime(), 64), none(ThreadRuntime(), 0), all(ThreadRuntime(), 1);
  for (Latencies* latencies : {&some, &none, &all}) {
    SampledCalls calls(*latencies);
    for (int i = 0; i < 6400; ++i) calls.Measure(Timed::kGet, [] { return 0; });
  }
  CHECK(ByName(some.List())["get"].count == 100);
  CHECK(ByName(none.List())["get"].count == 0);
  CHECK(ByName(all.List())["get"].count == 6400);
}

TEST_CASE("a quantile is at most a quarter above the exact latency") {
  ManualClock clock;
  Latencies latencies(clock, 1);
  for (Nanos ns = 1; ns <= 1000; ++ns) {
    latencies.Measure(Timed::kPut, [&] {
      clock.Advance(ns);
      return 0;
    });
  }
  const OperationLatency put = ByName(latencies.List())["put"];
  CHECK(put.count == 1000);
  CHECK(put.sum_ns == 500'500);
  CHECK(put.longest_ns == 1000);
  CHECK(put.Quantile(1) == 1000);
  for (const double share : {.1, .5, .9, .99}) {
    const auto exact = static_cast<uint64_t>(share * 1000);
    CHECK(put.Quantile(share) >= exact);
    CHECK(put.Quantile(share) <= exact * 5 / 4);
  }
  CHECK(OperationLatency().Quantile(.5) == 0);
}

TEST_CASE("a database times its calls, and the syncs and pages that they wait for") {
  const TempDir dir;
  Options options;
  options.latency_sampling = 1;
  options.cache_bytes = 2 << 20;
  auto db = OpenOrFail(dir.File("db"), options);
  const Tree tree = TreeOrFail(*db, "t");
  WriteBatch batch;
  for (int i = 0; i < 4000; ++i) batch.Put(tree, std::to_string(i), std::string(800, 'x'));
  REQUIRE_OK(db->Write(batch));
  REQUIRE_OK(db->Put(tree, "a", "b"));
  REQUIRE_OK(db->Delete(tree, "a"));
  std::string value;
  for (int i = 0; i < 50; ++i) REQUIRE_OK(db->Get(tree, std::to_string(i * 79), &value));
  Transaction txn = db->Begin();
  REQUIRE_OK(txn.Put(tree, "k", "v"));
  REQUIRE_OK(txn.Insert(tree, "l", "v"));
  REQUIRE_OK(txn.GetForUpdate(tree, "k", &value));
  REQUIRE_OK(txn.Get(tree, "l", &value));
  REQUIRE_OK(txn.Delete(tree, "l"));
  REQUIRE_OK(txn.Commit());
  Transaction reading = db->Begin();
  REQUIRE_OK(reading.Commit());

  const auto named = ByName(db->GetLatencies());
  CHECK(named.at("write").count == 3);
  CHECK(named.at("get").count == 51);
  CHECK(named.at("put").count == 2);
  CHECK(named.at("get_for_update").count == 1);
  CHECK(named.at("delete").count == 1);
  CHECK(named.at("commit").count == 1);
  CHECK(named.at("log_sync").count >= 4);
  CHECK(named.at("page_read").count > 0);
  CHECK(named.at("page_read").count <= db->GetStatistics().demand_reads);
  CHECK(named.at("commit").sum_ns > 0);
  REQUIRE_OK(db->Close());
  CHECK(ByName(db->GetLatencies()).at("get").count == 51);
}

TEST_CASE("a latency sampling out of its range is refused") {
  const TempDir dir;
  Options options;
  options.latency_sampling = 1'000'001;
  const absl::Status refused = Database::Open(dir.File("db"), options).status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK(refused.message().find("0 to 1000000") != std::string_view::npos);
}

}  // namespace
}  // namespace latchkey::latencies_test
