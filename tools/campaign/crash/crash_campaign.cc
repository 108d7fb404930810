#include "tools/campaign/crash/crash_campaign.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {
namespace {

// Every state allocates and frees the same large blocks. The process keeps them: returning them to
// the system and touching them again would take a fifth of the time.
void KeepMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

uint64_t HashOfEvents(const CrashRecorder& disks, uint64_t hash) {
  for (uint64_t i = 0; i < disks.position(); ++i) {
    const DiskEvent& event = disks.event(i);
    hash = MixHash(hash ^ (static_cast<uint64_t>(event.kind) + 8 * event.disk)) + event.offset;
    if (event.bytes != nullptr) hash = Hash64(event.bytes->data(), event.bytes->size(), hash);
  }
  return hash;
}

class Campaign {
 public:
  Campaign(CrashSubject& subject, const CrashCampaignOptions& options)
      : subject_(subject), options_(options) {}

  CrashReport Run() {
    for (uint64_t i = 0; i < options_.seeds && !done(); ++i) RunSeed(options_.first_seed + i);
    return std::move(report_);
  }

 private:
  bool done() const { return report_.failures.size() >= options_.max_failures; }

  void RunSeed(uint64_t seed) {
    seed_ = seed;
    choice_ = {};
    position_ = 0;
    CrashMachine machine(std::vector<DiskImage>(subject_.disks()), seed, /*record=*/true,
                         subject_.is_simulated(), subject_.is_busy());
    CommitOracle oracle;
    const absl::Status ran = machine.RunInside([&] { return subject_.Run(seed, machine, oracle); });
    ++report_.runs;
    report_.transactions += oracle.submitted();
    report_.events += machine.disks->position();
    report_.history_hash = HashOfEvents(*machine.disks, report_.history_hash);
    if (!ran.ok()) return Fail(fmt::format("the run failed: {}", ran.ToString()));
    for (const std::string& violation : machine.disks->violations()) {
      return Fail(fmt::format("in the run: {}", violation));
    }
    TryPositions(*machine.disks, oracle);
  }

  uint64_t CountStates(const CrashRecorder& disks, const CommitOracle& oracle) const {
    uint64_t states = 0;
    CrashReplay replay(disks);
    for (uint64_t position = 0; position <= replay.end(); ++position) {
      replay.AdvanceTo(position);
      if (IsBoundary(replay, oracle)) states += replay.Choices(options_.choices).size();
    }
    return states;
  }

  // A promise between two events excludes some contents, although the disks did not change.
  bool IsBoundary(const CrashReplay& replay, const CommitOracle& oracle) const {
    if (options_.only_position) return replay.position() == *options_.only_position;
    if (!subject_.creation_survives_crashes() && !oracle.MustExist(replay.position())) return false;
    return replay.changed() || oracle.PromisedAt(replay.position());
  }

  void TryPositions(const CrashRecorder& disks, const CommitOracle& oracle) {
    double share = 1;
    if (options_.max_states > 0 && !options_.only_position) {
      share = static_cast<double>(options_.max_states) /
              static_cast<double>(CountStates(disks, oracle));
    }
    Rng thinning(seed_);
    CrashReplay replay(disks);
    for (uint64_t position = 0; position <= replay.end() && !done(); ++position) {
      replay.AdvanceTo(position);
      if (!IsBoundary(replay, oracle)) continue;
      position_ = position;
      // A promise became due while the disks did not change. There are few; each gets a state.
      const bool is_owed = oracle.PromisedAt(position) && !replay.changed();
      bool tried = false;
      for (const CrashChoice& choice : ChoicesAt(replay)) {
        if (done()) break;
        const bool is_kept = is_owed && choice.variant == CrashVariant::kAll;
        if (share < 1 && thinning.Unit() >= share && !is_kept) continue;
        choice_ = choice;
        tried = true;
        TryState(replay, oracle);
      }
      report_.boundaries += tried;
    }
  }

  std::vector<CrashChoice> ChoicesAt(const CrashReplay& replay) const {
    if (options_.only_choice) return {*options_.only_choice};
    return replay.Choices(options_.choices);
  }

  void TryState(const CrashReplay& replay, const CommitOracle& oracle) {
    const bool again =
        options_.recovery_every > 0 &&
        (options_.only_position.has_value() || first_states_ % options_.recovery_every == 0);
    ++first_states_;
    ++report_.states;
    // What a killed process has written is there; only what it has synced is durable.
    const bool killed =
        again && choice_.variant == CrashVariant::kAll && subject_.syncs_when_opened();
    const CrashChoice durable = killed ? CrashChoice{.variant = CrashVariant::kNone} : choice_;
    CrashMachine machine(replay.Images(durable, seed_), seed_, /*record=*/again,
                         subject_.is_simulated());
    const absl::StatusOr<uint64_t> found =
        Recover(machine, killed ? replay.Pending() : std::vector<DiskEvent>());
    if (!found.ok()) {
      if (oracle.MustExist(position_))
        Fail(fmt::format("no recovery: {}", found.status().ToString()));
      return;
    }
    if (!oracle.Accepts(position_, *found)) return Fail(oracle.Explain(position_, *found));
    if (again) CrashRecovery(*machine.disks, *found, killed ? &oracle : nullptr);
  }

