#include <atomic>
#include <catch2/catch.hpp>

#include "storage/base/rng.h"
#include "storage/device/memory_device.h"
#include "storage/wal/testing/log_fixture.h"

namespace latchkey::log_concurrency_test {
namespace {

void RunActors(int count, const std::function<void(int)>& body) {
  std::vector<std::unique_ptr<Actor>> actors;
  for (int i = 0; i < count; ++i) {
    actors.push_back(ThreadRuntime().Spawn("log", [&body, i] { body(i); }));
  }
}

TEST_CASE(
    "Actors append and flush at once: each record is durable when its flush returns, in order") {
  constexpr int kActors = 6, kRecords = 150;
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  std::array<std::vector<uint64_t>, kActors> lsns;
  std::atomic<int> wrong{0};
  RunActors(kActors, [&](int actor) {
    Rng rng(static_cast<uint64_t>(actor));
    for (int i = 0; i < kRecords; ++i) {
      const std::string text = fmt::format(
          "{} {} {}", actor, i, std::string(rng.Below(400), static_cast<char>('a' + actor)));
      wrong += !log->Reserve(log->RecordSpace(text.size())).ok();
      const Lsn lsn = AppendReserved(*log, text);
      lsns[static_cast<size_t>(actor)].push_back(Raw(lsn));
      if (rng.Below(3) == 0) {
        wrong += !log->Flush(Lsn{Raw(lsn) + 1}).ok();
        wrong += log->durable() <= lsn;
      }
      if (rng.Below(20) == 0) {
        std::vector<std::byte> bytes;
        wrong += !log->Read(lsn, &bytes).ok() || bytes.size() != text.size();
      }
      wrong += log->group_start(lsn) > lsn;
    }
  });
  CHECK(wrong == 0);
  REQUIRE(log->Flush(log->next()).ok());
  CHECK(log->stats().records == kActors * kRecords);
  CHECK(log->stats().reserved_bytes == 0);
  log = nullptr;
  log = MustOpen(medium);
  const Records found = MustReadAll(*log);
  CHECK(found.size() == kActors * kRecords);
  for (int actor = 0; actor < kActors; ++actor) {
    for (int i = 0; i < kRecords; ++i) {
      const auto it = found.find(lsns[static_cast<size_t>(actor)][static_cast<size_t>(i)]);
      REQUIRE(it != found.end());
      CHECK(it->second.starts_with(fmt::format("{} {} ", actor, i)));
    }
  }
}

TEST_CASE(
    "Appending outruns a log that is truncated meanwhile, and the device does not grow for it") {
  auto device = MemoryDevice::Create(ThreadRuntime(), {.capacity_limit_bytes = 128u << 10});
  REQUIRE(device.ok());
  LogOptions options = TinyLog();
  options.initial_bytes = 128u << 10;
  auto created = CreateLog(ThreadRuntime(), *std::move(device), options);
  REQUIRE(created.ok());
  Log& log = **created;
  REQUIRE(log.StartWriting().ok());
  std::atomic<int> wrong{0}, done{0};
  RunActors(4, [&](int actor) {
    if (actor == 3) {
      Backoff backoff(ThreadRuntime());
      while (done < 3) {
        const Lsn next = log.next();
        wrong += !log.Flush(next).ok();
        log.Truncate(next);
        backoff.Pause();
      }
      return;
    }
    for (int i = 0; i < 400; ++i) {
      Backoff backoff(ThreadRuntime());
      while (!log.Reserve(log.RecordSpace(900)).ok()) backoff.Pause();
      AppendReserved(log, std::string(900, static_cast<char>('a' + i % 26)));
    }
    ++done;
  });
  CHECK(wrong == 0);
  CHECK(log.device().geometry().size_bytes <= 128u << 10);
  CHECK(log.stats().record_bytes == 3 * 400 * 900);
}

TEST_CASE("A failing device lets nobody wait for ever") {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  medium->fails_at = medium->calls + 40;
  // Every flush of one actor needs a device call of its own, so the device fails long before the
  // rounds end. The call that reports the failure depends on the schedule: if the failed write was
  // making room for an append, all other actors may get the error from Reserve.
  std::atomic<int> told{0};
  RunActors(5, [&](int) {
    for (int i = 0; i < 200; ++i) {
      absl::Status status = log->Reserve(log->RecordSpace(300));
      if (status.ok()) {
        AppendReserved(*log, std::string(300, 'p'));
        status = log->Flush(log->next());
      }
      if (status.ok()) continue;
      told += absl::IsUnavailable(status);
      return;
    }
  });
  CHECK(log->poisoned());
  CHECK(told == 5);
}

}  // namespace
}  // namespace latchkey::log_concurrency_test
