#include "storage/device/faulty/crash_recorder.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "storage/device/aligned_buffer.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::crash_recorder_test {
namespace {

constexpr uint64_t kSector = 512;
constexpr uint64_t kPage = 4096;

// One disk of 16 pages, and pages and sectors full of one byte.
struct Machine {
  explicit Machine(CrashRecorderOptions options = {})
      : recorder(ThreadRuntime(), options),
        disk(recorder.AddDisk("disk", DiskImage(16 * kPage))),
        device(recorder.Open(disk)) {}

  absl::Status Fill(uint64_t offset, uint64_t length, int byte) {
    AlignedBuffer buffer(length);
    std::memset(buffer.data(), byte, length);
    return device->Write(offset, buffer.span(), IoClass::kMeta);
  }
  int ByteAt(uint64_t offset) {
    AlignedBuffer buffer(kSector);
    REQUIRE(device->Read(offset / kSector * kSector, buffer.span(), IoClass::kMeta).ok());
    return std::to_integer<int>(buffer.data()[offset % kSector]);
  }

  CrashRecorder recorder;
  uint32_t disk;
  std::unique_ptr<BlockDevice> device;
};

class SecondPageForbidden final : public DiskMonitor {
 public:
  std::string OnWriteSubmitted(uint32_t, uint64_t offset, std::span<const std::byte>) override {
    return offset == kPage ? "page before log" : "";
  }
};

int ByteAt(const DiskImage& image, uint64_t offset) {
  std::byte byte;
  image.Read(offset, {&byte, 1});
  return std::to_integer<int>(byte);
}

DiskImage ImageAt(CrashReplay& replay, CrashVariant variant, uint64_t index = 0,
                  uint64_t seed = 1) {
  return replay.Images({variant, index}, seed)[0];
}

TEST_CASE("Images share their blocks until one of them is written") {
  DiskImage first(16 * kPage);
  std::vector<std::byte> ones(kPage, std::byte{1});
  first.Write(kPage - kSector, ones);
  DiskImage second = first;
  CHECK(second.Hash() == first.Hash());
  second.FlipBit(kPage, 3);
  CHECK(ByteAt(first, kPage) == 1);
  CHECK(ByteAt(second, kPage) == 9);
  CHECK(second.Hash() != first.Hash());
  second.Resize(kPage + 7);
  second.Resize(16 * kPage);
  CHECK(ByteAt(second, kPage + 6) == 1);
  CHECK(ByteAt(second, kPage + 7) == 0);
  CHECK(ByteAt(first, kPage + 7) == 1);
}

TEST_CASE("What a sync has covered survives every crash, what came after may not") {
  Machine machine;
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  REQUIRE(machine.device->Sync().ok());
  const uint64_t synced = machine.recorder.position();
  REQUIRE(machine.Fill(0, kPage, 2).ok());
  CHECK(machine.recorder.HasUnsynced(machine.disk));

  CrashReplay replay(machine.recorder);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kAll), 0) == 0);
  replay.AdvanceTo(synced);
  CHECK(replay.pending_changes() == 0);
  CHECK(replay.Choices({}).size() == 1);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 1);
  replay.AdvanceTo(replay.end());
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 1);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kAll), 0) == 2);
}

TEST_CASE("The power goes off in the middle of a call, after the chosen number of events") {
  Machine machine;
  machine.recorder.PowerOffAfter(3);
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  CHECK_FALSE(machine.recorder.power_is_off());
  CHECK(absl::IsUnavailable(machine.Fill(kPage, kPage, 2)));
  CHECK(machine.recorder.power_is_off());
  CHECK(absl::IsUnavailable(machine.device->Sync()));
  CHECK(machine.recorder.position() == 3);

  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end());
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kAll), kPage) == 2);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 0);
  std::set<int> drawn;
  Rng rng(1);
  for (int i = 0; i < 50; ++i) drawn.insert(ByteAt(replay.SomeImages(rng)[0], kPage));
  CHECK(drawn.contains(0));
  CHECK(drawn.contains(2));
}

