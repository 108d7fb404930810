#include "engine/txn/version_spill.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "engine/txn/version_order.h"
#include "engine/txn/version_table.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr size_t kRunsPerMerge = 8;
// Runs of one level that may lie unmerged while readers have asked fewer than kRunsAsked runs since
// the last merge, and the file is at most half full.
constexpr size_t kMostUnmerged = 64;
constexpr uint64_t kRunsAsked = 4096;
// Merges of settled runs in one call: the caller is a committer.
constexpr int kMergesAtOnce = 2;
constexpr uint64_t kMostFilterBits = 10;

/// A version that owns its bytes.
struct OwnedVersion {
  SettlingVersion version;
  std::string key, old;

  void Assign(const SettlingVersion& from) {
    version = from;
    key.assign(from.key);
    old.assign(from.old);
  }
  SettlingVersion view() const {
    SettlingVersion result = version;
    result.key = key;
    result.old = old;
    return result;
  }
};

bool SameKey(const SettlingVersion& a, const SettlingVersion& b) {
  return a.tree == b.tree && a.key == b.key;
}

bool KeyBefore(const SettlingVersion& a, const SettlingVersion& b) {
  return a.tree != b.tree ? a.tree < b.tree : a.key < b.key;
}

/// Calls `visit` with all versions of each key in turn, oldest first. `runs`: oldest run first.
absl::Status VisitKeys(const std::vector<std::shared_ptr<VersionRun>>& runs,
                       absl::FunctionRef<absl::Status(std::span<OwnedVersion>)> visit) {
  struct Source {
    RunScanner scanner;
    SettlingVersion version;
    bool more = false;
    absl::Status Step() {
      LATCHKEY_ASSIGN_OR_RETURN(more, scanner.Next(&version));
      return absl::OkStatus();
    }
  };
  std::vector<std::unique_ptr<Source>> sources;  // newest first
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    sources.push_back(std::make_unique<Source>(Source{RunScanner(*run), {}, false}));
    LATCHKEY_RETURN_IF_ERROR(sources.back()->Step());
  }
  std::vector<OwnedVersion> group;  // reused, with the memory of its strings
  for (;;) {
    const Source* least = nullptr;
    for (const auto& source : sources) {
      if (!source->more) continue;
      if (least == nullptr || KeyBefore(source->version, least->version)) least = source.get();
    }
    if (least == nullptr) return absl::OkStatus();
    size_t versions = 0;
    // Sources before the first one with the key have a larger key.
    for (const auto& source : sources) {
      while (source->more &&
             (versions == 0 ? source.get() == least : SameKey(source->version, group[0].view()))) {
        if (versions == group.size()) group.emplace_back();
        group[versions++].Assign(source->version);
        LATCHKEY_RETURN_IF_ERROR(source->Step());
      }
    }
    const std::span<OwnedVersion> found = std::span(group).first(versions);
    std::reverse(found.begin(), found.end());
    LATCHKEY_RETURN_IF_ERROR(visit(found));
  }
}

absl::Status AddNewestFirst(std::span<const OwnedVersion> group, RunBuilder* builder) {
  for (auto version = group.rbegin(); version != group.rend(); ++version) {
    LATCHKEY_RETURN_IF_ERROR(builder->Add(version->view()));
  }
  return absl::OkStatus();
}

/// Moves the versions of a key that a snapshot sees to the front, and returns their number. `group`:
/// oldest first. `left` gets the chores of the others.
size_t KeepNeeded(std::span<OwnedVersion> group, const LiveSnapshots& live, Chores* left) {
  size_t kept = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    SettlingVersion& version = group[i].version;
    size_t before = kept;  // as in SettledVersions
    while (before != 0 && !version.lock_only && group[before - 1].version.lock_only) --before;
    const CommitTs from = before == 0 ? 0 : group[before - 1].version.ts;
    if (live.AnyIn(from, version.ts)) {
      if (kept != i) std::swap(group[kept], group[i]);
      ++kept;
      continue;
    }
    if (before != 0) left->AddGhostOfInserted(group[i].view(), group[before - 1].version.state);
    left->Add(group[i].view(), /*purge=*/kept == 0);
    if (kept != 0 && version.leaves_ghost) group[kept - 1].version.leaves_ghost = true;
  }
  return kept;
}

