#include "layout/separate/device_probe.h"

#include <catch2/catch.hpp>

namespace latchkey::device_probe_test {
namespace {

constexpr uint32_t kPage = 4096, kSlots = 32;

TEST_CASE(
    "Request times give a page and a segment the costs that they come from, reads and writes "
    "apart") {
  const PageCosts costs{.page_write_ns = 7000,
                        .segment_write_ns = 1250,
                        .page_read_ns = 11'000,
                        .slot_read_ns = 2800};
  const RequestTimes times = RequestTimesOf(costs, kPage, kSlots);
  CHECK(times.write.Of(1, kPage) == Approx(7000));
  CHECK(times.write.Of(1, kSlots * kPage) == Approx(kSlots * 1250));
  CHECK(times.read.Of(1, kPage) == Approx(11'000));
  CHECK(times.read.Of(1, kSlots * kPage) == Approx(11'000 + 31 * 2800));
}

TEST_CASE("Request times are positive for all costs that a superblock may hold") {
  const double page = GENERATE(0., 1., 100., 1e9);
  const double slot = GENERATE(0., 1., 100., 1e9);
  const double read = GENERATE(0., 1e-300, 1., 1e9, 1e14);
  const uint32_t slots = GENERATE(1u, 2u, kSlots);
  CAPTURE(page, slot, read, slots);
  const PageCosts costs{.page_write_ns = page,
                        .segment_write_ns = slot,
                        .page_read_ns = read,
                        .slot_read_ns = 2 * read};
  const RequestTimes times = RequestTimesOf(costs, kPage, slots);
  for (const RequestTime& time : {times.read, times.write}) {
    CHECK(time.fixed >= 0);
    CHECK(time.per_byte > 1e-9);
  }
}

// A disk's cache took writes in 20 us, and reads took 8 ms. The file was copied to an SSD. There the store
// still charged a read 400 times as much as a write. It measured both under load, so nothing corrected
// the ratio.
TEST_CASE(
    "A page read is charged eight times as much as a page write at most, and an eighth at least") {
  const double read = GENERATE(1., 1e9);
  CAPTURE(read);
  const RequestTimes times = RequestTimesOf(
      {.page_write_ns = 7000, .segment_write_ns = 1250, .page_read_ns = read, .slot_read_ns = read},
      kPage, kSlots);
  CHECK(times.read.Of(1, kPage) == Approx(read == 1 ? 875 : 56'000));
}

}  // namespace
}  // namespace latchkey::device_probe_test