TEST_CASE("A disk whose power goes off while it grows has the old size or the new one") {
  Machine machine;
  machine.recorder.PowerOffAfter(1);
  CHECK(absl::IsUnavailable(machine.device->Resize(32 * kPage)));
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end());
  CHECK(ImageAt(replay, CrashVariant::kNone).size() == 16 * kPage);
  CHECK(ImageAt(replay, CrashVariant::kAll).size() == 32 * kPage);
}

TEST_CASE("A crash between a sync's beginning and its end may lose what it was to cover") {
  Machine machine;
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  REQUIRE(machine.device->Sync().ok());
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end() - 1);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 0);
  replay.AdvanceTo(replay.end());
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 1);
}

TEST_CASE("A sync covers what had completed when it began, and not what was in flight") {
  Machine machine;
  auto queue = machine.device->NewQueue(4);
  REQUIRE(queue.ok());
  AlignedBuffer memory(kPage);
  std::memset(memory.data(), 7, kPage);
  IoRequest request;
  request.op = IoRequest::Op::kWrite;
  request.length = kPage;
  request.buffer = memory.data();
  IoRequest* pointer = &request;
  (*queue)->Submit({&pointer, 1});
  REQUIRE(machine.device->Sync().ok());
  std::vector<IoRequest*> completed;
  (*queue)->Wait(1, completed);
  REQUIRE(request.status.ok());
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end());
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 0);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kAll), 0) == 7);
}

TEST_CASE("Every subset of few pending sectors is tried, once each") {
  Machine machine;
  REQUIRE(machine.Fill(0, 3 * kSector, 1).ok());
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end());
  std::set<uint64_t> states;
  const auto choices = replay.Choices({.random_choices = 0, .exhaustive_sectors = 12});
  CHECK(choices.size() == 8);
  for (const CrashChoice& choice : choices) {
    states.insert(replay.Images(choice, 1)[0].Hash());
  }
  CHECK(states.size() == 8);
}

TEST_CASE("Drop-one, keep-one and random subsets hold whole writes, sector subsets torn ones") {
  Machine machine;
  for (uint64_t page = 0; page < 4; ++page) REQUIRE(machine.Fill(page * kPage, kPage, 1).ok());
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end());
  const auto written_pages = [](const DiskImage& image) {
    std::vector<int> bytes;
    for (uint64_t page = 0; page < 4; ++page) bytes.push_back(ByteAt(image, page * kPage));
    return bytes;
  };
  CHECK(written_pages(ImageAt(replay, CrashVariant::kDropOne, 2)) == std::vector{1, 1, 0, 1});
  CHECK(written_pages(ImageAt(replay, CrashVariant::kKeepOne, 2)) == std::vector{0, 0, 1, 0});
  size_t torn = 0, garbage = 0;
  for (uint64_t index = 0; index < 64; ++index) {
    const DiskImage writes = ImageAt(replay, CrashVariant::kWrites, index);
    const DiskImage sectors = ImageAt(replay, CrashVariant::kSectors, index);
    const DiskImage dirty = ImageAt(replay, CrashVariant::kGarbage, index);
    for (uint64_t at = 0; at < 4 * kPage; at += kSector) {
      REQUIRE(ByteAt(writes, at) == ByteAt(writes, at / kPage * kPage));
      torn += ByteAt(sectors, at) != ByteAt(sectors, at / kPage * kPage);
      garbage += ByteAt(dirty, at) > 1 || ByteAt(dirty, at + 1) > 1;
    }
    REQUIRE(ByteAt(dirty, 4 * kPage) == 0);
  }
  CHECK(torn > 100);
  CHECK(garbage > 60);
  CHECK(garbage <= 64);
}

TEST_CASE("A crash state is made again from its position, choice and seed") {
  Machine machine;
  for (uint64_t page = 0; page < 8; ++page) REQUIRE(machine.Fill(page * kPage, kPage, 3).ok());
  CrashReplay first(machine.recorder), second(machine.recorder);
  first.AdvanceTo(3);
  first.AdvanceTo(first.end());
  second.AdvanceTo(second.end());
  for (const CrashChoice& choice : first.Choices({})) {
    REQUIRE(first.Images(choice, 5)[0].Hash() == second.Images(choice, 5)[0].Hash());
  }
  CHECK(ImageAt(first, CrashVariant::kSectors, 0, 5).Hash() !=
        ImageAt(first, CrashVariant::kSectors, 0, 6).Hash());
}

