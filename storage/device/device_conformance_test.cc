// Conformance suite of BlockDevice. To add a device: one type in DevicesUnderTest.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "storage/base/rng.h"
#include "storage/base/testing/temp_dir.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/block_device.h"
#include "storage/device/device_list.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/file_device.h"
#include "storage/device/memory_device.h"
#include "storage/device/overlay_device.h"
#include "storage/device/simulated/disk_array.h"
#include "storage/device/simulated/simulated_disk.h"

namespace latchkey::device_conformance_test {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint32_t kPage = 4096;

struct MemoryUnderTest {
  std::unique_ptr<BlockDevice> Make(uint64_t size_bytes) {
    auto device = MemoryDevice::Create(ThreadRuntime(), {.size_bytes = size_bytes});
    REQUIRE(device.ok());
    return *std::move(device);
  }
};

struct DirectFileUnderTest {
  TempDir dir;
  std::unique_ptr<BlockDevice> Make(uint64_t size_bytes, bool direct_io = true) {
    auto device = FileDevice::Open(ThreadRuntime(), dir.File("data.lk"), {.direct_io = direct_io});
    REQUIRE(device.ok());
    REQUIRE((*device)->Resize(size_bytes).ok());
    return *std::move(device);
  }
};

struct BufferedFileUnderTest : DirectFileUnderTest {
  std::unique_ptr<BlockDevice> Make(uint64_t size_bytes) {
    return DirectFileUnderTest::Make(size_bytes, /*direct_io=*/false);
  }
};

struct OverlayUnderTest : DirectFileUnderTest {
  std::unique_ptr<BlockDevice> Make(uint64_t size_bytes) {
    return std::make_unique<OverlayDevice>(ThreadRuntime(), DirectFileUnderTest::Make(size_bytes));
  }
};

struct FaultyUnderTest {
  explicit FaultyUnderTest(CrashRecorderOptions options = {})
      : recorder(ThreadRuntime(), options) {}
  CrashRecorder recorder;
  std::unique_ptr<BlockDevice> Make(uint64_t size_bytes) {
    return recorder.Open(recorder.AddDisk("data", DiskImage(size_bytes)));
  }
};

struct SlowFaultyUnderTest : FaultyUnderTest {
  SlowFaultyUnderTest()
      : FaultyUnderTest({.record = false, .min_latency = 100, .max_latency = 20'000}) {}
};

// Simulated devices take real time on threads: these are fast.
struct SimulatedUnderTest {
  std::string_view text = "fixed:service_ms=0.005:disks=3";
  std::unique_ptr<BlockDevice> Make(uint64_t size_bytes) {
    auto device = OpenDeviceOf(ThreadRuntime(), *ParseDeviceSpec(text), "simulated");
    REQUIRE(device.ok());
    REQUIRE((*device)->Resize(size_bytes).ok());
    return *std::move(device);
  }
};
struct ScanUnderTest : SimulatedUnderTest {
  ScanUnderTest() { text = "fixed:service_ms=0.005:disks=3:queue=scan"; }
};
struct Raid5UnderTest : SimulatedUnderTest {
  Raid5UnderTest() { text = "fixed:service_ms=0.002:disks=4:stripe_kb=16:raid=raid5"; }
};
struct ScanRaid5UnderTest : SimulatedUnderTest {
  ScanRaid5UnderTest() { text = "fixed:service_ms=0.002:disks=5:raid=raid5:queue=scan"; }
};
struct FlashUnderTest : SimulatedUnderTest {
  FlashUnderTest() { text = "flash:read_us=5:write_us=5:erase_kb=64:streams=2"; }
};

// A disk that turns some thousand times faster than any other.
struct MechanicalUnderTest {
  static constexpr MechanicalDiskParameters kFast = {"fast", 0.002,   30'000'000, 2'000'000'000,
                                                     1000,   1 << 30, 64 << 10};
  std::unique_ptr<BlockDevice> Make(uint64_t size_bytes) {
    std::vector<std::unique_ptr<DiskModel>> disks;
    for (int i = 0; i < 2; ++i) disks.push_back(std::make_unique<MechanicalDisk>(kFast, i * 0.4));
    auto device = MemoryDevice::Create(ThreadRuntime(), {.size_bytes = size_bytes});
    REQUIRE(device.ok());
    return std::make_unique<SimulatedDisk>(
        ThreadRuntime(), *std::move(device),
        std::make_unique<DiskArray>(std::move(disks), DiskSchedule::kScan,
                                    RaidMap(RaidLevel::kRaid0, 2, 16 * kKiB)));
  }
};

using DevicesUnderTest =
    std::tuple<MemoryUnderTest, DirectFileUnderTest, BufferedFileUnderTest, OverlayUnderTest,
               FaultyUnderTest, SlowFaultyUnderTest, SimulatedUnderTest, ScanUnderTest,
               Raid5UnderTest, ScanRaid5UnderTest, MechanicalUnderTest, FlashUnderTest>;

// Content that identifies the page and the number of its write.
void FillPage(std::byte* page, uint64_t number, uint64_t generation) {
  Rng rng(number * 1'000'003 + generation);
  for (size_t i = 0; i < kPage; i += sizeof(uint64_t)) {
    const uint64_t word = rng.Next();
    std::memcpy(page + i, &word, sizeof(word));
  }
}
bool HoldsPage(const std::byte* page, uint64_t number, uint64_t generation) {
  alignas(8) std::byte expected[kPage];
  FillPage(expected, number, generation);
  return std::memcmp(page, expected, kPage) == 0;
}

bool AllZero(std::span<const std::byte> bytes) {
  for (std::byte b : bytes) {
    if (b != std::byte{0}) return false;
  }
  return true;
}

void WritePages(BlockDevice& device, uint64_t pages, uint64_t generation) {
  AlignedBuffer page(kPage);
  for (uint64_t i = 0; i < pages; ++i) {
    FillPage(page.data(), i, generation);
    REQUIRE(device.Write(i * kPage, page.span(), IoClass::kPageWrite).ok());
  }
}

// One page request over a slice of `memory`.
IoRequest PageRequest(IoRequest::Op op, uint64_t number, std::byte* memory) {
  IoRequest request;
  request.op = op;
  request.io_class = op == IoRequest::Op::kRead ? IoClass::kPageRead : IoClass::kPageWrite;
  request.offset = number * kPage;
  request.length = kPage;
  request.buffer = memory;
  return request;
}

std::vector<IoRequest*> Pointers(std::vector<IoRequest>& requests) {
  std::vector<IoRequest*> pointers;
  for (IoRequest& r : requests) pointers.push_back(&r);
  return pointers;
}

// Submits all, waits for all; returns false when one failed.
bool RunBatch(IoQueue& queue, std::vector<IoRequest>& requests) {
  queue.Submit(Pointers(requests));
  std::vector<IoRequest*> completed;
  while (queue.in_flight() > 0) queue.Wait(1, completed);
  bool ok = completed.size() == requests.size();
  for (const IoRequest& r : requests) ok = ok && r.status.ok();
  return ok;
}

TEMPLATE_LIST_TEST_CASE("A device returns what was written, and zeros where nothing was",
                        "[device]", DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(1 * kMiB);
  WritePages(*device, 16, 1);
  WritePages(*device, 8, 2);
  AlignedBuffer page(kPage);
  for (uint64_t i = 0; i < 16; ++i) {
    REQUIRE(device->Read(i * kPage, page.span(), IoClass::kPageRead).ok());
    CHECK(HoldsPage(page.data(), i, i < 8 ? 2 : 1));
  }
  REQUIRE(device->Read(20 * kPage, page.span(), IoClass::kPageRead).ok());
  CHECK(AllZero(page.span()));
}

TEMPLATE_LIST_TEST_CASE("Transfers may be as small as a logical block and as large as the device",
                        "[device]", DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(3 * kMiB);
  const uint32_t block = device->geometry().logical_block;
  AlignedBuffer all(3 * kMiB), read(3 * kMiB);
  for (uint64_t i = 0; i < all.size() / kPage; ++i) FillPage(all.data() + i * kPage, i, 7);
  REQUIRE(device->Write(0, all.span(), IoClass::kSegmentWrite).ok());
  FillPage(all.data() + kPage, 99, 9);
  REQUIRE(device->Write(kPage, all.span().subspan(kPage, block), IoClass::kMeta).ok());
  FillPage(all.data() + kPage, 1, 7);
  AlignedBuffer patch(kPage);
  FillPage(patch.data(), 99, 9);
  std::memcpy(all.data() + kPage, patch.data(), block);
  REQUIRE(device->Read(0, read.span(), IoClass::kSegmentRead).ok());
  CHECK(std::memcmp(all.data(), read.data(), all.size()) == 0);
}

TEMPLATE_LIST_TEST_CASE("A queue completes every request of large batches once", "[device]",
                        DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(2 * kMiB);
  auto queue = device->NewQueue(256);
  REQUIRE(queue.ok());
  AlignedBuffer memory(256 * kPage);
  std::vector<IoRequest> requests;
  for (uint64_t i = 0; i < 256; ++i) {
    FillPage(memory.data() + i * kPage, i, 3);
    requests.push_back(PageRequest(IoRequest::Op::kWrite, i, memory.data() + i * kPage));
  }
  REQUIRE(RunBatch(**queue, requests));
  std::memset(memory.data(), 0, memory.size());
  for (IoRequest& r : requests) r.op = IoRequest::Op::kRead;
  REQUIRE(RunBatch(**queue, requests));
  for (uint64_t i = 0; i < 256; ++i) CHECK(HoldsPage(memory.data() + i * kPage, i, 3));
}

TEMPLATE_LIST_TEST_CASE("A queue kept full delivers each completion exactly once", "[device]",
                        DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(1 * kMiB);
  WritePages(*device, 256, 1);
  constexpr size_t kDepth = 24, kReads = 3000;
  auto queue = device->NewQueue(kDepth);
  REQUIRE(queue.ok());
  AlignedBuffer memory(kDepth * kPage);
  std::vector<IoRequest> slots(kDepth);
  std::vector<IoRequest*> idle = Pointers(slots), completed;
  Rng rng(42);
  size_t submitted = 0, delivered = 0, wrong = 0;
  while (delivered < kReads) {
    std::vector<IoRequest*> batch;
    while (!idle.empty() && submitted < kReads) {
      IoRequest* r = idle.back();
      idle.pop_back();
      *r = PageRequest(IoRequest::Op::kRead, rng.Below(256),
                       memory.data() + (r - slots.data()) * kPage);
      batch.push_back(r);
      ++submitted;
    }
    (*queue)->Submit(batch);
    completed.clear();
    (*queue)->Wait(rng.Below(4), completed);
    for (IoRequest* r : completed) {
      if (!r->status.ok() || !HoldsPage(r->buffer, r->offset / kPage, 1)) ++wrong;
      idle.push_back(r);
    }
    delivered += completed.size();
    REQUIRE((*queue)->in_flight() == submitted - delivered);
  }
  CHECK(wrong == 0);
  CHECK(idle.size() == kDepth);
}

TEMPLATE_LIST_TEST_CASE("Several actors use queues and synchronous calls at once", "[device]",
                        DevicesUnderTest) {
  TestType maker;
  constexpr uint64_t kActors = 4, kPagesEach = 64;
  auto device = maker.Make(kActors * kPagesEach * kPage);
  std::vector<int> bad(kActors, -1);
  auto body = [&](uint64_t actor) {
    int errors = 0;
    AlignedBuffer memory(kPagesEach * kPage);
    auto queue = device->NewQueue(kPagesEach);
    for (uint64_t round = 1; queue.ok() && round <= 5; ++round) {
      std::vector<IoRequest> requests;
      for (uint64_t i = 0; i < kPagesEach; ++i) {
        const uint64_t number = actor * kPagesEach + i;
        FillPage(memory.data() + i * kPage, number, round);
        requests.push_back(PageRequest(IoRequest::Op::kWrite, number, memory.data() + i * kPage));
      }
      if (!RunBatch(**queue, requests)) ++errors;
      for (const IoRequest& r : requests) {
        const bool read = device->Read(r.offset, {memory.data(), kPage}, IoClass::kPageRead).ok();
        if (!read || !HoldsPage(memory.data(), r.offset / kPage, round)) ++errors;
      }
    }
    bad[actor] = queue.ok() ? errors : 1;
  };
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("io", [&body, a] { body(a); }));
  }
  for (auto& actor : actors) actor->Join();
  CHECK(bad == std::vector<int>(kActors, 0));
  CHECK(device->stats().in_flight == 0);
}

TEMPLATE_LIST_TEST_CASE("Growth keeps the content and adds zeros, and shrinking cuts the end",
                        "[device]", DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(16 * kPage);
  WritePages(*device, 16, 1);
  REQUIRE(device->Resize(5 * kMiB + kPage).ok());
  CHECK(device->geometry().size_bytes == 5 * kMiB + kPage);
  AlignedBuffer page(kPage), rest(5 * kMiB - 15 * kPage);
  for (uint64_t i = 0; i < 16; ++i) {
    REQUIRE(device->Read(i * kPage, page.span(), IoClass::kPageRead).ok());
    CHECK(HoldsPage(page.data(), i, 1));
  }
  REQUIRE(device->Read(16 * kPage, rest.span(), IoClass::kSegmentRead).ok());
  CHECK(AllZero(rest.span()));

  REQUIRE(device->Resize(4 * kPage).ok());
  CHECK(absl::IsOutOfRange(device->Read(4 * kPage, page.span(), IoClass::kPageRead)));
  REQUIRE(device->Read(3 * kPage, page.span(), IoClass::kPageRead).ok());
  CHECK(HoldsPage(page.data(), 3, 1));
  REQUIRE(device->Resize(16 * kPage).ok());
  REQUIRE(device->Read(4 * kPage, page.span(), IoClass::kPageRead).ok());
  CHECK(AllZero(page.span()));
}

TEMPLATE_LIST_TEST_CASE("Reads go on while another actor grows the device", "[device]",
                        DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(16 * kPage);
  WritePages(*device, 16, 1);
  std::atomic<bool> done{false};
  int failed_growths = 0;
  auto grower = ThreadRuntime().Spawn("grow", [&] {
    for (uint64_t mib = 1; mib <= 4; ++mib) failed_growths += !device->Resize(mib * kMiB).ok();
    done = true;
  });
  AlignedBuffer page(kPage);
  int wrong = 0;
  for (uint64_t i = 0; i < 64 || !done; ++i) {
    const bool read = device->Read(i % 16 * kPage, page.span(), IoClass::kPageRead).ok();
    if (!read || !HoldsPage(page.data(), i % 16, 1)) ++wrong;
  }
  grower->Join();
  CHECK(wrong == 0);
  CHECK(failed_growths == 0);
  CHECK(device->geometry().size_bytes == 4 * kMiB);
}

TEMPLATE_LIST_TEST_CASE("A medium that is full refuses growth and keeps its size and content",
                        "[device]", DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(16 * kPage);
  WritePages(*device, 16, 1);
  CHECK(absl::IsResourceExhausted(device->Resize(uint64_t{1} << 52)));
  CHECK(device->geometry().size_bytes == 16 * kPage);
  AlignedBuffer page(kPage);
  REQUIRE(device->Read(15 * kPage, page.span(), IoClass::kPageRead).ok());
  CHECK(HoldsPage(page.data(), 15, 1));
  REQUIRE(device->Resize(32 * kPage).ok());
}

TEMPLATE_LIST_TEST_CASE("Misaligned requests are InvalidArgument and transfer nothing", "[device]",
                        DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(16 * kPage);
  WritePages(*device, 2, 1);
  AlignedBuffer memory(2 * kPage);
  const std::span<std::byte> all = memory.span();
  CHECK(absl::IsInvalidArgument(device->Read(100, all.first(kPage), IoClass::kPageRead)));
  CHECK(absl::IsInvalidArgument(device->Read(0, all.first(100), IoClass::kPageRead)));
  CHECK(absl::IsInvalidArgument(device->Read(0, all.subspan(8, kPage), IoClass::kPageRead)));
  CHECK(absl::IsInvalidArgument(device->Read(0, all.first(0), IoClass::kPageRead)));
  CHECK(absl::IsInvalidArgument(device->Write(100, all.first(kPage), IoClass::kPageWrite)));
  CHECK(absl::IsInvalidArgument(device->Resize(kPage + 1)));
  CHECK(AllZero(all));
  CHECK(device->geometry().size_bytes == 16 * kPage);
}

TEMPLATE_LIST_TEST_CASE("Requests beyond the end are OutOfRange, however large their offset",
                        "[device]", DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(16 * kPage);
  AlignedBuffer memory(2 * kPage);
  const std::span<std::byte> one = memory.span().first(kPage);
  CHECK(absl::IsOutOfRange(device->Read(16 * kPage, one, IoClass::kPageRead)));
  CHECK(absl::IsOutOfRange(device->Read(15 * kPage, memory.span(), IoClass::kPageRead)));
  CHECK(absl::IsOutOfRange(device->Read(UINT64_MAX - kPage + 1, one, IoClass::kPageRead)));
  CHECK(absl::IsOutOfRange(device->Write(16 * kPage, one, IoClass::kPageWrite)));
  CHECK(device->stats().errors == 4);
}

TEMPLATE_LIST_TEST_CASE("A refused request of a batch fails alone", "[device]", DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(16 * kPage);
  WritePages(*device, 16, 1);
  auto queue = device->NewQueue(3);
  REQUIRE(queue.ok());
  AlignedBuffer memory(3 * kPage);
  std::vector<IoRequest> requests;
  for (uint64_t number : {3u, 16u, 5u}) {
    requests.push_back(
        PageRequest(IoRequest::Op::kRead, number, memory.data() + requests.size() * kPage));
  }
  CHECK_FALSE(RunBatch(**queue, requests));
  CHECK(requests[0].status.ok());
  CHECK(absl::IsOutOfRange(requests[1].status));
  CHECK(requests[2].status.ok());
  CHECK(HoldsPage(memory.data(), 3, 1));
  CHECK(HoldsPage(memory.data() + 2 * kPage, 5, 1));
}

TEMPLATE_LIST_TEST_CASE("Queue depths outside 1..1024 are refused", "[device]", DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(kPage);
  CHECK(absl::IsInvalidArgument(device->NewQueue(0).status()));
  CHECK(absl::IsInvalidArgument(device->NewQueue(1025).status()));
  CHECK(device->NewQueue(1).ok());
  CHECK(device->NewQueue(1024).ok());
}

TEMPLATE_LIST_TEST_CASE("Statistics add up: requests, bytes, syncs, and busy within the wall time",
                        "[device]", DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(64 * kPage);
  const DeviceStats before = device->stats();
  const Nanos start = ThreadRuntime().Now();
  WritePages(*device, 10, 1);
  auto queue = device->NewQueue(20);
  REQUIRE(queue.ok());
  AlignedBuffer memory(20 * kPage);
  std::vector<IoRequest> requests;
  for (uint64_t i = 0; i < 20; ++i) {
    requests.push_back(PageRequest(IoRequest::Op::kRead, i, memory.data() + i * kPage));
  }
  REQUIRE(RunBatch(**queue, requests));
  REQUIRE(device->Sync().ok());
  const Nanos wall = ThreadRuntime().Now() - start;
  const DeviceStats after = device->stats();

  auto grown = [&](IoClass c) { return after.of(c).requests - before.of(c).requests; };
  CHECK(grown(IoClass::kPageWrite) == 10);
  CHECK(grown(IoClass::kPageRead) == 20);
  CHECK(after.of(IoClass::kPageRead).bytes - before.of(IoClass::kPageRead).bytes == 20 * kPage);
  CHECK(after.of(IoClass::kPageWrite).bytes - before.of(IoClass::kPageWrite).bytes == 10 * kPage);
  CHECK(after.syncs - before.syncs == 1);
  CHECK(after.busy - before.busy <= wall);
  Nanos sum = 0;
  for (const IoClassStats& of_class : after.by_class) sum += of_class.busy;
  CHECK(static_cast<double>(sum) == Approx(static_cast<double>(after.busy)).margin(kIoClasses));
  CHECK(after.errors == 0);
  CHECK(after.in_flight == 0);
}

TEMPLATE_LIST_TEST_CASE(
    "A discarded range reads as its old content or as zeros until it is written", "[device]",
    DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(64 * kPage);
  WritePages(*device, 64, 1);
  REQUIRE(device->Discard(8 * kPage, 40 * kPage).ok());
  AlignedBuffer page(kPage);
  for (uint64_t i = 0; i < 64; ++i) {
    REQUIRE(device->Read(i * kPage, page.span(), IoClass::kPageRead).ok());
    const bool discarded = i >= 8 && i < 48;
    CHECK((HoldsPage(page.data(), i, 1) || (discarded && AllZero(page.span()))));
  }
  WritePages(*device, 64, 2);
  for (uint64_t i = 0; i < 64; ++i) {
    REQUIRE(device->Read(i * kPage, page.span(), IoClass::kPageRead).ok());
    CHECK(HoldsPage(page.data(), i, 2));
  }
  CHECK(device->geometry().size_bytes == 64 * kPage);
}

TEMPLATE_LIST_TEST_CASE("A device says what it is and keeps a sane geometry", "[device]",
                        DevicesUnderTest) {
  TestType maker;
  auto device = maker.Make(16 * kPage);
  CHECK_FALSE(device->Describe().empty());
  const DeviceGeometry geometry = device->geometry();
  CHECK(geometry.size_bytes == 16 * kPage);
  CHECK(geometry.logical_block >= 512);
  CHECK(kPage % geometry.logical_block == 0);
  CHECK(geometry.atomic_write_unit >= 512);
}

}  // namespace
}  // namespace latchkey::device_conformance_test
