#include "storage/wal/log.h"

#include <catch2/catch.hpp>

#include "storage/base/rng.h"
#include "storage/device/testing/forwarding_device.h"
#include "storage/wal/log_format.h"
#include "storage/wal/testing/log_fixture.h"

namespace latchkey::log_test {
namespace {

using Catch::Contains;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("Records read back after reopening, in order, under the positions they were given") {
  auto medium = std::make_shared<CrashMedium>();
  Records expected;
  {
    auto log = MustStart(medium);
    for (int i = 0; i < 50; ++i) {
      const std::string text = "record " + std::to_string(i) + std::string(i * 7, 'x');
      const Lsn lsn = MustAppend(*log, text);
      CHECK(Raw(lsn) > 0);
      CHECK((expected.empty() || Raw(lsn) > expected.rbegin()->first));
      expected[Raw(lsn)] = text;
      if (i % 3 == 0) REQUIRE(log->Flush(log->next()).ok());
    }
    REQUIRE(log->Flush(log->next()).ok());
    CHECK(MustReadAll(*log) == expected);
  }
  auto log = MustOpen(medium);
  CHECK(MustReadAll(*log) == expected);
  for (const auto& [lsn, text] : expected) CHECK(MustRead(*log, Lsn{lsn}) == text);
}

TEST_CASE("Reading from the middle begins at the record asked for") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  MustAppend(*log, "first");
  const Lsn second = MustAppend(*log, "second");
  const Lsn third = MustAppendDurably(*log, "third");
  const Records expected = {{Raw(second), "second"}, {Raw(third), "third"}};
  CHECK(MustReadAll(*log, second) == expected);
  CHECK(MustReadAll(*log, Lsn{Raw(second) - 1}) == expected);
  CHECK(MustReadAll(*log, Lsn{Raw(third) + 1}).empty());
}

TEST_CASE("What was not flushed is not there after a crash, and reading a record flushes it") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  const Lsn kept = MustAppend(*log, "kept");
  CHECK(MustRead(*log, kept) == "kept");
  CHECK(log->durable() > kept);
  MustAppend(*log, "lost");
  Rng rng(1);
  auto reopened = MustOpen(CrashDevice::MediumOf(medium->AfterCrash(Damage::kKeepAll, rng)));
  CHECK(MustReadAll(*reopened) == Records{{Raw(kept), "kept"}});
}

TEST_CASE("A record goes behind another in one instant if that is wanted then") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  const std::string image(3000, 'i'), change = "change";
  Records expected;
  for (int i = 0; i < 60; ++i) {  // more than the buffer holds
    const bool wanted = i % 3 != 0;
    const uint64_t space = log->RecordSpace(image.size()) + log->RecordSpace(change.size());
    REQUIRE(log->Reserve(space).ok());
    Lsn first{0};
    const auto fill_image = [&](Lsn lsn, std::byte* to) {
      first = lsn;
      std::memcpy(to, image.data(), image.size());
      expected[Raw(lsn)] = image;
    };
    const auto fill = [&](Lsn, std::byte* to) { std::memcpy(to, change.data(), change.size()); };
    const Lsn lsn = log->AppendBehind([&] { return wanted; }, {image.size(), fill_image},
                                      {change.size(), fill});
    expected[Raw(lsn)] = change;
    CHECK((first != Lsn{0}) == wanted);
    if (wanted) CHECK(Raw(lsn) == Raw(first) + image.size() + kRecordHeaderBytes);
    if (!wanted) log->Release(log->RecordSpace(image.size()));
  }
  REQUIRE(log->Flush(log->next()).ok());
  CHECK(MustReadAll(*log) == expected);
  CHECK(log->stats().reserved_bytes == 0);
}

TEST_CASE("A position at which no record begins is reported, wherever it lies") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  const Lsn lsn = MustAppendDurably(*log, "record");
  std::vector<std::byte> bytes;
  for (const uint64_t position :
       {uint64_t{0}, Raw(lsn) - 1, Raw(lsn) + 1, Raw(log->next()), uint64_t{1} << 40}) {
    const absl::Status status = log->Read(Lsn{position}, &bytes);
    CHECK(absl::IsDataLoss(status));
    CHECK_THAT(Message(status), Contains("log") && Contains(std::to_string(position)));
  }
}

