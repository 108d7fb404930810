#include "tools/campaign/crash/crash_toy.h"

#include <memory>
#include <vector>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// The fingerprint of all values is the sum of these parts. A value that was never set is 0.
uint64_t PartOf(uint64_t number, uint64_t value) {
  return value == 0 ? 0 : MixHash(value + MixHash(number + 1));
}

std::vector<ToyStore::Change> SomeChanges(Rng& rng) {
  // Some transactions span several blocks of the log.
  const uint64_t count = rng.Below(4) == 0 ? 60 + rng.Below(61) : 1 + rng.Below(8);
  std::vector<ToyStore::Change> changes(count);
  for (ToyStore::Change& change : changes) {
    change = {rng.Below(ToyStore::kValues), rng.Next() | 1};
  }
  return changes;
}

}  // namespace

absl::Status ToySubject::Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) {
  Rng rng(seed);
  CrashRecorder& disks = *machine.disks;
  oracle.Submit(disks.position(), 0);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<ToyStore> store,
                            ToyStore::Create(disks.Open(0), disks.Open(1), bug_));
  oracle.Acknowledge(disks.position());
  std::vector<uint64_t> model(ToyStore::kValues, 0);
  uint64_t fingerprint = 0;
  for (uint32_t i = 0; i < transactions_; ++i) {
    const std::vector<ToyStore::Change> changes = SomeChanges(rng);
    for (const auto& [number, value] : changes) {
      fingerprint += PartOf(number, value) - PartOf(number, model[number]);
      model[number] = value;
    }
    oracle.Submit(disks.position(), fingerprint);
    LATCHKEY_RETURN_IF_ERROR(store->Commit(changes));
    oracle.Acknowledge(disks.position());
    if (rng.Below(8) == 0) LATCHKEY_RETURN_IF_ERROR(store->FlushSome(rng.Next()));
    if (rng.Below(40) == 0) LATCHKEY_RETURN_IF_ERROR(store->Checkpoint());
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ToySubject::Recover(uint64_t /*seed*/, CrashMachine& machine) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<ToyStore> store,
                            ToyStore::Open(machine.disks->Open(0), machine.disks->Open(1), bug_));
  uint64_t fingerprint = 0;
  for (uint32_t i = 0; i < ToyStore::kValues; ++i) fingerprint += PartOf(i, store->value(i));
  return fingerprint;
}

}  // namespace latchkey