/// Prefetches the first lines of `bytes` bytes; the processor fetches the next ones by itself.
void Prefetch(const void* from, size_t bytes) {
  constexpr size_t kLine = 64, kLines = 4;
  const auto* at = static_cast<const char*>(from);
  for (size_t i = 0; i < bytes && i < kLines * kLine; i += kLine) __builtin_prefetch(at + i);
}

uint32_t LevelOfRun(const std::shared_ptr<VersionRun>& run) { return run->level(); }

/// Number of runs before `last` that are of the level of the one before it.
template <typename Run, typename LevelOf>
size_t CountAlike(const std::vector<Run>& runs, size_t last, LevelOf level_of) {
  size_t alike = 0;
  while (alike < last && level_of(runs[last - 1 - alike]) == level_of(runs[last - 1])) ++alike;
  return alike;
}

}  // namespace

VersionSpill::VersionSpill(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                           uint64_t most_bytes)
    : runtime_(runtime),
      file_(std::make_shared<SpillFile>(runtime, std::move(device), most_bytes)),
      settled_mutex_(runtime),
      change_mutex_(runtime),
      runs_(std::make_shared<const Runs>()) {}

VersionSpill::~VersionSpill() = default;

uint64_t VersionSpill::TransactionRun::Outcome() const {
  if (const CommitTs known = ts.load(std::memory_order_acquire); known != 0) return known;
  const uint64_t outcome = record->outcome.load(std::memory_order_acquire);
  // Set before the record is reused: the record's outcome may already be that of another
  // transaction.
  const CommitTs known = ts.load(std::memory_order_acquire);
  return known != 0 ? known : outcome;
}

std::shared_ptr<const VersionSpill::Runs> VersionSpill::Current() const {
  SpinLatchGuard guard(latch_, runtime_);
  return runs_;
}

void VersionSpill::Change(absl::FunctionRef<void(Runs&)> change) {
  std::shared_ptr<const Runs> before;  // destroyed, with its runs, when no latch is held
  MutexLock lock(change_mutex_);
  auto next = std::make_shared<Runs>(*Current());
  change(*next);
  uint64_t versions = 0, bytes = 0;
  for (const auto& run : next->settled) versions += run->count(), bytes += run->bytes();
  for (const auto& undo : next->undo) versions += undo->run->count(), bytes += undo->run->bytes();
  const bool any_settled = !next->settled.empty();
  const bool any = any_settled || !next->undo.empty();
  CommitTs newest = next->undo.empty() ? 0 : UINT64_MAX;
  for (const auto& run : next->settled) newest = std::max(newest, run->newest());
  if (any) has_runs_.store(true, std::memory_order_release);
  newest_.store(newest, std::memory_order_release);
  {
    SpinLatchGuard guard(latch_, runtime_);
    before = std::exchange(runs_, std::move(next));
  }
  if (!any) has_runs_.store(false, std::memory_order_release);
  has_settled_.store(any_settled, std::memory_order_release);
  versions_.store(versions, std::memory_order_relaxed);
  bytes_.store(bytes, std::memory_order_relaxed);
}

uint32_t VersionSpill::FilterBits(uint64_t versions) const {
  const uint64_t bits = 8 * filter_bytes_.load(std::memory_order_relaxed) / (versions + 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(bits, 1, kMostFilterBits));
}