TEST_CASE("A log opened again is continued, and every start of writing keeps what was there") {
  auto medium = std::make_shared<CrashMedium>();
  Records expected;
  { auto log = MustStart(medium); }
  for (int round = 0; round < 20; ++round) {
    auto log = MustOpen(medium);
    CHECK(MustReadAll(*log) == expected);
    REQUIRE(log->StartWriting().ok());
    if (round % 3 == 2) continue;
    const std::string text = "round " + std::to_string(round);
    expected[Raw(MustAppendDurably(*log, text))] = text;
  }
}

TEST_CASE("A ring of three segments takes many times its size when it is truncated") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  const uint64_t size = medium->current.size();
  Rng rng(7);
  Records live;
  Lsn from{0};
  for (int i = 0; i < 3000; ++i) {
    const std::string text(1 + rng.Below(700), static_cast<char>('a' + i % 26));
    live[Raw(MustAppend(*log, text))] = text;
    if (rng.Below(4) == 0) REQUIRE(log->Flush(log->next()).ok());
    if (live.size() > 4) {
      const Lsn oldest{std::next(live.begin(), static_cast<long>(live.size()) - 2)->first};
      REQUIRE(log->Flush(log->next()).ok());
      from = log->group_start(oldest);
      log->Truncate(oldest);
      live.erase(live.begin(), live.lower_bound(Raw(oldest)));
      CHECK(log->group_start(oldest) == from);
    }
    if (i % 500 == 499) {
      REQUIRE(log->Flush(log->next()).ok());
      log = nullptr;
      log = MustOpen(medium, from);
      Records found = MustReadAll(*log, from);
      found.erase(found.begin(), found.lower_bound(live.begin()->first));
      CHECK(found == live);
      for (const auto& [lsn, kept] : live) CHECK(MustRead(*log, Lsn{lsn}) == kept);
      REQUIRE(log->StartWriting().ok());
    }
  }
  CHECK(medium->current.size() == size);
  CHECK(Raw(log->next()) > 20 * size);
}

TEST_CASE("A record may fill half the buffer and span many segments, no larger one is accepted") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  CHECK(log->max_record_bytes() < (32u << 10));
  CHECK(log->max_record_bytes() > (31u << 10));
  const std::string text(log->max_record_bytes(), 'm');
  const Lsn first = MustAppend(*log, text);
  const Lsn second = MustAppend(*log, "small");
  const Lsn third = MustAppendDurably(*log, text);
  log = nullptr;
  log = MustOpen(medium);
  CHECK(MustReadAll(*log) ==
        Records{{Raw(first), text}, {Raw(second), "small"}, {Raw(third), text}});
}

TEST_CASE("Appending without flushing writes by itself when both halves are full") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  Records expected;
  for (int i = 0; i < 400; ++i) {
    const std::string text(500, static_cast<char>('a' + i % 26));
    expected[Raw(MustAppend(*log, text))] = text;
  }
  CHECK(Raw(log->durable()) > (100u << 10));
  REQUIRE(log->Flush(log->next()).ok());
  CHECK(MustReadAll(*log) == expected);
}

