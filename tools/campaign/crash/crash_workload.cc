#include "tools/campaign/crash/crash_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/transaction_impl.h"
#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/shared/record_model.h"

namespace latchkey {
namespace {

constexpr uint32_t kShared = 0;  // the tree of all users; the users' own trees follow
constexpr uint32_t kPutTree = CrashWorkload::kMostUsers + 1;  // of single puts, without long values
constexpr uint32_t kSharedKeys = 700, kHotKeys = 12, kOwnKeys = 60, kPutKeys = 500;

std::string TreeName(uint32_t tree) {
  if (tree == kPutTree) return "puts";
  return tree == kShared ? std::string("shared") : fmt::format("user{}", tree);
}

std::string KeyOf(uint64_t number) { return fmt::format("key{:05}", number); }

std::string SomeValue(Rng& rng) {
  size_t size = 8 + rng.Below(200);
  if (rng.Below(10) == 0) size = 600 + rng.Below(800);
  if (rng.Below(25) == 0) size = 5'000 + rng.Below(12'000);
  return fmt::format("{:x}", rng.Next()) +
         std::string(size, static_cast<char>('a' + rng.Below(26)));
}

}  // namespace

// ---- One user

class CrashWorkload::User {
 public:
  User(CrashWorkload& workload, uint32_t number)
      : workload_(workload),
        own_tree_(number + 1),
        rng_(MixHash(workload.seed_ + MixHash(number + 1))) {}