absl::StatusOr<std::shared_ptr<VersionRun>> VersionSpill::Write(
    const std::vector<SettlingVersion>& versions, const std::vector<uint32_t>& order) {
  // They lie anywhere in memory, so that most time would be waiting for it.
  constexpr size_t kVersionsAhead = 16, kBytesAhead = 8;
  RunBuilder builder(file_, order.size(), FilterBits(order.size()), /*level=*/0);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i + kVersionsAhead < order.size()) {
      Prefetch(&versions[order[i + kVersionsAhead]], sizeof(SettlingVersion));
    }
    if (i + kBytesAhead < order.size()) {
      const SettlingVersion& next = versions[order[i + kBytesAhead]];
      Prefetch(next.key.data(), next.key.size());
      Prefetch(next.old.data(), next.old.size());
    }
    LATCHKEY_RETURN_IF_ERROR(builder.Add(versions[order[i]]));
  }
  return builder.Finish();
}

// ---- Reading

absl::Status VersionSpill::Find(CommitTs read_ts, const WriteRecord* own, uint64_t hash,
                                TreeId tree, std::string_view key, SpilledBlocks* blocks,
                                VersionRun::Oldest* oldest, std::string* old) const {
  const std::shared_ptr<const Runs> runs = Current();
  for (auto run = runs->settled.rbegin(); run != runs->settled.rend(); ++run) {
    // Not the end of the search: an older run may have newer versions, of other keys. An actor's
    // commits settle in order, but those of two actors do not.
    if ((*run)->newest() <= read_ts) continue;
    runs_asked_.fetch_add(1, std::memory_order_relaxed);
    LATCHKEY_RETURN_IF_ERROR((*run)->Find(hash, tree, key, read_ts, 0, blocks, oldest, old));
  }
  // The state before all of a transaction's changes wins over the states between them, so it comes
  // last, and the oldest run last. Undo of a running transaction is newer than every commit.
  constexpr CommitTs kNotYet = UINT64_MAX - 1;
  for (auto undo = runs->undo.rbegin(); undo != runs->undo.rend(); ++undo) {
    const uint64_t outcome = (*undo)->Outcome();
    if (outcome == WriteRecord::kRolledBack) continue;
    if ((*undo)->record == own && !WriteRecord::IsCommitted(outcome)) continue;
    const CommitTs ts = WriteRecord::IsCommitted(outcome) ? outcome : kNotYet;
    LATCHKEY_RETURN_IF_ERROR((*undo)->run->Find(hash, tree, key, read_ts, ts, blocks, oldest, old));
  }
  return absl::OkStatus();
}

VersionSpill::Newest VersionSpill::NewestOf(const WriteRecord* own, uint64_t hash,
                                            CommitTs after) const {
  Newest newest;
  const std::shared_ptr<const Runs> runs = Current();
  for (const auto& undo : runs->undo) {
    const uint64_t outcome = undo->Outcome();
    const bool committed = WriteRecord::IsCommitted(outcome);
    if (outcome == WriteRecord::kRolledBack) continue;
    if (committed ? outcome <= after : undo->record == own) continue;
    if (!undo->run->MayContain(hash)) continue;
    if (committed) {
      newest.ts = std::max(newest.ts, outcome);
    } else if (outcome == WriteRecord::kUndoFailed) {
      newest.undo_failed = true;
    } else {
      newest.running = {undo->record, undo->id};
    }
  }
  for (const auto& run : runs->settled) {
    if (run->newest() <= after || !run->MayContain(hash)) continue;
    newest.ts = std::max(newest.ts, run->newest());
  }
  return newest;
}

// ---- Settled versions

absl::Status VersionSpill::AddSettled(const std::vector<SettlingVersion>& versions,
                                      const LiveSnapshots& live, Chores* chores) {
  MutexLock lock(settled_mutex_);
  std::vector<uint32_t> order = OrderOf(versions);
  DropDeletesOfInserted(versions, live, &order, chores);
  LATCHKEY_ASSIGN_OR_RETURN(const std::shared_ptr<VersionRun> run, Write(versions, order));
  if (run != nullptr) Change([&](Runs& runs) { runs.settled.push_back(run); });
  return absl::OkStatus();
}

