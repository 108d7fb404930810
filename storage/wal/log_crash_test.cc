// Power failures at every write and sync of random runs, each with every kind of damage. In some
// runs the power fails again while the log is opened and continued.
#include <algorithm>
#include <catch2/catch.hpp>

#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/wal/log_format.h"
#include "storage/wal/testing/log_fixture.h"

namespace latchkey::log_crash_test {
namespace {

// Shorter with sanitizers, which make runs slow. There are no races in runs of one actor.
constexpr uint64_t kSeeds = kThreadSanitizer ? 1 : kSanitizer ? 3 : 12;
constexpr size_t kSweepStep = kThreadSanitizer ? 61 : kSanitizer ? 7 : 1;

struct Counts {
  uint64_t states = 0, nested = 0, torn = 0;
  size_t smallest = SIZE_MAX;  // device after a log shrank, bytes
};

// A log on a medium that crashes, and the records that it must hold.
class Run {
 public:
  Run(std::shared_ptr<CrashMedium> medium, std::unique_ptr<Log> log, Records known, Lsn from,
      uint64_t seed, int depth, Counts& counts)
      : medium_(std::move(medium)),
        log_(std::move(log)),
        known_(std::move(known)),
        from_(from),
        acknowledged_(log_->end()),
        rng_(seed),
        depth_(depth),
        counts_(counts) {
    medium_->before_call = [this] { CrashNow(); };
  }
  ~Run() { medium_->before_call = nullptr; }

  void Start() { REQUIRE(log_->StartWriting().ok()); }
  void Append(const std::string& text) { known_[Raw(MustAppend(*log_, text))] = text; }
  void Flush() {
    REQUIRE(log_->Flush(log_->next()).ok());
    acknowledged_ = std::max(acknowledged_, log_->durable());
  }
  // Truncates all but the newest few records.
  void Truncate(size_t kept) {
    Flush();
    if (known_.size() <= kept) return;
    const auto oldest = std::prev(known_.end(), static_cast<long>(kept));
    from_ = log_->group_start(Lsn{oldest->first});
    log_->Truncate(Lsn{oldest->first});
  }
  void Shrink() { REQUIRE(log_->Shrink().ok()); }
  void PassSlots() {
    REQUIRE(log_->PassSlots().ok());
    acknowledged_ = std::max(acknowledged_, log_->durable());
  }
  // Only the newest record is needed, and it lies at the front of the device.
  void ShrinkToLeast() {
    Flush();
    REQUIRE(log_->MoveToFront().ok());
    acknowledged_ = std::max(acknowledged_, log_->durable());
    Append("at the front");
    Truncate(1);
    Shrink();
    counts_.smallest = std::min(counts_.smallest, medium_->current.size());
  }
  void Step() {
    const uint64_t dice = rng_.Below(100);
    if (dice < 60) {
      Append(std::string(1 + rng_.Below(rng_.Below(8) == 0 ? 6000 : 300),
                         static_cast<char>('a' + rng_.Below(26))));
    } else if (dice < 88) {
      Flush();
    } else if (dice < 96) {
      Truncate(1 + rng_.Below(4));
    } else if (dice < 97) {
      Shrink();
    } else if (dice < 98) {
      PassSlots();
    } else {
      ShrinkToLeast();
    }
  }
  // The process ends and begins again, without a power failure.
  void Reopen() {
    log_ = nullptr;
    log_ = MustOpen(medium_, from_);
    known_ = MustReadAll(*log_, from_);
    Start();
  }

 private:
  void CrashNow() {
    for (const Damage damage : kDamages) {
      if (damage != Damage::kLoseAll && medium_->pending.empty()) continue;
      Check(medium_->AfterCrash(damage, rng_));
    }
  }

  void Check(DeviceImage image) {
    ++counts_.states;
    auto medium = CrashDevice::MediumOf(std::move(image));
    auto log = MustOpen(medium, from_);
    const Lsn end = log->end();
    // All acknowledged records, and a prefix of the others.
    if (end < acknowledged_) FAIL("ends at " << Raw(end) << " before " << Raw(acknowledged_));
    Records expected(known_.lower_bound(Raw(from_)), known_.lower_bound(Raw(end)));
    Records found = MustReadAll(*log, from_);
    if (found != expected) FAIL("found " << found.size() << " records, not " << expected.size());
    const Records lost(known_.lower_bound(Raw(end)), known_.end());
    counts_.torn += !lost.empty();
    if (depth_ > 0 && rng_.Below(6) == 0)
      CrashAgain(medium, std::move(log), std::move(found), lost);
  }

