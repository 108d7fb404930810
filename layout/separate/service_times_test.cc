#include "layout/separate/service_times.h"

#include <catch2/catch.hpp>

namespace latchkey::service_times_test {
namespace {

void AddPages(DeviceStats& stats, uint64_t requests, Nanos service) {
  IoClassStats& pages = stats.by_class[static_cast<size_t>(IoClass::kPageWrite)];
  pages.requests += requests;
  pages.bytes += requests * 8192;
  pages.service += requests * service;
}

TEST_CASE("A mean is that of the most recent 10,000 requests") {
  ServiceTimes times(1, 8192);
  DeviceStats stats;
  CHECK(times.page_write_ns() == 0);
  const auto run = [&](int steps, Nanos service) {
    for (int i = 0; i < steps; ++i) {
      AddPages(stats, 100, service);
      times.Note(stats);
    }
  };
  run(300, 1000);
  CHECK(times.page_write_ns() == Approx(1000));
  run(50, 3000);  // half of the last 10,000
  CHECK(times.page_write_ns() == Approx(2000).margin(200));
  run(60, 3000);
  CHECK(times.page_write_ns() == Approx(3000).margin(10));
  CHECK(times.segment_page_ns() == 0);
}

TEST_CASE("One call with many requests is a mean over all of them") {
  ServiceTimes times(1, 8192);
  DeviceStats stats;
  AddPages(stats, 50'000, 500);
  times.Note(stats);
  CHECK(times.page_write_ns() == Approx(500));
  AddPages(stats, 50'000, 700);
  times.Note(stats);
  CHECK(times.page_write_ns() == Approx(700));
}

TEST_CASE("The disks are idle for the time that no request takes") {
  ServiceTimes times(4, 8192);
  DeviceStats stats;
  CHECK(times.TakeIdle(stats, 1000) == Approx(0.99));
  AddPages(stats, 10, 120);  // of 4 * 1000 ns
  CHECK(times.TakeIdle(stats, 2000) == Approx(0.7));
  AddPages(stats, 10, 1000);
  CHECK(times.TakeIdle(stats, 3000) == 0);
}

TEST_CASE("A device that does not tell service times is one disk that is busy") {
  ServiceTimes times(1, 8192);
  DeviceStats stats;
  IoClassStats& pages = stats.by_class[static_cast<size_t>(IoClass::kPageWrite)];
  pages = {.requests = 20, .bytes = 20 * 8192, .busy = 5000, .service = 0};
  times.Note(stats);
  CHECK(times.page_write_ns() == Approx(250));
}

}  // namespace
}  // namespace latchkey::service_times_test