TEST_CASE("Growth is durable when Resize returns, shrinking when it is synced") {
  Machine machine;
  REQUIRE(machine.device->Resize(32 * kPage).ok());
  const uint64_t grown = machine.recorder.position();
  REQUIRE(machine.device->Resize(4 * kPage).ok());
  const uint64_t shrunk = machine.recorder.position();
  REQUIRE(machine.device->Sync().ok());
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(grown - 1);
  CHECK(ImageAt(replay, CrashVariant::kOldSizes).size() == 16 * kPage);
  CHECK(ImageAt(replay, CrashVariant::kNewSizes).size() == 32 * kPage);
  replay.AdvanceTo(grown);
  CHECK(ImageAt(replay, CrashVariant::kNone).size() == 32 * kPage);
  replay.AdvanceTo(shrunk);
  CHECK(ImageAt(replay, CrashVariant::kNone).size() == 32 * kPage);
  CHECK(ImageAt(replay, CrashVariant::kAll).size() == 4 * kPage);
  replay.AdvanceTo(replay.end());
  CHECK(ImageAt(replay, CrashVariant::kNone).size() == 4 * kPage);
}

TEST_CASE("A disk that is cut and grown again is never cut by a later sync") {
  Machine machine;
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  REQUIRE(machine.device->Resize(0).ok());
  REQUIRE(machine.device->Resize(8 * kPage).ok());
  REQUIRE(machine.Fill(kPage, kPage, 2).ok());
  REQUIRE(machine.device->Sync().ok());
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end());
  for (CrashVariant variant : {CrashVariant::kNone, CrashVariant::kAll}) {
    const DiskImage image = ImageAt(replay, variant);
    REQUIRE(image.size() == 8 * kPage);
    CHECK(ByteAt(image, 0) == 0);
    CHECK(ByteAt(image, kPage) == 2);
  }
}

TEST_CASE("Several disks lose their power at the same event") {
  Machine machine;
  const uint32_t log = machine.recorder.AddDisk("log", DiskImage(16 * kPage));
  auto log_device = machine.recorder.Open(log);
  AlignedBuffer page(kPage);
  std::memset(page.data(), 5, kPage);
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  REQUIRE(log_device->Write(0, page.span(), IoClass::kMeta).ok());
  REQUIRE(log_device->Sync().ok());
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end());
  const std::vector<DiskImage> images = replay.Images({CrashVariant::kNone, 0}, 1);
  CHECK(ByteAt(images[machine.disk], 0) == 0);
  CHECK(ByteAt(images[log], 0) == 5);
}

TEST_CASE("A read that was sent to what a cut takes away meanwhile fails, as that of a file does") {
  SimulatedRuntime runtime;
  CrashRecorder recorder(runtime, {.min_latency = 1000, .max_latency = 1000});
  const uint32_t disk = recorder.AddDisk("disk", DiskImage(16 * kPage));
  const std::unique_ptr<BlockDevice> device = recorder.Open(disk);
  absl::Status read;
  REQUIRE(runtime
              .Run([&] {
                const auto reader = runtime.Spawn("reader", [&] {
                  AlignedBuffer buffer(kPage);
                  read = device->Read(15 * kPage, buffer.span(), IoClass::kMeta);
                });
                runtime.SleepFor(500);
                REQUIRE(device->Resize(8 * kPage).ok());
                reader->Join();
              })
              .ok());
  CHECK(absl::IsUnavailable(read));
}

