#include "storage/device/simulated/disk_array.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/device_list.h"

namespace latchkey::disk_array_test {
namespace {

using Op = IoRequest::Op;

constexpr uint64_t kPage = 4096;
constexpr Nanos kMs = kNanosPerMilli;

std::unique_ptr<SimulatedMedium> Medium(const char* text) {
  return NewMedium(*ParseDeviceSpec(text));
}

// Runs a medium until `request` is done; returns that time.
Nanos Finish(SimulatedMedium& medium, const MediumRequest& request) {
  while (request.done_at == kForever) medium.AdvanceTo(medium.NextNews(request));
  return request.done_at;
}

std::vector<std::unique_ptr<MediumRequest>> StartPages(SimulatedMedium& medium, Nanos now, Op op,
                                                       const std::vector<uint64_t>& pages) {
  std::vector<std::unique_ptr<MediumRequest>> requests;
  for (const uint64_t page : pages) {
    requests.push_back(std::make_unique<MediumRequest>(
        MediumIo{.op = op, .offset = page * kPage, .length = kPage}));
    medium.Start(now, *requests.back());
  }
  return requests;
}

TEST_CASE("SCAN serves the waiting requests by address, onwards first and then back") {
  const auto medium = Medium("fixed:service_ms=1:queue=scan");
  // Page 50 is served at once; the others wait.
  const auto requests = StartPages(*medium, 0, Op::kRead, {50, 10, 90, 60, 40, 70});
  std::vector<Nanos> ends;
  for (const auto& request : requests) ends.push_back(Finish(*medium, *request) / kMs);
  CHECK(ends == std::vector<Nanos>{1, 6, 4, 2, 5, 3});
}

TEST_CASE("FCFS serves the waiting requests in the order of their arrival") {
  const auto medium = Medium("fixed:service_ms=1:queue=fcfs");
  const auto requests = StartPages(*medium, 0, Op::kRead, {50, 10, 90, 60});
  for (size_t i = 0; i < requests.size(); ++i) CHECK(requests[i]->done_at == (i + 1) * kMs);
  CHECK(medium->totals().stats.queued == (1 + 2 + 3) * kMs);
}

TEST_CASE("A request that arrives while SCAN serves another joins the sweep") {
  const auto medium = Medium("fixed:service_ms=2:queue=scan");
  const auto early = StartPages(*medium, 0, Op::kRead, {10, 30});
  const auto late = StartPages(*medium, 1 * kMs, Op::kRead, {20});
  CHECK(Finish(*medium, *early[1]) == 6 * kMs);
  CHECK(Finish(*medium, *late[0]) == 4 * kMs);
  CHECK(medium->totals().stats.queued == (4 + 1) * kMs);
}

// Mean service time of reads at random places, `depth` at once.
double MeanServiceMs(const char* device, size_t depth) {
  const auto medium = Medium(device);
  const uint64_t pages = medium->capacity_bytes() / kPage;
  constexpr uint64_t kReads = 5000;
  Rng rng(7);
  std::vector<std::unique_ptr<MediumRequest>> flying;
  Nanos now = 0;
  for (uint64_t started = 0; started < kReads; ++started) {
    if (flying.size() == depth) {
      const auto done_or_news = [&](const auto& request) { return medium->NextNews(*request); };
      std::vector<std::unique_ptr<MediumRequest>>::iterator first;
      do {
        first = std::ranges::min_element(flying, {}, done_or_news);
        now = std::max(now, done_or_news(*first));
        medium->AdvanceTo(now);
      } while ((*first)->done_at > now);
      flying.erase(first);
    }
    flying.push_back(std::move(StartPages(*medium, now, Op::kRead, {rng.Below(pages)})[0]));
  }
  for (const auto& request : flying) Finish(*medium, *request);
  return static_cast<double>(medium->totals().stats.random_reads.service) / kMs / kReads;
}

TEST_CASE("SCAN takes less time than FCFS when requests wait, and the same when none does") {
  const double fcfs = MeanServiceMs("atlas10k:queue=fcfs", 20);
  CHECK(fcfs == Approx(5.6 + 2.993 + 0.2).epsilon(0.02));
  CHECK(MeanServiceMs("atlas10k:queue=scan", 1) == Approx(fcfs).epsilon(0.02));
  const double five = MeanServiceMs("atlas10k:queue=scan", 5);
  const double twenty = MeanServiceMs("atlas10k:queue=scan", 20);
  CHECK(five < 0.85 * fcfs);
  CHECK(twenty < 0.9 * five);
}

TEST_CASE("A small write on RAID-5 takes its reads and then its writes") {
  const auto medium = Medium("fixed:service_ms=9:disks=4:stripe_kb=4:raid=raid5");
  const auto small = StartPages(*medium, 0, Op::kWrite, {0});
  CHECK(Finish(*medium, *small[0]) == 18 * kMs);
  const MediumStats stats = medium->totals().stats;
  CHECK(stats.random_reads.requests + stats.sequential_reads.requests == 2);
  CHECK(stats.random_writes.requests + stats.sequential_writes.requests == 2);
  CHECK(medium->totals().service[static_cast<size_t>(IoClass::kPageRead)] == 36 * kMs);

  MediumRequest full({.op = Op::kWrite, .offset = 12 * kPage, .length = 3 * kPage});
  medium->Start(100 * kMs, full);
  CHECK(Finish(*medium, full) == 109 * kMs);
}

TEST_CASE("The writes of RAID-5 wait for both reads, and requests in between go first") {
  // Data of page 0 on disk 0, parity on disk 3; page 3 on disk 3 (row 1).
  const auto medium = Medium("fixed:service_ms=10:disks=4:stripe_kb=4:raid=raid5");
  MediumRequest before({.op = Op::kRead, .offset = 3 * kPage, .length = kPage});
  medium->Start(0, before);
  CHECK(before.done_at == 10 * kMs);
  const auto small = StartPages(*medium, 0, Op::kWrite, {0});
  medium->AdvanceTo(15 * kMs);
  MediumRequest between({.op = Op::kRead, .offset = 0, .length = kPage});  // on disk 0
  medium->Start(15 * kMs, between);
  CHECK(Finish(*medium, between) == 25 * kMs);
  // The parity is read at 20 ms. Then its write takes to 30 ms, the data write from 25 to 35 ms.
  CHECK(Finish(*medium, *small[0]) == 35 * kMs);
}

TEST_CASE("The class of a request is charged for all of its single-disk I/O") {
  const auto medium = Medium("fixed:service_ms=1:disks=4:stripe_kb=4:raid=raid5:queue=scan");
  for (const IoClass io_class : {IoClass::kPageWrite, IoClass::kSegmentWrite}) {
    MediumRequest request({.op = Op::kWrite, .io_class = io_class, .length = kPage});
    medium->Start(0, request);
    Finish(*medium, request);
  }
  const MediumTotals totals = medium->totals();
  CHECK(totals.service[static_cast<size_t>(IoClass::kPageWrite)] == 4 * kMs);
  CHECK(totals.service[static_cast<size_t>(IoClass::kSegmentWrite)] == 4 * kMs);
}

TEST_CASE("An array says its stripe, and holds what its data disks hold") {
  const auto raid5 = Medium("atlas10k:disks=9:raid=raid5");
  DeviceGeometry geometry;
  raid5->DescribeGeometry(geometry);
  CHECK(geometry.stripe_unit_bytes == 512 << 10);
  CHECK(geometry.data_disks == 8);
  CHECK(geometry.full_stripe_bytes() == 4 << 20);
  CHECK(raid5->capacity_bytes() <= 8 * 9'100'000'000);
  CHECK(raid5->capacity_bytes() > 8 * 9'099'000'000);
  DeviceGeometry single;
  Medium("atlas10k")->DescribeGeometry(single);
  CHECK(single.full_stripe_bytes() == 0);
}

}  // namespace
}  // namespace latchkey::disk_array_test
