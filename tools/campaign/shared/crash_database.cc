#include "tools/campaign/shared/crash_database.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "engine/transaction_impl.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/shared/record_model.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

constexpr std::array<const char*, 2> kTrees = {"kept", "dropped"};
constexpr uint32_t kKeys = 300;

std::string KeyOf(uint64_t number) { return fmt::format("key{:05}", number * 7919 % 100'000); }

std::string SomeValue(Rng& rng) {
  size_t size = 8 + rng.Below(200);
  if (rng.Below(10) == 0) size = 600 + rng.Below(800);
  if (rng.Below(25) == 0) size = 5'000 + rng.Below(12'000);
  std::string value(size, static_cast<char>('a' + rng.Below(26)));
  const std::string mark = fmt::format("{:x}", rng.Next());
  return mark + value;
}

// Change of one record by one transaction.
struct Step {
  uint32_t tree = 0;
  std::string key;
  std::string value;
  bool is_delete = false;
};

class Workload {
 public:
  Workload(DatabaseImpl& db, CrashRecorder& disks, CommitOracle& oracle, uint64_t seed, bool acks)
      : db_(db), disks_(disks), oracle_(oracle), rng_(seed), acks_(acks) {}

  absl::Status Run(uint32_t transactions) {
    LATCHKEY_RETURN_IF_ERROR(OpenTrees());
    for (uint32_t i = 0; i < transactions; ++i) {
      LATCHKEY_RETURN_IF_ERROR(Between());
      LATCHKEY_RETURN_IF_ERROR(One());
    }
    return EndSideTransaction();
  }

 private:
  absl::Status OpenTrees() {
    for (size_t tree = 0; tree < kTrees.size(); ++tree) {
      LATCHKEY_ASSIGN_OR_RETURN(trees_[tree], db_.OpenTree(kTrees[tree], /*create=*/true));
    }
    return absl::OkStatus();
  }

  // One event between two transactions.
  absl::Status Between() {
    if (rng_.Below(15) == 0) LATCHKEY_RETURN_IF_ERROR(db_.Checkpoint());
    if (rng_.Below(6) == 0) LATCHKEY_RETURN_IF_ERROR(EndSideTransaction());
    if (rng_.Below(40) == 0) LATCHKEY_RETURN_IF_ERROR(DropAndMakeAgain());
    if (side_ == nullptr && rng_.Below(5) == 0) side_ = db_.Begin();
    if (side_ != nullptr && rng_.Below(2) == 0) {
      side_steps_.push_back(
          {.tree = 0, .key = fmt::format("side{}", rng_.Below(40)), .value = SomeValue(rng_)});
      LATCHKEY_RETURN_IF_ERROR(Do(*side_, side_steps_.back()));
    }
    return absl::OkStatus();
  }

  absl::Status Do(TransactionImpl& txn, const Step& step) {
    TreeImpl& tree = *trees_[step.tree];
    if (!step.is_delete) return txn.Put(tree, step.key, step.value);
    const absl::Status status = txn.Delete(tree, step.key);
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }

  absl::Status One() {
    const std::unique_ptr<TransactionImpl> txn = db_.Begin();
    std::vector<Step> steps(1 + rng_.Below(rng_.Below(8) == 0 ? 30 : 5));
    const bool only_deletes = rng_.Below(12) == 0;
    for (Step& step : steps) {
      step.tree = rng_.Below(4) == 0 ? 1 : 0;
      step.key = KeyOf(rng_.Below(kKeys));
      step.is_delete = only_deletes || rng_.Below(5) == 0;
      if (!step.is_delete) step.value = SomeValue(rng_);
      LATCHKEY_RETURN_IF_ERROR(Do(*txn, step));
    }
    if (rng_.Below(8) == 0) return txn->Rollback();
    return Commit(*txn, steps);
  }

  absl::Status Commit(TransactionImpl& txn, const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (step.is_delete) {
        model_.Delete(step.tree, step.key);
      } else {
        model_.Put(step.tree, step.key, step.value);
      }
    }
    oracle_.Submit(disks_.position(), model_.fingerprint());
    LATCHKEY_RETURN_IF_ERROR(txn.Commit());
    if (acks_) oracle_.Acknowledge(disks_.position());
    return absl::OkStatus();
  }

  absl::Status EndSideTransaction() {
    if (side_ == nullptr) return absl::OkStatus();
    const std::unique_ptr<TransactionImpl> side = std::move(side_);
    const std::vector<Step> steps = std::exchange(side_steps_, {});
    return rng_.Below(2) == 0 ? side->Rollback() : Commit(*side, steps);
  }

  // The drop and the creation become durable one after the other. Empty and missing trees are
  // equal.
  absl::Status DropAndMakeAgain() {
    LATCHKEY_RETURN_IF_ERROR(EndSideTransaction());
    model_.Drop(1);
    oracle_.Submit(disks_.position(), model_.fingerprint());
    LATCHKEY_RETURN_IF_ERROR(db_.DropTree(kTrees[1]));
    if (acks_) oracle_.Acknowledge(disks_.position());
    LATCHKEY_ASSIGN_OR_RETURN(trees_[1], db_.OpenTree(kTrees[1], /*create=*/true));
    return absl::OkStatus();
  }

  DatabaseImpl& db_;
  CrashRecorder& disks_;
  CommitOracle& oracle_;
  Rng rng_;
  const bool acks_;  // whether a commit that has returned is durable
  RecordModel model_;
  std::array<TreeImpl*, kTrees.size()> trees_{};
  std::unique_ptr<TransactionImpl> side_;
  std::vector<Step> side_steps_;
};

}  // namespace

