// The devices of the list in virtual time.
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/device_list.h"
#include "storage/device/simulated/expected_costs.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::simulated_devices_test {
namespace {

constexpr uint32_t kPage = 4096;
constexpr uint64_t kPages = 2048;

std::vector<std::string> SimulatedDevices() {
  std::vector<std::string> devices;
  for (const DeviceInfo& device : Devices()) {
    if (!device.simulated) continue;
    const std::string name(device.description.name);
    devices.push_back(name);
    if (!device.array) continue;
    devices.push_back(name + ":disks=4:stripe_kb=16:queue=scan");
    devices.push_back(name + ":disks=5:stripe_kb=16:raid=raid5:queue=fcfs");
    devices.push_back(name + ":disks=5:stripe_kb=16:raid=raid5:queue=scan");
  }
  return devices;
}

// Writes random runs of the actor's own pages through a queue, then reads them back; returns how
// many pages were wrong or failed.
uint64_t WriteAndReadBack(BlockDevice& device, uint64_t first, uint64_t count, uint64_t seed) {
  constexpr uint64_t kDepth = 8, kMaxRun = 12;
  Rng rng(seed);
  std::vector<uint64_t> content(count, 0);
  AlignedBuffer memory(kDepth * kMaxRun * kPage);
  const auto queue = device.NewQueue(kDepth);
  if (!queue.ok()) return count;
  uint64_t bad = 0;
  for (uint64_t round = 1; round <= 12; ++round) {
    std::vector<IoRequest> requests(kDepth);
    std::vector<IoRequest*> pointers, completed;
    for (uint64_t i = 0; i < kDepth; ++i) {
      // Each request of a round has an eighth of the pages for itself.
      const uint64_t share = count / kDepth, run = 1 + rng.Below(kMaxRun);
      const uint64_t begin = i * share + rng.Below(share - run);
      IoRequest& r = requests[i];
      r.op = IoRequest::Op::kWrite;
      r.stream = static_cast<uint8_t>(i);
      r.offset = (first + begin) * kPage;
      r.length = static_cast<uint32_t>(run * kPage);
      r.buffer = memory.data() + i * kMaxRun * kPage;
      for (uint64_t page = 0; page < run; ++page) {
        content[begin + page] = round * 1'000'003 + begin + page;
        std::memcpy(r.buffer + page * kPage, &content[begin + page], sizeof(uint64_t));
      }
      pointers.push_back(&r);
    }
    (*queue)->Submit(pointers);
    while ((*queue)->in_flight() > 0) (*queue)->Wait(1, completed);
    for (const IoRequest& r : requests) bad += !r.status.ok();
    bad += completed.size() != kDepth;
  }
  for (uint64_t page = 0; page < count; ++page) {
    const std::span<std::byte> out = memory.span().first(kPage);
    uint64_t found = 1;
    if (device.Read((first + page) * kPage, out, IoClass::kPageRead).ok()) {
      std::memcpy(&found, out.data(), sizeof(found));
    }
    bad += found != content[page];
  }
  return bad;
}

TEST_CASE("Every simulated device keeps what several actors write, whatever its order of service") {
  const std::string text = GENERATE(from_range(SimulatedDevices()));
  CAPTURE(text);
  SimulatedRuntime runtime({.seed = 5});
  auto device = OpenDeviceOf(runtime, *ParseDeviceSpec(text), "disks");
  REQUIRE(device.ok());
  REQUIRE((*device)->Resize(kPages * kPage).ok());
  uint64_t bad = 0;
  const absl::Status ran = runtime.Run([&] {
    std::vector<std::unique_ptr<Actor>> actors;
    for (uint64_t a = 0; a < 4; ++a) {
      actors.push_back(runtime.Spawn(
          "io", [&, a] { bad += WriteAndReadBack(**device, a * kPages / 4, kPages / 4, a); }));
    }
    for (auto& actor : actors) actor->Join();
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  CHECK(bad == 0);
  const DeviceStats stats = (*device)->stats();
  CHECK(stats.in_flight == 0);
  Nanos by_class = 0;
  for (const IoClassStats& of_class : stats.by_class) by_class += of_class.service;
  const MediumStats& medium = stats.medium;
  CHECK(by_class == medium.seek + medium.rotation + medium.transfer);
  CHECK(by_class == medium.sequential_reads.service + medium.random_reads.service +
                        medium.sequential_writes.service + medium.random_writes.service);
  const DeviceSpec spec = *ParseDeviceSpec(text);
  CHECK(by_class <= stats.busy * spec.disks);
}

TEST_CASE("The same seed gives the same times on every simulated device") {
  const auto run = [](const std::string& text) {
    SimulatedRuntime runtime({.seed = 9, .step_cost = 0});
    auto device = OpenDeviceOf(runtime, *ParseDeviceSpec(text), "disks");
    REQUIRE(device.ok());
    REQUIRE((*device)->Resize(kPages * kPage).ok());
    REQUIRE(runtime.Run([&] { WriteAndReadBack(**device, 0, kPages, 3); }).ok());
    return runtime.history_hash();
  };
  for (const std::string& text : SimulatedDevices()) {
    CAPTURE(text);
    CHECK(run(text) == run(text));
  }
}

TEST_CASE("Twenty users on SCAN disks are served faster than on FCFS disks") {
  const auto seconds = [](const char* text) {
    SimulatedRuntime runtime({.seed = 3, .step_cost = 0});
    auto device = OpenDeviceOf(runtime, *ParseDeviceSpec(text), "disks");
    REQUIRE(device.ok());
    REQUIRE((*device)->Resize(uint64_t{4} << 30).ok());
    const absl::Status ran = runtime.Run([&] {
      std::vector<std::unique_ptr<Actor>> users;
      for (uint64_t user = 0; user < 20; ++user) {
        users.push_back(runtime.Spawn("user", [&, user] {
          Rng rng(user);
          AlignedBuffer page(kPage);
          for (int i = 0; i < 200; ++i) {
            const uint64_t offset = rng.Below((uint64_t{4} << 30) / kPage) * kPage;
            (void)(*device)->Read(offset, page.span(), IoClass::kPageRead);
          }
        }));
      }
      for (auto& user : users) user->Join();
    });
    REQUIRE(ran.ok());
    const DeviceStats stats = (*device)->stats();
    CHECK(stats.of(IoClass::kPageRead).requests == 4000);
    CHECK(stats.medium.random_reads.requests >= 3990);
    CHECK(stats.medium.queued > 0);
    CHECK(stats.medium.cylinders_crossed > 0);
    return static_cast<double>(runtime.Now()) / kNanosPerSecond;
  };
  CHECK(seconds("atlas10k:disks=4:queue=scan") < 0.92 * seconds("atlas10k:disks=4:queue=fcfs"));
}

TEST_CASE("A simulated disk that is full says how much it holds") {
  SimulatedRuntime runtime({.seed = 1});
  auto device = OpenDeviceOf(runtime, *ParseDeviceSpec("rz26"), "disk");
  REQUIRE(device.ok());
  const absl::Status status = (*device)->Resize(uint64_t{2} << 30);
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("10804") && Catch::Contains("more disks"));
  CHECK((*device)->Resize(uint64_t{1} << 30).ok());
}

TEST_CASE("Flash reports its write amplification, and a discard lowers it") {
  const auto amplification = [](bool discard) {
    auto device = OpenDeviceOf(ThreadRuntime(),
                               *ParseDeviceSpec("flash:read_us=0:write_us=0:erase_kb=64:spare=0.1:"
                                                "write_mb_per_s=1000000:read_mb_per_s=1000000"),
                               "flash");
    REQUIRE(device.ok());
    REQUIRE((*device)->Resize(kPages * kPage).ok());
    AlignedBuffer pages(kPages * kPage);
    REQUIRE((*device)->Write(0, pages.span(), IoClass::kSegmentWrite).ok());
    const uint64_t used = kPages / 2;
    if (discard) REQUIRE((*device)->Discard(used * kPage, (kPages - used) * kPage).ok());
    Rng rng(42);
    for (uint64_t i = 0; i < 8 * kPages; ++i) {
      const std::span<std::byte> page = pages.span().first(kPage);
      REQUIRE((*device)->Write(rng.Below(used) * kPage, page, IoClass::kPageWrite).ok());
    }
    return (*device)->stats().medium.write_amplification();
  };
  const double without = amplification(false), with = amplification(true);
  CHECK(with < 0.8 * without);
  CHECK(with >= 1);
}

}  // namespace
}  // namespace latchkey::simulated_devices_test
