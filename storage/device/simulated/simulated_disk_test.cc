#include "storage/device/simulated/simulated_disk.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/device_list.h"
#include "storage/device/simulated/disk_array.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::simulated_disk_test {
namespace {

constexpr uint32_t kPage = 4096;
constexpr Nanos kMs = kNanosPerMilli;

std::unique_ptr<DiskArray> Array(size_t disks, uint64_t stripe_bytes, Nanos service = 9 * kMs,
                                 uint64_t bytes_per_second = 0) {
  std::vector<std::unique_ptr<DiskModel>> members;
  for (size_t i = 0; i < disks; ++i) {
    members.push_back(std::make_unique<FixedServiceDisk>(service, bytes_per_second));
  }
  return DiskArray::Striped(std::move(members), stripe_bytes);
}

Nanos Enqueue(DiskArray& array, Nanos now, uint64_t offset, uint64_t length) {
  return array.Enqueue(now, {.offset = offset, .length = length});
}

TEST_CASE("A fixed disk serves its queue one after the other, and rests when it is empty") {
  const auto disk = Array(1, kPage);
  CHECK(Enqueue(*disk, 0, 0, kPage) == 9 * kMs);
  CHECK(Enqueue(*disk, 1 * kMs, 1 << 30, kPage) == 18 * kMs);
  CHECK(Enqueue(*disk, 100 * kMs, 0, kPage) == 109 * kMs);
}

TEST_CASE("A fixed disk with a transfer rate takes longer for longer requests") {
  const auto disk = Array(1, 1 << 20, 8 * kMs, 100'000'000);
  CHECK(Enqueue(*disk, 0, 0, 1'000'000) == 18 * kMs);
}

TEST_CASE("A striped array serves requests of different disks at once and of one disk in turn") {
  const auto array = Array(11, kPage);
  for (uint64_t page = 0; page < 11; ++page) {
    CHECK(Enqueue(*array, 0, page * kPage, kPage) == 9 * kMs);
  }
  CHECK(Enqueue(*array, 0, 11 * kPage, kPage) == 18 * kMs);
}

TEST_CASE("A request over several stripe units is one request on each disk it touches") {
  const auto array = Array(4, kPage);
  CHECK(Enqueue(*array, 0, 2 * kPage, 8 * kPage) == 9 * kMs);   // two units on each
  CHECK(Enqueue(*array, 0, 3 * kPage, 1 * kPage) == 18 * kMs);  // disk 3 again
  CHECK(Enqueue(*array, 0, 512, 512) == 18 * kMs);              // disk 0 again
}

TEST_CASE("The parts of a striped request cover it exactly") {
  // With transfer time only, a request on an array takes the time of its busiest disk.
  Rng rng(42);
  for (int round = 0; round < 2000; ++round) {
    const uint64_t disks = 1 + rng.Below(5), stripe = 512 << rng.Below(3);
    const uint64_t offset = rng.Below(64) * 512, length = (1 + rng.Below(64)) * 512;
    std::vector<uint64_t> of_disk(disks, 0);
    for (uint64_t at = offset; at < offset + length; at += 512) of_disk[at / stripe % disks] += 512;
    const auto array = Array(disks, stripe, 0, kNanosPerSecond);
    REQUIRE(Enqueue(*array, 0, offset, length) ==
            *std::max_element(of_disk.begin(), of_disk.end()));
  }
}

TEST_CASE("In virtual time eleven disks of 9 ms serve sixty users as queueing theory says") {
  SimulatedRuntime runtime({.seed = 7});
  auto device =
      OpenDeviceOf(runtime, *ParseDeviceSpec("fixed:service_ms=9:disks=11:stripe_kb=4"), "disks");
  REQUIRE(device.ok());
  REQUIRE((*device)->Resize(1024 * kPage).ok());
  constexpr uint64_t kUsers = 60, kReadsEach = 200;
  uint64_t failed = 0;
  const Nanos start = runtime.Now();
  const absl::Status ran = runtime.Run([&] {
    std::vector<std::unique_ptr<Actor>> users;
    for (uint64_t user = 0; user < kUsers; ++user) {
      users.push_back(runtime.Spawn("user", [&, user] {
        Rng rng(user);
        AlignedBuffer page(kPage);
        for (uint64_t i = 0; i < kReadsEach; ++i) {
          failed += !(*device)->Read(rng.Below(1024) * kPage, page.span(), IoClass::kPageRead).ok();
        }
      }));
    }
    for (auto& user : users) user->Join();
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  CHECK(failed == 0);
  const double seconds = static_cast<double>(runtime.Now() - start) / kNanosPerSecond;
  // A closed network of n users and m equal stations of service time s (exponential: n/(n+m-1) of
  // m/s); fixed service times wait less, and no array is faster than all of its disks.
  const double per_second = kUsers * kReadsEach / seconds, all_busy = 11 / 0.009;
  CHECK(per_second < all_busy);
  CHECK(per_second > all_busy * 60 / 70);
  CHECK((*device)->stats().in_flight == 0);
}

TEST_CASE("Requests of a queue complete in the order of their disks' times, not of submission") {
  SimulatedRuntime runtime({.seed = 1});
  auto device =
      OpenDeviceOf(runtime, *ParseDeviceSpec("fixed:service_ms=9:disks=2:stripe_kb=4"), "disks");
  REQUIRE(device.ok());
  REQUIRE((*device)->Resize(16 * kPage).ok());
  std::vector<uint64_t> order;
  std::vector<Nanos> times;
  const absl::Status ran = runtime.Run([&] {
    auto queue = (*device)->NewQueue(8);
    REQUIRE(queue.ok());
    AlignedBuffer memory(3 * kPage);
    std::vector<IoRequest> requests(3);
    std::vector<IoRequest*> pointers, completed;
    for (uint64_t i = 0; i < 3; ++i) {
      requests[i].offset = std::vector<uint64_t>{0, 2, 1}[i] * kPage;  // disks 0, 0, 1
      requests[i].length = kPage;
      requests[i].buffer = memory.data() + i * kPage;
      pointers.push_back(&requests[i]);
    }
    const Nanos start = runtime.Now();
    (*queue)->Submit(pointers);
    (*queue)->Wait(0, completed);
    CHECK(completed.empty());
    while ((*queue)->in_flight() > 0) {
      completed.clear();
      (*queue)->Wait(1, completed);
      for (IoRequest* r : completed) {
        order.push_back(r->offset / kPage);
        times.push_back((runtime.Now() - start) / kMs);
      }
    }
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  CHECK(order == std::vector<uint64_t>{0, 1, 2});
  CHECK(times == std::vector<Nanos>{9, 9, 18});
  // Busy time ends with the last request, whether or not an actor waits for it.
  CHECK((*device)->stats().busy / kMs == 18);
}

}  // namespace
}  // namespace latchkey::simulated_disk_test