TEST_CASE("The k-th call fails once, or from then on") {
  Machine machine;
  machine.recorder.SetFault(Fault{.kind = FaultKind::kWriteError, .at_call = 1});
  CHECK(machine.Fill(0, kPage, 1).ok());
  const absl::Status failed = machine.Fill(kPage, kPage, 1);
  CHECK(absl::IsUnavailable(failed));
  CHECK_THAT(std::string(failed.message()),
             Catch::Contains("EIO") && Catch::Contains("\"disk\"") && Catch::Contains("4096"));
  CHECK(machine.Fill(2 * kPage, kPage, 1).ok());
  CHECK(machine.recorder.injected_faults() == 1);

  machine.recorder.SetFault(Fault{.kind = FaultKind::kNoSpace, .at_call = 2, .from_then_on = true});
  CHECK(machine.Fill(0, kPage, 1).ok());
  CHECK(machine.device->Resize(20 * kPage).ok());
  CHECK(absl::IsResourceExhausted(machine.Fill(0, kPage, 2)));
  CHECK(absl::IsResourceExhausted(machine.device->Resize(24 * kPage)));
  CHECK(machine.ByteAt(0) == 1);
}

TEST_CASE("A bad place takes no write, neither when the faults stop nor on the next machine") {
  Machine machine;
  machine.recorder.SetFault(Fault{.kind = FaultKind::kBadPlace, .only_disk = machine.disk});
  CHECK_FALSE(machine.Fill(2 * kPage, 2 * kPage, 1).ok());
  machine.recorder.StopFaults();
  const std::vector<BadPlace> places = machine.recorder.bad_places(machine.disk);
  REQUIRE(places.size() == 1);
  Machine next;
  next.recorder.SetBadPlaces(next.disk, places);
  for (Machine* m : {&machine, &next}) {
    CHECK_FALSE(m->Fill(places[0].offset, kPage, 1).ok());
    CHECK_FALSE(m->Fill(2 * kPage, 2 * kPage, 1).ok());
    CHECK(m->Fill(5 * kPage - places[0].offset, kPage, 1).ok());  // the other page
    CHECK(m->Fill(4 * kPage, kPage, 1).ok());
  }
}

TEST_CASE("A fault of one disk fails no call of another") {
  Machine machine;
  machine.recorder.SetFault(
      Fault{.kind = FaultKind::kWriteError, .from_then_on = true, .only_disk = machine.disk + 1});
  CHECK(machine.Fill(0, kPage, 1).ok());
  CHECK(machine.recorder.faultable_calls() == 0);
}

TEST_CASE("A failed sync is final, and what it was to cover may be lost for ever") {
  Machine machine;
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  machine.recorder.SetFault(Fault{.kind = FaultKind::kSyncError, .at_call = 0});
  CHECK(absl::IsUnavailable(machine.device->Sync()));
  machine.recorder.SetFault(std::nullopt);
  CHECK(absl::IsUnavailable(machine.device->Sync()));
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(replay.end());
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 0);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kAll), 0) == 1);
}

TEST_CASE("What a failed write has left is as durable as the sync behind it, and no more comes") {
  // Regression: the failed write stayed pending for ever. After a later write and sync of the same
  // place, a crash state could still show it.
  Machine machine;
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  REQUIRE(machine.device->Sync().ok());
  machine.recorder.SetFault(Fault{.kind = FaultKind::kWriteError});
  CHECK_FALSE(machine.Fill(0, kPage, 2).ok());
  const uint64_t failed_at = machine.recorder.position();
  const int left = machine.ByteAt(0);
  REQUIRE(machine.device->Sync().ok());
  const uint64_t synced_at = machine.recorder.position();
  REQUIRE(machine.Fill(0, kPage, 3).ok());
  REQUIRE(machine.device->Sync().ok());
  CrashReplay replay(machine.recorder);
  replay.AdvanceTo(failed_at);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 1);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kAll), 0) == left);
  replay.AdvanceTo(synced_at);
  CHECK(replay.pending_changes() == 0);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == left);
  replay.AdvanceTo(replay.end());
  CHECK(replay.pending_changes() == 0);
  CHECK(ByteAt(ImageAt(replay, CrashVariant::kNone), 0) == 3);
}

