// The device has lost the write of a header. A slot's header still names the old segment, or the
// file header the old number of slots, so no header leads to the groups behind.
#include <catch2/catch.hpp>

#include "storage/wal/log_format.h"
#include "storage/wal/testing/log_fixture.h"

namespace latchkey::log_lost_header_test {
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
  append(20);  // continues in other slots
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

// Older copies of both file headers hid every slot by which the log had grown since.
TEST_CASE("A file header that is older than the slots in use does not hide what lies in them") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  MustAppendDurably(*log, "first");
  const DeviceImage early = medium->durable;
  while (medium->durable.size() == early.size()) MustAppendDurably(*log, std::string(3000, 'x'));
  for (int i = 0; i < 10; ++i) MustAppendDurably(*log, std::string(3000, 'x'));
  DeviceImage late = medium->durable;
  log = nullptr;
  CHECK(MustReadAll(*MustOpen(CrashDevice::MediumOf(late))).size() > 10);
  std::memcpy(late.data(), early.data(), kLogSegmentsBegin);
  const absl::Status refused = Open(CrashDevice::MediumOf(std::move(late))).status();
  INFO(refused);
  CHECK(absl::IsDataLoss(refused));
}

TEST_CASE("A growth that a crash cut off before the file header is no sign of damage") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  MustAppendDurably(*log, "first");
  DeviceImage grown = medium->durable;
  log = nullptr;
  const uint64_t slots = (grown.size() - kLogSegmentsBegin) / TinyLog().segment_bytes;
  grown.resize(grown.size() + 2 * TinyLog().segment_bytes);  // one with its header, one without
  EncodeSegmentHeader({.slot = static_cast<uint32_t>(slots)}, TinyLog().database_id,
                      SlotHeader(grown, slots));
  CHECK(MustReadAll(*MustOpen(CrashDevice::MediumOf(std::move(grown)))).size() == 1);
}

// The header of the slot in which the last group continues was damaged: the group was taken for
// torn.
TEST_CASE("A group that goes on in a segment which is nowhere was acknowledged, and is missed") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  MustAppendDurably(*log, "first");
  MustAppendDurably(*log, std::string(2 * TinyLog().segment_bytes, 'x'));
  const DeviceImage sound = medium->durable;
  const LogGeometry geometry{.segment_bytes = TinyLog().segment_bytes, .block_bytes = 512};
  const uint64_t newest = geometry.IndexOf(Raw(log->durable()) - 1);
  log = nullptr;
  int used = 0;
  const size_t slots = (sound.size() - kLogSegmentsBegin) / TinyLog().segment_bytes;
  for (size_t slot = 0; slot < slots; ++slot) {
    DeviceImage image = sound;
    const auto header = DecodeSegmentHeader(SlotHeader(image, slot), TinyLog().database_id, slot);
    if (!header || header->index == 0 || header->index > newest) continue;
    ++used;
    SlotHeader(image, slot)[8] ^= std::byte{1};
    auto opened = Open(CrashDevice::MediumOf(std::move(image)));
    REQUIRE(opened.ok());
    const absl::Status found = (*opened)->FindEnd(Lsn{0}, Lsn{0});
    INFO("slot " << slot << ": " << found);
    CHECK(absl::IsDataLoss(found));
  }
  CHECK(used >= 2);
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
}  // namespace latchkey::log_lost_header_test