  // Continues after the crash, and first appends the lost records again, because recovery often
  // writes the same bytes again.
  void CrashAgain(std::shared_ptr<CrashMedium> medium, std::unique_ptr<Log> log, Records found,
                  const Records& lost) {
    ++counts_.nested;
    Run run(std::move(medium), std::move(log), std::move(found), from_, rng_.Next(), depth_ - 1,
            counts_);
    run.Start();
    for (const auto& [lsn, text] : lost) run.Append(text);
    run.Flush();
    run.Append("after the crash");
    run.Flush();
  }

  const std::shared_ptr<CrashMedium> medium_;
  std::unique_ptr<Log> log_;
  Records known_;
  Lsn from_;
  Lsn acknowledged_;
  Rng rng_;
  const int depth_;
  Counts& counts_;
};

TEST_CASE("A crash loses nothing that was acknowledged and finds nothing that was not written") {
  Counts counts;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    auto medium = std::make_shared<CrashMedium>();
    auto log = MustCreate(medium);
    Run run(medium, std::move(log), {}, Lsn{0}, seed, 2, counts);
    run.Start();
    for (int i = 0; i < 60; ++i) {
      run.Step();
      if (i % 20 == 19) run.Reopen();
    }
  }
  INFO(counts.states << " states, " << counts.nested << " continued, " << counts.torn << " torn");
  CHECK(counts.states > 400 * kSeeds);
  CHECK(counts.nested > 20 * kSeeds);
  CHECK(counts.torn > 80 * kSeeds);
  CHECK(counts.smallest == kLogSegmentsBegin + 3 * TinyLog().segment_bytes);
}

// ---- Damage of durable bytes.

struct Victim {
  DeviceImage image;
  Records records;
  uint64_t last_group = 0, end = 0;  // positions
};

// A log of a few groups and segments, small and large, that has wrapped.
Victim MakeVictim(Lsn* from) {
  auto medium = std::make_shared<CrashMedium>();
  auto log = MustStart(medium);
  for (int i = 0; i < 12; ++i) {
    const Lsn lsn = MustAppendDurably(*log, std::string(2000, static_cast<char>('a' + i)));
    *from = log->group_start(lsn);
    log->Truncate(lsn);
  }
  Victim victim;
  for (int i = 0; i < 10; ++i) {
    MustAppend(*log, "small " + std::to_string(i));
    victim.last_group = Raw(log->group_start(log->next()));
    MustAppendDurably(*log, std::string(i == 4 ? 3000 : 30, 'r'));
  }
  victim.end = Raw(log->end());
  victim.records = MustReadAll(*log, *from);
  victim.image = medium->current;
  return victim;
}

enum class Outcome { kRight, kRefused, kShorter };

// The outcome of reading the damaged image. Any but these three outcomes fails the test.
Outcome ReadDamaged(const Victim& victim, DeviceImage image, Lsn from) {
  auto log = Open(CrashDevice::MediumOf(std::move(image)));
  if (!log.ok() || !(*log)->FindEnd(from, Lsn{0}).ok()) return Outcome::kRefused;
  const auto found = ReadAll(**log, from);
  if (!found.ok()) return Outcome::kRefused;
  if (*found == victim.records) return Outcome::kRight;
  const Records shorter(victim.records.begin(), victim.records.lower_bound(victim.last_group));
  REQUIRE(*found == shorter);
  CHECK(Raw((*log)->end()) == victim.last_group);
  // A recorded end reveals the loss.
  CHECK(absl::IsDataLoss((*log)->FindEnd(from, Lsn{victim.end})));
  return Outcome::kShorter;
}

TEST_CASE("A changed bit in any byte is noticed, harmless, or in the last group") {
  Lsn from{0};
  const Victim victim = MakeVictim(&from);
  std::map<Outcome, int> outcomes;
  Rng rng(5);
  for (size_t i = 0; i < victim.image.size(); i += kSweepStep) {
    DeviceImage image = victim.image;
    image[i] ^= std::byte{static_cast<unsigned char>(1 << rng.Below(8))};
    ++outcomes[ReadDamaged(victim, std::move(image), from)];
  }
  // The last group is one block, and damage of its segment's header may hide only that group.
  CHECK(outcomes[Outcome::kShorter] <= 512);
  CHECK(outcomes[Outcome::kRefused] > static_cast<int>(5000 / kSweepStep));
  CHECK(outcomes[Outcome::kRight] > static_cast<int>(5000 / kSweepStep));
}

TEST_CASE("Blocks that are zeroed, garbage, swapped or stale are noticed or harmless") {
  Lsn from{0};
  const Victim victim = MakeVictim(&from);
  const size_t blocks = victim.image.size() / 512;
  const auto block = [](DeviceImage& image, size_t i) {
    return image.begin() + static_cast<long>(i * 512);
  };
  int shorter = 0;
  Rng rng(6);
  for (size_t i = 0; i < blocks; ++i) {
    DeviceImage zeroed = victim.image, garbage = victim.image;
    std::fill_n(block(zeroed, i), 512, std::byte{0});
    std::generate_n(block(garbage, i), 512, [&] { return static_cast<std::byte>(rng.Next()); });
    shorter += ReadDamaged(victim, std::move(zeroed), from) == Outcome::kShorter;
    shorter += ReadDamaged(victim, std::move(garbage), from) == Outcome::kShorter;
    for (size_t j = i + 1; j < blocks; j += 1 + rng.Below(5)) {
      DeviceImage swapped = victim.image, doubled = victim.image;
      std::swap_ranges(block(swapped, i), block(swapped, i) + 512, block(swapped, j));
      std::copy_n(block(doubled, i), 512, block(doubled, j));
      ReadDamaged(victim, std::move(swapped), from);
      ReadDamaged(victim, std::move(doubled), from);
    }
  }
  CHECK(shorter == 2);
}

TEST_CASE("A log cut short at any sector is refused") {
  Lsn from{0};
  const Victim victim = MakeVictim(&from);
  for (size_t size = 0; size < victim.image.size(); size += 512) {
    DeviceImage image(victim.image.begin(), victim.image.begin() + static_cast<long>(size));
    CHECK(ReadDamaged(victim, std::move(image), from) == Outcome::kRefused);
  }
  DeviceImage longer = victim.image;
  longer.resize(longer.size() + 5000 * 512, std::byte{1});
  CHECK(ReadDamaged(victim, std::move(longer), from) == Outcome::kRight);
}

// ---- Failing devices.

TEST_CASE("The first failed write or sync ends all acknowledgement, and reopening recovers") {
  int poisoned = 0;
  for (uint64_t k = 0; k < 120; ++k) {
    auto medium = std::make_shared<CrashMedium>();
    auto log = MustStart(medium);
    medium->fails_at = medium->calls + k;
    Records acknowledged, appended;
    absl::Status status;
    for (int i = 0; i < 60; ++i) {
      const std::string text = std::to_string(i) + std::string(i % 9 == 8 ? 3000 : 200, 'f');
      if (!log->Reserve(log->RecordSpace(text.size())).ok()) break;
      appended[Raw(AppendReserved(*log, text))] = text;
      status = log->Flush(log->next());
      if (!status.ok()) break;
      acknowledged = appended;
    }
    if (!status.ok()) {
      ++poisoned;
      CHECK(absl::IsUnavailable(status));
      CHECK_THAT(std::string(status.message()),
                 Catch::Contains("failed") && Catch::Contains("reopen"));
      CHECK(log->poisoned());
      medium->fails_at = UINT64_MAX;
      medium->has_failed = false;
      // Even if the device works again, the log does not use it any more. LSNs go on.
      const uint64_t calls = medium->calls;
      Lsn last = log->next();
      REQUIRE(log->ReserveUrgent(log->RecordSpace(500)).ok());
      log->Release(log->RecordSpace(500));
      for (int i = 0; i < 300 && log->Reserve(log->RecordSpace(500)).ok(); ++i) {
        const Lsn lsn = AppendReserved(*log, std::string(500, 'd'));
        CHECK(lsn >= last);
        last = lsn;
      }
      CHECK(log->Flush(log->next()) == status);
      CHECK(medium->calls == calls);
    }
    log = nullptr;
    Rng rng(k);
    for (const Damage damage : kDamages) {
      auto reopened = MustOpen(CrashDevice::MediumOf(medium->AfterCrash(damage, rng)));
      const Records found = MustReadAll(*reopened);
      REQUIRE(found.size() >= acknowledged.size());
      REQUIRE(std::includes(appended.begin(), appended.end(), found.begin(), found.end()));
      REQUIRE(std::includes(found.begin(), found.end(), acknowledged.begin(), acknowledged.end()));
    }
  }
  CHECK(poisoned > 60);
}

TEST_CASE("Creating and starting a log on a failing device is an error, whichever call fails") {
  for (uint64_t k = 0; k < 12; ++k) {
    auto medium = std::make_shared<CrashMedium>();
    medium->fails_at = k;
    auto log = CreateLog(ThreadRuntime(), std::make_unique<CrashDevice>(medium), TinyLog());
    const absl::Status status = log.ok() ? (*log)->StartWriting() : log.status();
    if (medium->has_failed) CHECK(absl::IsUnavailable(status));
    CHECK(status.ok() != medium->has_failed);
  }
}

}  // namespace
}  // namespace latchkey::log_crash_test