// Memory keeps the version of a delete if it no longer knows the write before it, which may have
// been spilled. This call looks for that write: if it inserted the key, and no snapshot reads
// between both, then the delete's version is dropped and the ghost goes. The keys of a queue lie
// side by side, so one block answers for many of them. If too many blocks are read, the remaining
// versions stay.
void VersionSpill::DropDeletesOfInserted(const std::vector<SettlingVersion>& versions,
                                         const LiveSnapshots& live, std::vector<uint32_t>* order,
                                         Chores* chores) const {
  constexpr uint64_t kReads = 64, kLookupsPerRead = 8;
  const std::shared_ptr<const Runs> runs = Current();
  if (runs->settled.empty()) return;
  SpilledBlocks blocks;
  uint64_t lookups = 0;
  size_t kept = 0;
  for (size_t i = 0; i < order->size(); ++i) {
    const SettlingVersion& version = versions[(*order)[i]];
    const bool is_oldest = i + 1 == order->size() || !SameKey(version, versions[(*order)[i + 1]]);
    // An overflow chain would have to be freed, and could not be if the run is not written.
    const bool is_candidate = is_oldest && version.leaves_ghost && !version.lock_only &&
                              version.state == RecordState::kValue &&
                              blocks.reads() <= kReads + lookups / kLookupsPerRead;
    lookups += is_candidate;
    if (is_candidate && InsertedForNoSnapshot(*runs, version, live, &blocks)) {
      chores->AddGhostOfInserted(version, RecordState::kAbsent);
    } else {
      (*order)[kept++] = (*order)[i];
    }
  }
  order->resize(kept);
}

// Whether the write before `version` is in a settled run and inserted the key, and no snapshot
// reads between both. False if a block cannot be read.
bool VersionSpill::InsertedForNoSnapshot(const Runs& runs, const SettlingVersion& version,
                                         const LiveSnapshots& live, SpilledBlocks* blocks) {
  const uint64_t hash = VersionTable::HashOf(version.tree, version.key);
  for (const auto& undo : runs.undo) {
    if (undo->Outcome() != WriteRecord::kRolledBack && undo->run->MayContain(hash)) return false;
  }
  for (auto run = runs.settled.rbegin(); run != runs.settled.rend(); ++run) {
    const auto write = (*run)->NewestWrite(hash, version.tree, version.key, blocks);
    if (!write.ok()) return false;
    if (write->ts == 0) continue;
    return write->before == RecordState::kAbsent && !live.AnyIn(write->ts, version.ts);
  }
  return false;
}

size_t VersionSpill::RunsPerMerge() const {
  const bool are_read = runs_asked_.load(std::memory_order_relaxed) >= kRunsAsked;
  return are_read || file_->is_half_full() ? kRunsPerMerge : kMostUnmerged;
}

absl::Status VersionSpill::Merge(const LiveSnapshots& live, Chores* chores) {
  MutexLock lock(settled_mutex_);
  const size_t enough = RunsPerMerge();
  for (int merges = 0; merges < kMergesAtOnce; ++merges) {
    const std::shared_ptr<const Runs> now = Current();
    size_t last = now->settled.size(), alike = 0;
    while (last > 0 && (alike = CountAlike(now->settled, last, LevelOfRun)) < enough) last -= alike;
    if (last == 0) break;
    // The oldest of the level, so that the levels still fall from the oldest run to the newest.
    const size_t first = last - alike;
    LATCHKEY_RETURN_IF_ERROR(MergeSettled(first, first + kRunsPerMerge, live, chores));
    runs_asked_.store(0, std::memory_order_relaxed);
  }
  return absl::OkStatus();
}