TEST_CASE("Lost and misdirected writes and flipped bits are silent") {
  Machine machine;
  machine.recorder.SetFault(Fault{.kind = FaultKind::kLostWrite});
  CHECK(machine.Fill(0, kPage, 1).ok());
  CHECK(machine.ByteAt(0) == 0);
  machine.recorder.SetFault(Fault{.kind = FaultKind::kMisdirected});
  CHECK(machine.Fill(0, kPage, 1).ok());
  CHECK(machine.ByteAt(0) == 0);
  int found = 0;
  for (uint64_t page = 0; page < 16; ++page) found += machine.ByteAt(page * kPage);
  CHECK(found == 1);
  machine.recorder.SetFault(Fault{.kind = FaultKind::kFlippedBit});
  AlignedBuffer page(kPage);
  REQUIRE(machine.device->Read(0, page.span(), IoClass::kMeta).ok());
  int bits = 0;
  for (std::byte b : page.span()) bits += std::popcount(std::to_integer<unsigned>(b));
  CHECK(bits == 1);
}

TEST_CASE(
    "Calls that failed are counted by disk and call, and a plan that stops keeps its counts") {
  class Watching final : public DiskMonitor {
   public:
    explicit Watching(int& failed) : failed_(failed) {}
    std::string OnWriteSubmitted(uint32_t, uint64_t, std::span<const std::byte>) override {
      return "";
    }
    void OnSyncFailed(uint32_t) override { ++failed_; }

   private:
    int& failed_;
  };
  int syncs_failed = 0;
  Machine machine;
  machine.recorder.SetMonitor(std::make_unique<Watching>(syncs_failed));
  machine.recorder.SetFault(Fault{.kind = FaultKind::kIoError, .from_then_on = true});
  CHECK_FALSE(machine.Fill(0, kPage, 1).ok());
  CHECK_FALSE(machine.device->Sync().ok());
  CHECK_FALSE(machine.device->Sync().ok());  // the same failure, counted once
  machine.recorder.StopFaults();
  CHECK(machine.Fill(0, kPage, 2).ok());
  CHECK_FALSE(machine.device->Sync().ok());
  CHECK(machine.recorder.failed_calls(machine.disk, DeviceCall::kWrite) == 1);
  CHECK(machine.recorder.failed_calls(machine.disk, DeviceCall::kSync) == 1);
  CHECK(machine.recorder.failed_calls(machine.disk, DeviceCall::kRead) == 0);
  CHECK(machine.recorder.injected_faults() == 2);
  CHECK(machine.recorder.faultable_calls() == 2);
  CHECK(syncs_failed == 1);
}

TEST_CASE("Every kind of fault has a name") {
  for (int kind = 0; kind <= static_cast<int>(FaultKind::kFlippedBit); ++kind) {
    CHECK(FaultKindOf(FaultKindName(FaultKind(kind))) == FaultKind(kind));
  }
  CHECK_FALSE(FaultKindOf("fire").has_value());
  for (int variant = 0; variant <= static_cast<int>(CrashVariant::kExactly); ++variant) {
    CHECK(CrashVariantOf(CrashVariantName(CrashVariant(variant))) == CrashVariant(variant));
  }
}

TEST_CASE("The monitors see a buffer that changes in flight, overlapping writes and misalignment") {
  Machine machine;
  auto queue = machine.device->NewQueue(4);
  REQUIRE(queue.ok());
  AlignedBuffer memory(2 * kPage);
  std::vector<IoRequest> requests(2);
  std::vector<IoRequest*> pointers, completed;
  for (int i = 0; i < 2; ++i) {
    requests[i].op = IoRequest::Op::kWrite;
    requests[i].offset = i * kSector;
    requests[i].length = kPage;
    requests[i].buffer = memory.data() + i * kPage;
    pointers.push_back(&requests[i]);
  }
  (*queue)->Submit(pointers);
  REQUIRE(machine.recorder.violations().size() == 1);
  CHECK_THAT(machine.recorder.violations()[0], Catch::Contains("at once"));
  memory.data()[5] = std::byte{1};
  (*queue)->Wait(2, completed);
  REQUIRE(machine.recorder.violations().size() == 2);
  CHECK_THAT(machine.recorder.violations()[1], Catch::Contains("changed"));
  CHECK_FALSE(machine.device->Write(100, memory.span(), IoClass::kMeta).ok());
  CHECK(machine.recorder.violations().size() == 3);
  machine.recorder.SetMonitor(std::make_unique<SecondPageForbidden>());
  CHECK(machine.Fill(0, kPage, 1).ok());
  CHECK(machine.recorder.violations().size() == 3);
  CHECK(machine.Fill(kPage, kPage, 1).ok());
  CHECK_THAT(machine.recorder.violations().back(), Catch::Contains("page before log"));
}

