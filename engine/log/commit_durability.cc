#include "engine/log/commit_durability.h"

#include <new>
#include <string>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status OutcomeUnknown(absl::string_view why) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      "the outcome of the commit is unknown: its log record may not have reached the device ({}); "
      "reopen the database to recover, and look",
      std::string(why));
}

}  // namespace

CommitDurability::CommitDurability(Log& log, LogHealth& health, DeferredFrees& frees,
                                   GroupFlusher& flusher, bool waits, WaitLedger* ledger)
    : log_(log),
      health_(health),
      frees_(frees),
      flusher_(flusher),
      waits_(waits),
      ledger_(ledger),
      outcome_unknown_(OutcomeUnknown("no memory was left to write it")) {}

absl::Status CommitDurability::WaitOrPromiseDurable(Lsn commit,
                                                    std::optional<Durability> durability) {
  if (commit == Lsn{0}) return absl::OkStatus();
  try {
    switch (durability.value_or(waits_ ? Durability::kCommit : Durability::kGroup)) {
      case Durability::kCommit:
        return Wait(commit);
      case Durability::kGroup:
        // The flusher of a database whose commits wait starts with the first that does not.
        return flusher_.EnsureStarted() ? Promise() : Wait(commit);
      case Durability::kNone:
        break;
    }
    return health_.failed() ? OutcomeUnknown("it failed before") : absl::OkStatus();
  } catch (const std::bad_alloc&) {
    health_.SetFailed();
    return outcome_unknown_;
  }
}

absl::Status CommitDurability::Wait(Lsn commit) {
  if (!is_durable(commit)) {
    const WaitTimer timer(ledger_, Waited::kLogSync);
    if (const absl::Status flushed = log_.Flush(Lsn{Raw(commit) + 1}); !flushed.ok()) {
      health_.SetFailed();
      return OutcomeUnknown(flushed.message());
    }
  }
  frees_.Drain();
  return absl::OkStatus();
}

absl::Status CommitDurability::Promise() {
  flusher_.RequestFlush();
  return health_.failed() ? OutcomeUnknown("it failed before") : absl::OkStatus();
}

void CommitDurability::PromiseDurable() {
  if (!waits_) flusher_.PromiseDurable(log_.next());
}

absl::Status CommitDurability::EnsureDurable(Lsn lsn) {
  return is_durable(lsn) ? absl::OkStatus() : health_.Flush(Lsn{Raw(lsn) + 1});
}

}  // namespace latchkey