  // The disks as a process leaves them: every write is done, and none is synced.
  static absl::Status Leave(const std::vector<DiskEvent>& changes, CrashMachine& machine) {
    for (const DiskEvent& change : changes) {
      const std::unique_ptr<BlockDevice> disk = machine.disks->Open(change.disk);
      if (change.kind == DiskEvent::Kind::kResizeBegun) {
        LATCHKEY_RETURN_IF_ERROR(disk->Resize(change.offset));
        continue;
      }
      AlignedBuffer buffer(change.bytes->size());
      std::copy(change.bytes->begin(), change.bytes->end(), buffer.data());
      LATCHKEY_RETURN_IF_ERROR(disk->Write(change.offset, buffer.span(), IoClass::kMeta));
    }
    return absl::OkStatus();
  }

  // `left`: further writes on the disks that are not durable.
  absl::StatusOr<uint64_t> Recover(CrashMachine& machine, const std::vector<DiskEvent>& left = {}) {
    absl::StatusOr<uint64_t> found = absl::UnknownError("recovery did not end");
    const absl::Status ran = machine.RunInside([&] {
      LATCHKEY_RETURN_IF_ERROR(Leave(left, machine));
      found = subject_.Recover(seed_, machine);
      return absl::OkStatus();
    });
    if (!ran.ok()) return ran;
    for (const std::string& violation : machine.disks->violations()) {
      return absl::InternalError(violation);
    }
    return found;
  }

  // Every later recovery must find what the first one found, at whatever position a crash ended the
  // one before: the disks held it, and a reader may have seen it. `killed`: the state is that of a
  // killed process. Its writes are durable only at the end of the recovery; until then the earlier
  // promises hold.
  void CrashRecovery(const CrashRecorder& disks, uint64_t expected, const CommitOracle* killed) {
    CrashReplay replay(disks);
    // Seeded by the name of the state, so that the state can be repeated without those before it.
    Rng rng(MixHash(seed_ + MixHash(position_ * 16 + static_cast<uint64_t>(choice_.variant))) +
            choice_.index);
    for (uint32_t i = 0; i < options_.recovery_states && !done() && replay.end() > 0; ++i) {
      const uint64_t left = replay.end() - replay.position();
      const bool at_end = killed != nullptr && i + 1 == options_.recovery_states;
      replay.AdvanceTo(at_end ? replay.end()
                              : replay.position() +
                                    rng.Below(left / (options_.recovery_states - i) + 1));
      const std::vector<CrashChoice> choices = replay.Choices(options_.choices);
      recovery_choice_ = choices[rng.Below(choices.size())];
      recovery_position_ = replay.position();
      ++report_.states;
      ++report_.recovery_states;
      CrashMachine machine(replay.Images(recovery_choice_, seed_), seed_, /*record=*/false,
                           subject_.is_simulated());
      const absl::StatusOr<uint64_t> found = Recover(machine);
      if (!found.ok()) {
        Fail(fmt::format("no second recovery: {}", found.status().ToString()));
      } else if (*found != expected && (killed == nullptr || recovery_position_ == replay.end() ||
                                        !killed->Accepts(position_, *found))) {
        Fail("a recovery that was cut off changed what the next one found");
      }
    }
    recovery_position_.reset();
  }

  void Fail(std::string what) {
    report_.failures.push_back({.seed = seed_,
                                .position = position_,
                                .choice = choice_,
                                .recovery_position = recovery_position_,
                                .recovery_choice = recovery_choice_,
                                .states_before = report_.states,
                                .what = std::move(what)});
  }

  CrashSubject& subject_;
  const CrashCampaignOptions options_;
  CrashReport report_;
  uint64_t seed_ = 0, position_ = 0;
  uint64_t first_states_ = 0;
  CrashChoice choice_, recovery_choice_;
  std::optional<uint64_t> recovery_position_;
};

}  // namespace

std::string CrashFailure::Describe() const {
  std::string where = fmt::format("--seeds={} --position={} --variant={}:{}", seed, position,
                                  CrashVariantName(choice.variant), choice.index);
  if (recovery_position) {
    where += fmt::format(" (again in recovery at {}, {}:{})", *recovery_position,
                         CrashVariantName(recovery_choice.variant), recovery_choice.index);
  }
  return fmt::format("{}: {}", where, what);
}

CrashReport RunCrashCampaign(CrashSubject& subject, const CrashCampaignOptions& options) {
  KeepMemory();
  return Campaign(subject, options).Run();
}

}  // namespace latchkey