// Merges the runs [first, last) into one of the next level.
absl::Status VersionSpill::MergeSettled(size_t first, size_t last, const LiveSnapshots& live,
                                        Chores* chores) {
  const std::shared_ptr<const Runs> now = Current();
  const auto at = [](auto& runs, size_t i) {
    return runs.begin() + static_cast<std::ptrdiff_t>(i);
  };
  const std::vector<std::shared_ptr<VersionRun>> inputs(at(now->settled, first),
                                                        at(now->settled, last));
  uint64_t versions = 0;
  for (const auto& run : inputs) versions += run->count();
  RunBuilder builder(file_, versions, FilterBits(versions), inputs.front()->level() + 1);
  Chores left;
  LATCHKEY_RETURN_IF_ERROR(VisitKeys(inputs, [&](std::span<OwnedVersion> group) {
    return AddNewestFirst(group.first(KeepNeeded(group, live, &left)), &builder);
  }));
  LATCHKEY_ASSIGN_OR_RETURN(const std::shared_ptr<VersionRun> run, builder.Finish());
  chores->Append(std::move(left));
  Change([&](Runs& runs) {
    runs.settled.erase(at(runs.settled, first), at(runs.settled, last));
    if (run != nullptr) runs.settled.insert(at(runs.settled, first), run);
  });
  return absl::OkStatus();
}

bool VersionSpill::HasUnneeded(CommitTs oldest) const {
  const std::shared_ptr<const Runs> runs = Current();
  for (const auto& run : runs->settled) {
    if (run->newest() <= oldest) return true;
  }
  for (const auto& undo : runs->undo) {
    if (WriteRecord::IsCommitted(undo->Outcome()) && undo->Outcome() <= oldest) return true;
  }
  return false;
}

// If a block cannot be read, its chores are lost: its ghosts stay, which is harmless, and so do its
// chains. With a log the next open frees the chains.
void VersionSpill::AddChores(const std::shared_ptr<VersionRun>& run, Chores* chores) {
  if (!run->has_chores()) return;
  RunScanner scanner(run);
  SettlingVersion version;
  for (;;) {
    const absl::StatusOr<bool> more = scanner.Next(&version);
    if (!more.ok() || !*more) return;
    chores->Add(version, /*purge=*/true);
  }
}

void VersionSpill::DropUnneeded(CommitTs oldest, Chores* chores) {
  std::vector<std::shared_ptr<VersionRun>> gone;
  MutexLock lock(settled_mutex_);
  Change([&](Runs& runs) {
    std::erase_if(runs.settled, [&](const auto& run) {
      if (run->newest() > oldest) return false;
      gone.push_back(run);
      return true;
    });
    std::erase_if(runs.undo, [&](const auto& undo) {
      const uint64_t outcome = undo->Outcome();
      if (!WriteRecord::IsCommitted(outcome) || outcome > oldest) return false;
      gone.push_back(undo->run);
      return true;
    });
  });
  for (const auto& run : gone) AddChores(run, chores);
  TakePostponed(chores);
  gone.clear();
  file_->Shrink();
}

void VersionSpill::PostponeGhost(TreeId tree, std::string_view key) {
  CatchOutOfMemory([&] {
    Chores::Chore ghost{tree, std::string(key)};
    SpinLatchGuard guard(postponed_latch_, runtime_);
    postponed_.push_back(std::move(ghost));
    return absl::OkStatus();
  }).IgnoreError();  // stays a ghost: harmless
}

void VersionSpill::TakePostponed(Chores* chores) {
  Chores taken;
  {
    SpinLatchGuard guard(postponed_latch_, runtime_);
    taken.ghosts.swap(postponed_);
  }
  chores->Append(std::move(taken));
}

// ---- Undo

absl::Status VersionSpill::AddUndo(WriteRecord& record, TxnId id,
                                   const std::vector<SettlingVersion>& undo) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::shared_ptr<VersionRun> run, Write(undo, OrderOf(undo)));
  auto added = std::make_shared<TransactionRun>();
  added->run = run;
  added->record = &record;
  added->id = id;
  Change([&](Runs& runs) { runs.undo.push_back(added); });
  // A merge that fails is made up for by a later one.
  CatchOutOfMemory([&] { return MergeUndo(record); }).IgnoreError();
  return absl::OkStatus();
}