TEST_CASE("A monitor is told what has completed, and what of that is durable") {
  struct Told {
    uint64_t submitted = 0, completed = 0, durable = 0;
  };
  class Counting final : public DiskMonitor {
   public:
    explicit Counting(Told& told) : told_(told) {}
    std::string OnWriteSubmitted(uint32_t, uint64_t, std::span<const std::byte>) override {
      ++told_.submitted;
      return "";
    }
    void OnWriteCompleted(uint32_t, uint64_t, std::span<const std::byte>, uint64_t write) override {
      told_.completed = write;
    }
    void OnDurable(uint32_t, uint64_t writes) override { told_.durable = writes; }

   private:
    Told& told_;
  };
  Told told;
  Machine machine;
  machine.recorder.SetMonitor(std::make_unique<Counting>(told));
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  REQUIRE(machine.Fill(kPage, kPage, 1).ok());
  CHECK(told.submitted == 2);
  CHECK(told.completed == 2);
  CHECK(told.durable == 0);
  REQUIRE(machine.device->Sync().ok());
  CHECK(told.durable == 2);
  REQUIRE(machine.Fill(0, kPage, 2).ok());
  CHECK(told.durable == 2);
}

TEST_CASE("Without power nothing is recorded and every call fails") {
  Machine machine;
  REQUIRE(machine.Fill(0, kPage, 1).ok());
  const uint64_t position = machine.recorder.position();
  machine.recorder.PowerOff();
  CHECK(absl::IsUnavailable(machine.Fill(0, kPage, 2)));
  CHECK(absl::IsUnavailable(machine.device->Sync()));
  AlignedBuffer page(kPage);
  CHECK(absl::IsUnavailable(machine.device->Read(0, page.span(), IoClass::kMeta)));
  CHECK(machine.recorder.position() == position);
  CHECK(ByteAt(machine.recorder.content(machine.disk), 0) == 1);
}

TEST_CASE("The same seed gives the same events in virtual time, another seed others") {
  const auto run = [](uint64_t seed) {
    SimulatedRuntime runtime({.seed = seed});
    CrashRecorder recorder(runtime, {.min_latency = 1000, .max_latency = 1'000'000, .seed = seed});
    const uint32_t disk = recorder.AddDisk("disk", DiskImage(16 * kPage));
    auto device = recorder.Open(disk);
    const absl::Status ran = runtime.Run([&] {
      std::vector<std::unique_ptr<Actor>> actors;
      for (int i = 0; i < 3; ++i) {
        actors.push_back(runtime.Spawn("writer", [&, i] {
          AlignedBuffer page(kPage);
          for (int j = 0; j < 10; ++j) {
            std::memset(page.data(), i * 10 + j, kPage);
            device->Write((i * 5 + j % 5) * kPage, page.span(), IoClass::kMeta).IgnoreError();
            if (j % 4 == 3) device->Sync().IgnoreError();
          }
        }));
      }
      for (auto& actor : actors) actor->Join();
    });
    REQUIRE(ran.ok());
    uint64_t hash = recorder.content(disk).Hash();
    for (uint64_t i = 0; i < recorder.position(); ++i) {
      hash = hash * 31 + static_cast<uint64_t>(recorder.event(i).kind) + recorder.event(i).begun;
    }
    return hash;
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

}  // namespace
}  // namespace latchkey::crash_recorder_test
