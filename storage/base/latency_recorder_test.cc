#include "storage/base/latency_recorder.h"

#include <catch2/catch.hpp>

#include "storage/base/rng.h"

namespace latchkey::latency_recorder_test {
namespace {

using Buckets = RecordedLatencies::Buckets;

size_t OnlyBucketOf(uint64_t ns) {
  LatencyRecorder recorder;
  recorder.Record(ns);
  const RecordedLatencies read = recorder.Read();
  size_t found = Buckets::kCount;
  for (size_t i = 0; i < read.buckets.size(); ++i) {
    if (read.buckets[i] != 0) found = i;
  }
  return found;
}

TEST_CASE("the bucket of a latency ends at most a quarter above where it begins, and holds its end") {
  Rng rng(3);
  for (uint32_t bits = 4; bits < 37; ++bits) {
    for (int i = 0; i < 200; ++i) {
      const uint64_t ns = (uint64_t{1} << bits) + rng.Below(uint64_t{1} << bits);
      const size_t bucket = OnlyBucketOf(ns);
      CAPTURE(ns, bucket);
      REQUIRE(Buckets::Lowest(bucket) < ns);
      REQUIRE(Buckets::Lowest(bucket + 1) >= ns);
      REQUIRE(4 * (Buckets::Lowest(bucket + 1) - Buckets::Lowest(bucket)) <= Buckets::Lowest(bucket));
    }
  }
  CHECK(OnlyBucketOf(0) == 0);
  CHECK(OnlyBucketOf(1) == 0);
  CHECK(Buckets::Lowest(OnlyBucketOf(1024) + 1) == 1024);
  CHECK(OnlyBucketOf(UINT64_MAX) == Buckets::kCount - 1);
}

TEST_CASE("a recorder keeps count, sum and the longest latency") {
  LatencyRecorder recorder;
  for (const uint64_t ns : {300, 7, 100'000, 7}) recorder.Record(ns);
  const RecordedLatencies read = recorder.Read();
  CHECK(read.count == 4);
  CHECK(read.sum_ns == 100'314);
  CHECK(read.longest_ns == 100'000);
  CHECK(LatencyRecorder().Read().count == 0);
}

}  // namespace
}  // namespace latchkey::latency_recorder_test