absl::Status VersionSpill::MergeUndo(const WriteRecord& record) {
  for (;;) {
    std::vector<std::shared_ptr<TransactionRun>> own;
    for (const auto& undo : Current()->undo) {
      if (undo->record == &record && undo->Outcome() == WriteRecord::kRunning) own.push_back(undo);
    }
    const size_t merged =
        CountAlike(own, own.size(), [](const auto& undo) { return undo->run->level(); });
    if (merged < kRunsPerMerge) return absl::OkStatus();
    own.erase(own.begin(), own.end() - static_cast<std::ptrdiff_t>(merged));
    std::vector<std::shared_ptr<VersionRun>> inputs;
    uint64_t versions = 0;
    for (const auto& undo : own) {
      inputs.push_back(undo->run);
      versions += undo->run->count();
    }
    RunBuilder builder(file_, versions, FilterBits(versions), inputs.front()->level() + 1);
    LATCHKEY_RETURN_IF_ERROR(VisitKeys(
        inputs, [&](std::span<OwnedVersion> group) { return AddNewestFirst(group, &builder); }));
    LATCHKEY_ASSIGN_OR_RETURN(const std::shared_ptr<VersionRun> run, builder.Finish());
    auto added = std::make_shared<TransactionRun>();
    added->run = run;
    added->record = own.front()->record;
    added->id = own.front()->id;
    Change([&](Runs& runs) {
      const auto first = std::find(runs.undo.begin(), runs.undo.end(), own.front());
      *first = added;
      std::erase_if(runs.undo, [&](const auto& undo) {
        return std::find(own.begin() + 1, own.end(), undo) != own.end();
      });
    });
  }
}

absl::Status VersionSpill::ForEachUndo(
    const WriteRecord& record,
    absl::FunctionRef<absl::Status(const SettlingVersion&)> restore) const {
  absl::Status first_error;
  const std::shared_ptr<const Runs> runs = Current();
  for (auto undo = runs->undo.rbegin(); undo != runs->undo.rend(); ++undo) {
    if ((*undo)->record != &record || WriteRecord::IsCommitted((*undo)->Outcome())) continue;
    RunScanner scanner((*undo)->run);
    SettlingVersion version;
    for (;;) {
      const absl::StatusOr<bool> more = scanner.Next(&version);
      if (!more.ok()) return more.status();
      if (!*more) break;
      const absl::Status restored = restore(version);
      if (first_error.ok()) first_error = restored;
    }
  }
  return first_error;
}

void VersionSpill::Commit(const WriteRecord& record, CommitTs ts) {
  for (const auto& undo : Current()->undo) {
    if (undo->record == &record && undo->ts.load(std::memory_order_relaxed) == 0) {
      undo->ts.store(ts, std::memory_order_release);
    }
  }
}

void VersionSpill::Remove(const WriteRecord& record, Chores* purge) {
  // First the steps that take no memory: another transaction may reuse the record soon.
  for (const auto& undo : Current()->undo) {
    if (undo->record == &record && undo->ts.load(std::memory_order_relaxed) == 0) {
      undo->ts.store(WriteRecord::kRolledBack, std::memory_order_release);
    }
  }
  std::vector<std::shared_ptr<VersionRun>> gone;
  Change([&](Runs& runs) {
    std::erase_if(runs.undo, [&](const auto& undo) {
      if (undo->Outcome() != WriteRecord::kRolledBack) return false;
      gone.push_back(undo->run);
      return true;
    });
  });
  for (const auto& run : std::exchange(gone, {})) {
    if (!run->has_old_ghosts()) continue;
    RunScanner scanner(run);
    SettlingVersion version;
    for (absl::StatusOr<bool> more = scanner.Next(&version); more.ok() && *more;
         more = scanner.Next(&version)) {
      if (version.state != RecordState::kGhost) continue;
      version.leaves_ghost = true;
      purge->Add(version, /*purge=*/true);
    }
  }
  TakePostponed(purge);
  file_->Shrink();
}

}  // namespace latchkey