TEST_CASE("Space is promised before it is used: Reserve fails, Append never does") {
  auto medium = std::make_shared<CrashMedium>();
  medium->capacity = 64u << 10;
  auto log = MustStart(medium);
  const std::string text(100, 'r');
  const uint64_t space = log->RecordSpace(text.size());
  int promised = 0;
  absl::Status status;
  while ((status = log->Reserve(space)).ok()) ++promised;
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(Message(status),
             Contains("no room") && Contains("checkpoint") && Contains(std::to_string(space)));
  CHECK(promised > 40);
  CHECK(log->stats().reserved_bytes == promised * space);
  // The worst case: every record makes a group of its own.
  for (int i = 0; i < promised; ++i) {
    AppendReserved(*log, text);
    REQUIRE(log->Flush(log->next()).ok());
  }
  CHECK(absl::IsResourceExhausted(log->Reserve(log->RecordSpace(20'000))));
  // Urgent reservations, which make room again, may take from the kept-back part.
  REQUIRE(log->ReserveUrgent(space).ok());
  const Lsn last = AppendReserved(*log, text);
  REQUIRE(log->Flush(log->next()).ok());
  log->Truncate(last);
  CHECK(log->Reserve(log->RecordSpace(20'000)).ok());
  log->Release(log->RecordSpace(20'000));
  CHECK(log->stats().reserved_bytes == 0);
}

TEST_CASE("A log grows by segments up to its limit, and finds them all again") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  const uint64_t old_size = medium->current.size();
  Records expected;
  const std::string text(3000, 'g');
  while (log->Reserve(log->RecordSpace(text.size())).ok()) {
    expected[Raw(AppendReserved(*log, text))] = text;
    REQUIRE(log->Flush(log->next()).ok());
  }
  CHECK(medium->current.size() > 10 * old_size);
  CHECK(medium->current.size() <= TinyLog().max_bytes);
  CHECK(log->stats().allocated_bytes <= medium->current.size());
  log = nullptr;
  log = MustOpen(medium);
  CHECK(MustReadAll(*log) == expected);
  // A full log whose kept-back part is used up can still be opened for writing, for recovery.
  for (int i = 0; i < 5; ++i) {
    REQUIRE(log->StartWriting().ok());
    while (log->ReserveUrgent(log->RecordSpace(1)).ok()) {
      expected[Raw(AppendReserved(*log, "r"))] = "r";
      REQUIRE(log->Flush(log->next()).ok());
    }
    log = nullptr;
    log = MustOpen(medium);
    CHECK(MustReadAll(*log) == expected);
  }
}

TEST_CASE("A large log is read with many requests in flight, or one by one where that fails") {
  LogOptions options = TinyLog();
  options.segment_bytes = 64u << 10;
  options.initial_bytes = options.max_bytes = 8u << 20;
  options.buffer_bytes = 2u << 20;
  auto medium = std::make_shared<CrashMedium>();
  Records expected;
  {
    auto log = MustStart(medium, options);
    Rng rng(3);
    for (size_t i = 0; i < 60; ++i) {
      const std::string text(1 + rng.Below(200'000), static_cast<char>('a' + i % 26));
      expected[Raw(MustAppendDurably(*log, text))] = text;
    }
  }
  CHECK(medium->current.size() > 5u << 20);
  for (const auto& [has_queues, fails] : {std::pair(true, false), {true, true}, {false, false}}) {
    medium->has_queues = has_queues;
    medium->fails_queued = fails;
    const uint64_t queued = medium->queued;
    auto log = MustOpen(medium, Lsn{0}, options);
    CHECK(MustReadAll(*log) == expected);
    CHECK((medium->queued > queued) == has_queues);
  }
}

TEST_CASE("An appender runs in one instant with what its callback changes") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  REQUIRE(log->Reserve(log->RecordSpace(8)).ok());
  Lsn seen{0};
  const Lsn lsn = log->Append(8, [&](Lsn at, std::byte* bytes) {
    std::memset(bytes, 7, 8);
    seen = at;
  });
  CHECK(seen == lsn);
  log->Frozen([&](Lsn next) { CHECK(next == log->next()); });
  CHECK(log->next() > lsn);
}

TEST_CASE("Flushing what is durable costs nothing, and positions beyond the end mean the end") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  MustAppendDurably(*log, "record");
  const uint64_t calls = medium->calls;
  CHECK(log->Flush(log->next()).ok());
  CHECK(log->Flush(Lsn{0}).ok());
  CHECK(log->Flush(Lsn{UINT64_MAX}).ok());
  CHECK(medium->calls == calls);
  CHECK(log->durable() == log->next());
}

TEST_CASE("One flush is one write and one sync, but for a new segment now and then") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  const uint64_t calls = medium->calls;
  for (int i = 0; i < 10; ++i) MustAppendDurably(*log, "record");
  CHECK(medium->calls - calls == 20);
}

TEST_CASE("A device full of something else, of another database or a newer format is refused") {
  auto medium = CrashDevice::MediumOf(DeviceImage(64u << 10, std::byte{0x5a}));
  absl::Status status = Open(medium).status();
  CHECK(absl::IsDataLoss(status));
  CHECK_THAT(Message(status), Contains("not a log"));
  CHECK(absl::IsDataLoss(Open(std::make_shared<CrashMedium>()).status()));

  medium = std::make_shared<CrashMedium>();
  MustStart(medium);
  LogOptions other = TinyLog();
  other.database_id = 0x9999;
  status = Open(medium, other).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(Message(status), Contains("1234") && Contains("9999"));

  for (const bool is_version : {true, false}) {
    DeviceImage image = medium->current;
    LogFileHeader header = *DecodeLogFileHeader(image.data());
    (is_version ? header.version : header.incompatible) = 2;
    EncodeLogFileHeader(header, image.data());
    status = Open(CrashDevice::MediumOf(image)).status();
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(Message(status), Contains("newer version"));
  }
  const auto again =
      CreateLog(ThreadRuntime(), std::make_unique<CrashDevice>(medium), TinyLog()).status();
  CHECK(absl::IsAlreadyExists(again));
}

TEST_CASE("One sound copy of the file header is enough, without any the log is damaged") {
  auto medium = std::make_shared<CrashMedium>();
  MustStart(medium);
  medium->current[20] ^= std::byte{1};
  CHECK(Open(medium).ok());
  medium->current[kLogHeaderCopyBytes + 20] ^= std::byte{1};
  CHECK(absl::IsDataLoss(Open(medium).status()));
}

// A crash damaged the copy that is written last. The growth during recovery wrote the sound one first,
// and a second crash damaged that too.
TEST_CASE("A log that has lost one copy of its file header does not risk the other when it grows") {
  const uint64_t lost = GENERATE(uint64_t{0}, kLogHeaderCopyBytes);
  const bool is_older = GENERATE(false, true);  // or damaged
  auto created = std::make_shared<CrashMedium>();
  MustStart(created);
  DeviceImage image = created->current;
  LogFileHeader older = *DecodeLogFileHeader(image.data());
  older.slots = 1;
  if (is_older) EncodeLogFileHeader(older, image.data() + lost);
  if (!is_older) image[lost + 20] ^= std::byte{1};

  auto medium = CrashDevice::MediumOf(image);
  auto log = MustOpen(medium);
  int writes = 0;
  medium->before_call = [&] {
    DeviceImage crashed = medium->durable;
    for (const CrashMedium::Pending& write : medium->pending) {
      if (write.offset >= kLogSegmentsBegin) continue;
      ++writes;
      crashed[write.offset + 21] ^= std::byte{1};
    }
    CHECK(Open(CrashDevice::MediumOf(std::move(crashed))).ok());
  };
  REQUIRE(log->StartWriting().ok());
  while (writes < 4) MustAppendDurably(*log, std::string(3000, 'x'));
  medium->before_call = nullptr;
}

// Both copies were read at once, so a sector that the device refused hid the sound copy, too.
TEST_CASE("A log opens though the device cannot read one copy of its file header") {
  class Device final : public ForwardingDevice {
   public:
    Device(std::unique_ptr<BlockDevice> base, uint64_t unreadable)
        : ForwardingDevice(std::move(base)), unreadable_(unreadable) {}
    absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) override {
      const bool fails = offset <= unreadable_ && unreadable_ < offset + out.size();
      return fails ? absl::UnavailableError("bad sector")
                   : ForwardingDevice::Read(offset, out, io_class);
    }

   private:
    const uint64_t unreadable_;
  };
  auto medium = std::make_shared<CrashMedium>();
  MustAppendDurably(*MustStart(medium), "record");
  const uint64_t bad = GENERATE(uint64_t{512}, kLogHeaderCopyBytes + 512);
  const auto open = [&] {
    return OpenLog(ThreadRuntime(),
                   std::make_unique<Device>(std::make_unique<CrashDevice>(medium), bad), TinyLog());
  };
  auto log = open();
  REQUIRE(log.ok());
  REQUIRE((*log)->FindEnd(Lsn{0}, Lsn{0}).ok());
  CHECK(MustReadAll(**log).size() == 1);
  medium->current[(bad + kLogHeaderCopyBytes) % kLogSegmentsBegin - 512 + 20] ^= std::byte{1};
  CHECK(absl::IsUnavailable(open().status()));
}

TEST_CASE("A log wants blocks that divide its own, and options in range") {
  auto medium = std::make_shared<CrashMedium>();
  MustStart(medium);
  const auto wide =
      OpenLog(ThreadRuntime(), std::make_unique<CrashDevice>(medium, 4096), TinyLog()).status();
  CHECK(absl::IsFailedPrecondition(wide));
  CHECK_THAT(Message(wide), Contains("4096") && Contains("512"));

  const auto refused = [](auto change) {
    LogOptions options = TinyLog();
    change(options);
    return CreateLog(ThreadRuntime(),
                     std::make_unique<CrashDevice>(std::make_shared<CrashMedium>()), options)
        .status();
  };
  CHECK(absl::IsInvalidArgument(refused([](LogOptions& o) { o.segment_bytes = 12288; })));
  CHECK(absl::IsInvalidArgument(refused([](LogOptions& o) { o.segment_bytes = 4096; })));
  CHECK(absl::IsInvalidArgument(refused([](LogOptions& o) { o.buffer_bytes = 1000; })));
  CHECK(absl::IsInvalidArgument(refused([](LogOptions& o) { o.max_bytes = 16384; })));
  CHECK(absl::IsInvalidArgument(refused([](LogOptions& o) { o.initial_bytes = 2u << 20; })));
}

TEST_CASE("A log of 4 KiB blocks pads to them") {
  auto medium = std::make_shared<CrashMedium>();
  LogOptions options = TinyLog();
  options.buffer_bytes = 1u << 20;
  auto created = CreateLog(ThreadRuntime(), std::make_unique<CrashDevice>(medium, 4096), options);
  REQUIRE(created.ok());
  REQUIRE((*created)->StartWriting().ok());
  const Lsn a = MustAppendDurably(**created, "a");
  const Lsn b = MustAppendDurably(**created, "b");
  CHECK(Raw(b) - Raw(a) == 4096);
  CHECK(MustReadAll(**created) == Records{{Raw(a), "a"}, {Raw(b), "b"}});
}

// A database that was copied from one file system to another could not be opened: the buffer was
// chosen for the blocks of the new device, and was too small for those of the log.
TEST_CASE("A log from a device with larger blocks opens with options for smaller ones") {
  auto medium = std::make_shared<CrashMedium>();
  LogOptions wide = TinyLog();
  wide.buffer_bytes = Log::LeastBufferBytes(4096);
  Lsn lsn{0};
  {
    auto created = CreateLog(ThreadRuntime(), std::make_unique<CrashDevice>(medium, 4096), wide);
    REQUIRE(created.ok());
    REQUIRE((*created)->StartWriting().ok());
    lsn = MustAppendDurably(**created, "a");
  }
  LogOptions narrow = TinyLog();
  narrow.buffer_bytes = Log::LeastBufferBytes(512);
  REQUIRE(narrow.buffer_bytes < wide.buffer_bytes);
  auto log = MustOpen(medium, Lsn{0}, narrow);
  CHECK(MustRead(*log, lsn) == "a");
  REQUIRE(log->StartWriting().ok());
  const Lsn next = MustAppendDurably(*log, "b");
  CHECK(MustReadAll(*log) == Records{{Raw(lsn), "a"}, {Raw(next), "b"}});
}

TEST_CASE("A log that ends before what the database has seen is refused") {
  auto medium = std::make_shared<CrashMedium>();
  Lsn end{0};
  {
    auto log = MustStart(medium);
    MustAppendDurably(*log, "record");
    end = log->end();
  }
  auto log = Open(medium);
  REQUIRE(log.ok());
  CHECK((*log)->FindEnd(Lsn{0}, end).ok());
  const absl::Status status = (*log)->FindEnd(Lsn{0}, Lsn{Raw(end) + 1});
  CHECK(absl::IsDataLoss(status));
  CHECK_THAT(Message(status), Contains(std::to_string(Raw(end))) && Contains("backup"));
}

TEST_CASE("A scan may begin at the end, where nothing has been written since") {
  auto medium = std::make_shared<CrashMedium>();
  Lsn end{0};
  {
    auto log = MustStart(medium);
    MustAppendDurably(*log, std::string(5000, 'x'));
    end = log->group_start(log->next());
    log->Truncate(end);
  }
  for (int i = 0; i < 3; ++i) {
    auto log = MustOpen(medium, end);
    CHECK(log->end() == end);
    CHECK(MustReadAll(*log, end).empty());
    REQUIRE(log->StartWriting().ok());
    const Lsn lsn = MustAppendDurably(*log, "next");
    CHECK(MustReadAll(*log, end) == Records{{Raw(lsn), "next"}});
    end = log->group_start(log->next());
  }
  auto log = Open(medium);
  REQUIRE(log.ok());
  CHECK(absl::IsDataLoss((*log)->FindEnd(Lsn{Raw(end) + 512}, Lsn{0})));
  CHECK(absl::IsInvalidArgument((*log)->FindEnd(Lsn{Raw(end) + 1}, Lsn{0})));
}

// Writes a sound, empty group of `epoch` at the end of the log on `medium`.
void PlantGroup(CrashMedium& medium, uint64_t end, uint64_t epoch, bool begins_epoch) {
  const LogGeometry g{.segment_bytes = TinyLog().segment_bytes, .block_bytes = 512};
  for (uint32_t slot = 0; slot < 3; ++slot) {
    const auto header = DecodeSegmentHeader(medium.current.data() + g.SlotOffset(slot),
                                            TinyLog().database_id, slot);
    if (!header || header->index != g.IndexOf(end)) continue;
    std::byte* const group = medium.current.data() + g.Offset(slot, end);
    std::memset(group, 0, 512);
    SealGroup({.lsn = end, .epoch = epoch, .begins_epoch = begins_epoch, .bytes = 512},
              TinyLog().database_id, group);
    return;
  }
  FAIL("no segment holds position " << end);
}

TEST_CASE("A group continues a log only in its epoch, or as the mark of the next") {
  auto medium = std::make_shared<CrashMedium>();
  { auto log = MustStart(medium); }
  uint64_t end;
  {
    auto log = MustOpen(medium);
    REQUIRE(log->StartWriting().ok());  // the second epoch
    MustAppendDurably(*log, "record");
    end = Raw(log->end());
  }
  const auto end_with = [&](uint64_t epoch, bool begins_epoch) {
    auto copy = CrashDevice::MediumOf(medium->current);
    PlantGroup(*copy, end, epoch, begins_epoch);
    auto log = Open(copy);
    REQUIRE(log.ok());
    const absl::Status status = (*log)->FindEnd(Lsn{0}, Lsn{0});
    return status.ok() ? absl::StatusOr<uint64_t>(Raw((*log)->end())) : status;
  };
  CHECK(*end_with(2, false) == end + 512);
  CHECK(*end_with(3, true) == end + 512);
  // The remains of an earlier epoch are ignored.
  CHECK(*end_with(1, false) == end);
  CHECK(*end_with(1, true) == end);
  CHECK(*end_with(2, true) == end);
  // A group of a later epoch means that the mark of that epoch was lost.
  CHECK(absl::IsDataLoss(end_with(3, false).status()));
  CHECK(absl::IsDataLoss(end_with(4, true).status()));
}

}  // namespace
}  // namespace latchkey::log_test
