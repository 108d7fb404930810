#include "layout/separate/device_probe.h"

#include <catch2/catch.hpp>
#include <vector>

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

ProbeResult RoundOf(double request_ns, bool exact) {
  return {.request_ns = request_ns, .exact = exact, .requests = 16};
}

// A virtual disk read a page in 6 us in two of the first rounds, and in 10 to 14 us in the others. An open
// took the 6 us for the cost of a read.
TEST_CASE("A few rounds that are too fast do not change what an open measures") {
  std::vector<ProbeResult> rounds;
  for (const double ns : {14.4e3, 6.1e3, 10.5e3, 11.9e3, 6.1e3, 13.1e3, 12.2e3, 12.1e3, 14.0e3}) {
    rounds.push_back(RoundOf(ns, /*exact=*/false));
  }
  CHECK(Together(rounds, kRoundsOfOpen.takes_median).request_ns == 12.1e3);
  rounds.push_back(RoundOf(12.2e3, /*exact=*/false));
  CHECK(Together(rounds, kRoundsOfOpen.takes_median).request_ns == 12.1e3);  // the lower of two
}

// The device time of a round beside other I/O is a share by the request times that the probe shall correct.
TEST_CASE("Rounds beside other I/O count only if no round was alone") {
  std::vector<ProbeResult> rounds;
  for (const double ns : {3e3, 4e3, 5e3}) rounds.push_back(RoundOf(ns, /*exact=*/false));
  CHECK(Together(rounds, kRoundsOfOpen.takes_median).request_ns == 4e3);
  rounds.push_back(RoundOf(12e3, /*exact=*/false));
  rounds.back().alone = true;
  for (const bool takes_median : {false, true}) {
    const ProbeResult together = Together(rounds, takes_median);
    CHECK(together.request_ns == 12e3);
    CHECK(together.alone);
  }
}

TEST_CASE("A delay of most rounds does not change what a creation measures") {
  std::vector<ProbeResult> rounds;
  for (const double ns : {800e3, 12e3, 900e3, 700e3}) {
    rounds.push_back(RoundOf(ns, /*exact=*/false));
  }
  CHECK(Together(rounds, kRoundsOfCreation.takes_median).request_ns == 12e3);
}

TEST_CASE("Exact rounds count by their mean, at a creation and at an open") {
  for (const bool takes_median : {false, true}) {
    std::vector<ProbeResult> rounds = {RoundOf(1e6, true), RoundOf(2e6, true), RoundOf(6e6, true)};
    const ProbeResult mean = Together(rounds, takes_median);
    CHECK(mean.request_ns == 3e6);
    CHECK(mean.requests == 48);
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