  absl::Status Run(uint32_t transactions) {
    for (uint32_t i = 0; i < transactions && !workload_.stopped(); ++i) {
      workload_.Pause(rng_, 100 * kNanosPerMicro);
      if (rng_.Below(16) == 0) workload_.BeQuiet();
      LATCHKEY_RETURN_IF_ERROR(workload_.actions_.Beside([this] { return Once(); }));
      if (rng_.Below(14) != 0) continue;
      LATCHKEY_RETURN_IF_ERROR(
          workload_.actions_.Alone([this] { return workload_.PutSome(rng_); }));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Once() {
    if (rng_.Below(20) == 0) {
      LATCHKEY_RETURN_IF_ERROR(workload_.DropAndMakeAgain(own_tree_, rng_));
    }
    if (rng_.Below(12) == 0) {
      LATCHKEY_RETURN_IF_ERROR(workload_.DeleteRange(own_tree_, rng_));
    }
    absl::Status done = Transact();
    if (!absl::IsAborted(done)) return done;
    ++workload_.aborts_;
    return absl::OkStatus();
  }

  // Some transactions stay open while many others begin and end.
  absl::Status Transact() {
    const bool is_long = rng_.Below(8) == 0;
    const bool serializable = rng_.Below(4) == 0;
    const std::unique_ptr<TransactionImpl> txn = workload_.db_.Begin(
        {.isolation = serializable ? Isolation::kSerializable : Isolation::kSnapshot});
    std::vector<Step> steps;
    const uint64_t parts = 1 + rng_.Below(3);
    for (uint64_t part = 0; part < parts; ++part) {
      if (is_long) workload_.Pause(rng_, kNanosPerMilli);
      LATCHKEY_RETURN_IF_ERROR(Part(*txn, &steps));
    }
    if (rng_.Below(8) == 0) return txn->Rollback();
    return workload_.Commit(*txn, std::move(steps));
  }

  // Some writes, which a savepoint may undo.
  absl::Status Part(TransactionImpl& txn, std::vector<Step>* steps) {
    const bool undone = rng_.Below(6) == 0;
    const size_t before = steps->size();
    LATCHKEY_ASSIGN_OR_RETURN(const Savepoint savepoint, txn.SetSavepoint());
    if (rng_.Below(10) == 0) {
      LATCHKEY_RETURN_IF_ERROR(DeleteRange(txn, steps));
    } else {
      for (uint64_t left = 1 + rng_.Below(rng_.Below(8) == 0 ? 20 : 4); left > 0; --left) {
        LATCHKEY_RETURN_IF_ERROR(Write(txn, steps));
      }
    }
    if (!undone) return absl::OkStatus();
    steps->resize(before);
    ++workload_.savepoint_rollbacks_;
    return txn.RollbackTo(savepoint);
  }

  // Takes a lock, which changes nothing but a mark in the page.
  absl::Status Lock(TransactionImpl& txn) {
    std::string value;
    const absl::Status locked =
        txn.GetForUpdate(*workload_.trees_[kShared], KeyOf(rng_.Below(kSharedKeys)), &value);
    return absl::IsNotFound(locked) ? absl::OkStatus() : locked;
  }

  absl::Status Write(TransactionImpl& txn, std::vector<Step>* steps) {
    if (rng_.Below(8) == 0) LATCHKEY_RETURN_IF_ERROR(Lock(txn));
    const bool own = rng_.Below(4) == 0;
    const uint32_t tree = own ? own_tree_ : kShared;
    const std::string key = KeyOf(rng_.Below(own                  ? kOwnKeys
                                             : rng_.Below(6) == 0 ? kHotKeys
                                                                  : kSharedKeys));
    if (rng_.Below(5) == 0) {
      std::string value;
      const absl::Status read = txn.Get(*workload_.trees_[tree], key, &value);
      if (!read.ok() && !absl::IsNotFound(read)) return read;
    }
    if (rng_.Below(5) == 0) return Delete(txn, tree, key, steps);
    steps->push_back(
        {.kind = Step::Kind::kPut, .tree = tree, .key = key, .value = SomeValue(rng_)});
    const std::string& value = steps->back().value;
    if (value.size() < 5'000 || rng_.Below(2) == 0) {
      return txn.Put(*workload_.trees_[tree], key, value);
    }
    return PutInParts(txn, tree, key, value);
  }

  // In parts, between which others write. Some values are begun, given up and begun again.
  absl::Status PutInParts(TransactionImpl& txn, uint32_t tree, const std::string& key,
                          const std::string& value) {
    UnfinishedValue& unfinished = txn.unfinished_value();
    LATCHKEY_ASSIGN_OR_RETURN(uint64_t number, unfinished.Begin(*workload_.trees_[tree], key));
    if (rng_.Below(4) == 0) {
      LATCHKEY_RETURN_IF_ERROR(unfinished.Append(number, value));
      workload_.Pause(rng_, 100 * kNanosPerMicro);
      unfinished.Drop(number);
      LATCHKEY_ASSIGN_OR_RETURN(number, unfinished.Begin(*workload_.trees_[tree], key));
    }
    for (size_t at = 0; at < value.size();) {
      const size_t size = 1 + rng_.Below(6'000);
      LATCHKEY_RETURN_IF_ERROR(unfinished.Append(number, std::string_view(value).substr(at, size)));
      at += size;
      workload_.Pause(rng_, 50 * kNanosPerMicro);
    }
    ++workload_.values_in_parts_;
    return unfinished.Finish(number);
  }

  // A missing key is not locked: another user may insert it and commit first.
  absl::Status Delete(TransactionImpl& txn, uint32_t tree, const std::string& key,
                      std::vector<Step>* steps) {
    const absl::Status done = txn.Delete(*workload_.trees_[tree], key);
    if (absl::IsNotFound(done)) return absl::OkStatus();
    steps->push_back({.kind = Step::Kind::kDelete, .tree = tree, .key = key, .value = {}});
    return done;
  }

  // Deletes neighbours, so that leaves become empty and are merged.
  absl::Status DeleteRange(TransactionImpl& txn, std::vector<Step>* steps) {
    const uint64_t count = 20 + rng_.Below(40);
    const uint64_t first = rng_.Below(kSharedKeys - count);
    for (uint64_t i = 0; i < count; ++i) {
      LATCHKEY_RETURN_IF_ERROR(Delete(txn, kShared, KeyOf(first + i), steps));
    }
    return absl::OkStatus();
  }

  CrashWorkload& workload_;
  const uint32_t own_tree_;
  Rng rng_;
};

// ---- All users

CrashWorkload::CrashWorkload(DatabaseImpl& db, CrashMachine& machine,
                             const CrashWorkloadOptions& options, uint64_t seed)
    : db_(db),
      machine_(machine),
      options_(options),
      seed_(seed),
      actions_(machine.runtime()),
      commits_(machine.runtime()) {
  LATCHKEY_CHECK(options.users >= 1 && options.users <= kMostUsers);
}

absl::Status CrashWorkload::Run() {
  for (uint32_t tree = 0; tree <= options_.users; ++tree) {
    LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * made, db_.OpenTree(TreeName(tree), /*create=*/true));
    trees_.push_back(made);
  }
  LATCHKEY_RETURN_IF_ERROR(MakePutTree());
  std::vector<std::unique_ptr<Actor>> actors;
  running_ = options_.users;
  for (uint32_t number = 0; number < options_.users; ++number) {
    actors.push_back(machine_.runtime().Spawn(fmt::format("user {}", number), [this, number] {
      Stop(User(*this, number).Run(options_.transactions / options_.users));
      --running_;
    }));
  }
  actors.push_back(machine_.runtime().Spawn("checkpoints", [this] { RunCheckpoints(); }));
  // Their checkpoints would keep promises for the log.
  if (seed_ % 3 == 0 && options_.promise.value_or(0) == 0) {
    actors.push_back(machine_.runtime().Spawn("compactions", [this] { RunCompactions(); }));
  }
  if (options_.promise.value_or(0) > 0) {
    actors.push_back(machine_.runtime().Spawn("promises", [this] { WatchPromises(); }));
  }
  for (const std::unique_ptr<Actor>& actor : actors) actor->Join();
  return status_;
}

void CrashWorkload::Stop(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

void CrashWorkload::Pause(Rng& rng, Nanos most) {
  Runtime& runtime = machine_.runtime();
  runtime.SleepFor(1 + rng.Below(most));
  for (Nanos now = runtime.Now(); now < quiet_until_; now = runtime.Now()) {
    runtime.SleepFor(quiet_until_ - now);
  }
}

// A promised commit must become durable without any further call.
void CrashWorkload::BeQuiet() {
  const Nanos promise = options_.promise.value_or(0);
  if (promise > 0) quiet_until_ = machine_.runtime().Now() + 2 * promise;
}

void CrashWorkload::RunCheckpoints() {
  Rng rng(MixHash(seed_));
  while (running_ > 0 && !stopped()) {
    Pause(rng, 3 * kNanosPerMilli);
    Stop(db_.Checkpoint());
  }
}

void CrashWorkload::RunCompactions() {
  Rng rng(MixHash(seed_ + 1));
  const auto goes_on = [this](const CompactProgress&) { return running_ > 0 && !stopped(); };
  while (running_ > 0 && !stopped()) {
    Pause(rng, 10 * kNanosPerMilli);
    const absl::Status compacted = db_.Compact({.progress = goes_on}).status();
    if (!absl::IsCancelled(compacted)) Stop(compacted);
  }
}

// Notes each promise when it becomes due.
void CrashWorkload::WatchPromises() {
  while (running_ > 0 && !stopped()) {
    machine_.runtime().SleepFor(50 * kNanosPerMicro);
    KeepPromises();
  }
}

void CrashWorkload::KeepPromises() {
  const Nanos now = machine_.runtime().Now();
  const uint64_t position = machine_.disks->position();
  for (const std::unique_ptr<Done>& done : done_) {
    if (done->promised_at == kNever && done->due != 0 && done->due <= now) {
      done->promised_at = position;
    }
  }
}

CrashWorkload::Done& CrashWorkload::Submit(bool is_between, std::vector<Step> steps) {
  done_.push_back(std::make_unique<Done>());
  Done& done = *done_.back();
  done.is_between = is_between;
  done.steps = std::move(steps);
  done.submitted_at = machine_.disks->position();
  return done;
}

void CrashWorkload::Promise(Done& done) {
  if (!options_.promise) return;
  if (*options_.promise == 0) {
    done.promised_at = machine_.disks->position();
  } else {
    done.due = machine_.runtime().Now() + *options_.promise;
  }
}

absl::Status CrashWorkload::Commit(TransactionImpl& txn, std::vector<Step> steps) {
  Done* done = nullptr;
  const absl::Status committed = commits_.Beside([&] {
    done = &Submit(/*is_between=*/false, std::move(steps));
    return txn.Commit();
  });
  if (committed.ok()) {
    done->place = txn.last_commit();
    Promise(*done);
  } else {
    done->steps.clear();  // as if it had not happened
  }
  return committed;
}

absl::Status CrashWorkload::BetweenCommits(std::vector<Step> steps,
                                           absl::FunctionRef<absl::Status()> change) {
  return commits_.Alone([&] {
    Done& done = Submit(/*is_between=*/true, std::move(steps));
    done.place = db_.context().snapshots.clock();
    const absl::Status changed = change();
    if (changed.ok() && options_.promise == Nanos{0}) Promise(done);
    return changed;
  });
}

// A put waits only for a leaf that has left its frame. So with a change buffer the tree has more
// leaves than there are frames.
absl::Status CrashWorkload::MakePutTree() {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BulkLoadImpl> load,
                            db_.NewBulkLoad(TreeName(kPutTree), {}));
  std::vector<Step> steps;
  const uint64_t records = db_.context().changes == nullptr ? 0 : kPutKeys;
  for (uint64_t i = 0; i < records; ++i) {
    steps.push_back({.tree = kPutTree, .key = KeyOf(i), .value = std::string(700, 'p')});
    LATCHKEY_RETURN_IF_ERROR(load->Put(steps.back().key, steps.back().value));
  }
  LATCHKEY_RETURN_IF_ERROR(
      BetweenCommits(std::move(steps), [&] { return load->Finish().status(); }));
  LATCHKEY_ASSIGN_OR_RETURN(puts_, db_.OpenTree(TreeName(kPutTree), /*create=*/true));
  return absl::OkStatus();
}

absl::Status CrashWorkload::PutSome(Rng& rng) {
  absl::Status status;
  const uint64_t first = rng.Below(kPutKeys);  // neighbours, so that several puts wait for one leaf
  for (uint64_t left = 1 + rng.Below(40); left > 0 && status.ok(); --left) {
    if (rng.Below(4) == 0) machine_.runtime().SleepFor(1 + rng.Below(200 * kNanosPerMicro));
    const Step step{
        .tree = kPutTree,
        .key = KeyOf((first + rng.Below(60)) % kPutKeys),
        .value = std::string(8 + rng.Below(200), static_cast<char>('a' + rng.Below(26)))};
    Done& done = Submit(/*is_between=*/true, {step});
    done.place = db_.context().snapshots.clock();
    status = db_.Put(*puts_, step.key, step.value);
    if (status.ok()) Promise(done);
  }
  return status;
}

absl::Status CrashWorkload::DropAndMakeAgain(uint32_t tree, Rng& rng) {
  LATCHKEY_RETURN_IF_ERROR(
      BetweenCommits({{.kind = Step::Kind::kDrop, .tree = tree, .key = {}, .value = {}}},
                     [&] { return db_.DropTree(TreeName(tree)); }));
  if (rng.Below(2) == 0) LATCHKEY_RETURN_IF_ERROR(LoadAgain(tree, rng));
  // Empty and missing trees are equal.
  LATCHKEY_ASSIGN_OR_RETURN(trees_[tree], db_.OpenTree(TreeName(tree), /*create=*/true));
  return absl::OkStatus();
}

absl::Status CrashWorkload::DeleteRange(uint32_t tree, Rng& rng) {
  std::string from = KeyOf(rng.Below(kOwnKeys)), to = KeyOf(rng.Below(kOwnKeys));
  if (to < from) std::swap(from, to);
  const bool all = rng.Below(4) == 0;
  const Step step =
      all ? Step{.kind = Step::Kind::kDrop, .tree = tree, .key = {}, .value = {}}
          : Step{.kind = Step::Kind::kDeleteRange, .tree = tree, .key = from, .value = to};
  return BetweenCommits({step}, [&] {
    return db_.DeleteRange(*trees_[tree], all ? KeyRange{} : KeyRange{.from = from, .to = to});
  });
}

// A bulk load, under the tree's name or under another one that a rename replaces. Some are given up.
absl::Status CrashWorkload::LoadAgain(uint32_t tree, Rng& rng) {
  const bool renames = rng.Below(2) == 0;
  const std::string name = renames ? "loading " + TreeName(tree) : TreeName(tree);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BulkLoadImpl> load, db_.NewBulkLoad(name, {}));
  std::vector<Step> steps;
  const uint64_t records = rng.Below(kOwnKeys);
  for (uint64_t i = 0; i < records; ++i) {
    steps.push_back(
        {.kind = Step::Kind::kPut, .tree = tree, .key = KeyOf(i), .value = SomeValue(rng)});
    LATCHKEY_RETURN_IF_ERROR(load->Put(steps.back().key, steps.back().value));
    if (rng.Below(16) == 0) Pause(rng, 100 * kNanosPerMicro);
  }
  if (rng.Below(3) == 0) return absl::OkStatus();
  ++loads_;
  if (renames) LATCHKEY_RETURN_IF_ERROR(load->Finish().status());
  return BetweenCommits(std::move(steps), [&] {
    return renames ? db_.RenameTree(name, TreeName(tree)) : load->Finish().status();
  });
}

void CrashWorkload::Tell(CommitOracle& oracle) const {
  std::vector<const Done*> order;
  for (const std::unique_ptr<Done>& done : done_) {
    if (!done->steps.empty()) order.push_back(done.get());
  }
  // A stable sort: drops between the same two commits keep their order.
  std::ranges::stable_sort(order, [](const Done* a, const Done* b) {
    return std::pair(a->place, a->is_between) < std::pair(b->place, b->is_between);
  });
  RecordModel model;
  std::vector<std::pair<uint64_t, size_t>> promises;  // position, steps
  for (const Done* done : order) {
    for (const Step& step : done->steps) {
      switch (step.kind) {
        case Step::Kind::kPut:
          model.Put(step.tree, step.key, step.value);
          break;
        case Step::Kind::kDelete:
          model.Delete(step.tree, step.key);
          break;
        case Step::Kind::kDrop:
          model.Drop(step.tree);
          break;
        case Step::Kind::kDeleteRange:
          model.DeleteRange(step.tree, step.key, step.value);
          break;
      }
    }
    oracle.Submit(done->submitted_at, model.fingerprint());
    if (done->promised_at != kNever) {
      promises.emplace_back(done->promised_at, oracle.submitted());
    }
  }
  std::ranges::sort(promises);
  for (const auto& [position, steps] : promises) oracle.Acknowledge(position, steps);
}

absl::StatusOr<uint64_t> CrashWorkload::FingerprintOf(DatabaseImpl& db) {
  uint64_t fingerprint = 0;
  for (uint32_t tree = 0; tree <= kPutTree; ++tree) {
    LATCHKEY_RETURN_IF_ERROR(AddFingerprint(db, TreeName(tree), tree, &fingerprint));
  }
  return fingerprint;
}

}  // namespace latchkey