absl::StatusOr<uint64_t> DatabaseSubject::FingerprintOf(DatabaseImpl& db) {
  uint64_t fingerprint = 0;
  for (uint32_t tree = 0; tree < kTrees.size(); ++tree) {
    LATCHKEY_RETURN_IF_ERROR(AddFingerprint(db, kTrees[tree], tree, &fingerprint));
  }
  return fingerprint;
}

std::string DatabaseSubject::name() const {
  return fmt::format("{} {} {}", options_.layout, options_.replacement, options_.space_utilization);
}

absl::StatusOr<std::unique_ptr<DatabaseImpl>> DatabaseSubject::Open(uint64_t seed,
                                                                    CrashMachine& machine,
                                                                    bool create) const {
  const DatabaseSizing sizing = {.log_segment_bytes = 16 << 10,
                                 .log_initial_bytes = 64 << 10,
                                 .journal_segment_bytes = 8 << 10,
                                 .reserve_bytes = 1,
                                 .doublewrite_pages = 8,
                                 .assume_device_costs = true,
                                 .database_id = options_.database_id};
  Options options;
  options.create_if_missing = create;
  options.cache_bytes = 2 << 20;
  options.page_size = create ? options_.page_size : 0;
  options.durability = options_.durability;
  options.checkpoint_log_bytes = 64 << 10;
  SetLayout(options_.layout, &options.techniques);
  options.techniques.replacement = options_.replacement;
  options.techniques.space_utilization = options_.space_utilization;
  options.techniques.segment_size = create ? 64 << 10 : 0;
  options.techniques.cleaners = options_.cleaners;
  options.techniques.seed = seed;
  return DatabaseImpl::OpenOverDevices(
      machine.runtime(),
      DevicesOn(*machine.disks, sizing, options_.durability != Durability::kNone), options);
}

absl::Status DatabaseSubject::Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) {
  oracle.Submit(machine.disks->position(), 0);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            Open(seed, machine, /*create=*/true));
  oracle.Acknowledge(machine.disks->position());
  {
    Workload workload(*db, *machine.disks, oracle, seed,
                      options_.durability == Durability::kCommit);
    LATCHKEY_RETURN_IF_ERROR(workload.Run(options_.transactions));
  }
  LATCHKEY_RETURN_IF_ERROR(db->Close());
  oracle.Acknowledge(machine.disks->position());
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DatabaseSubject::Recover(uint64_t seed, CrashMachine& machine) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            Open(seed, machine, /*create=*/false));
  LATCHKEY_RETURN_IF_ERROR(db->Verify());
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t fingerprint, FingerprintOf(*db));
  LATCHKEY_RETURN_IF_ERROR(db->Close());
  return fingerprint;
}

}  // namespace latchkey
