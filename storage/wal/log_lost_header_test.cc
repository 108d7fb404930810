// A write of a segment header that the device has lost: the slot still says what it held before, so
// nothing leads to the groups in it.
#include <catch2/catch.hpp>

#include "storage/wal/log_format.h"
#include "storage/wal/testing/log_fixture.h"

namespace latchkey {
namespace {

std::byte* SlotHeader(DeviceImage& image, size_t slot) {
  return image.data() + kLogSegmentsBegin + slot * TinyLog().segment_bytes;
}

TEST_CASE("A segment header whose write was lost does not hide what was acknowledged behind it") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  Records written;
  const auto append = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const std::string text(300, static_cast<char>('a' + i % 26));
      written[Raw(MustAppendDurably(*log, text))] = text;
    }
  };
  append(12);
  const DeviceImage early = medium->durable;
  append(20);  // goes on into other slots
  DeviceImage late = medium->durable;
  log = nullptr;

  const size_t slots = (early.size() - kLogSegmentsBegin) / TinyLog().segment_bytes;
  int lost = 0;
  for (size_t slot = 0; slot < slots; ++slot) {
    DeviceImage image = late;
    DeviceImage before = early;
    if (std::memcmp(SlotHeader(image, slot), SlotHeader(before, slot), 512) == 0) continue;
    ++lost;
    std::memcpy(SlotHeader(image, slot), SlotHeader(before, slot), 512);
    auto opened = Open(CrashDevice::MediumOf(std::move(image)));
    REQUIRE(opened.ok());
    const absl::Status found = (*opened)->FindEnd(Lsn{0}, Lsn{0});
    INFO("slot " << slot << ": " << found);
    CHECK(absl::IsDataLoss(found));
  }
  CHECK(lost > 0);
  CHECK(MustReadAll(*MustOpen(CrashDevice::MediumOf(std::move(late)))) == written);
}

TEST_CASE("Slots that hold older segments are no sign of damage") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  Lsn last{0};
  for (int i = 0; i < 200; ++i) {
    last = MustAppendDurably(*log, std::string(300, 'x'));
    log->Truncate(last);
  }
  const Lsn from = log->group_start(last);
  log = nullptr;
  CHECK(MustReadAll(*MustOpen(CrashDevice::MediumOf(medium->durable), from), from).size() == 1);
}

}  // namespace
}  // namespace latchkey
