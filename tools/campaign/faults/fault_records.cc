#include "tools/campaign/faults/fault_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/cursor_impl.h"
#include "engine/transaction_impl.h"
#include "storage/base/status_macros.h"
#include "storage/runtime/exempt_allocations.h"

namespace latchkey {
namespace {

void Apply(const FaultStep& step, FaultRecords* records) {
  switch (step.kind) {
    case FaultStep::Kind::kPut:
      (*records)[step.tree][step.key] = step.value;
      return;
    case FaultStep::Kind::kDelete: {
      const auto tree = records->find(step.tree);
      if (tree == records->end()) return;
      tree->second.erase(step.key);
      if (tree->second.empty()) records->erase(tree);
      return;
    }
    case FaultStep::Kind::kDrop:
      records->erase(step.tree);
      return;
  }
}

std::string Beginning(const std::string& value) {
  return fmt::format("{} bytes \"{}\"", value.size(), value.substr(0, 16));
}

}  // namespace

absl::StatusOr<FaultRecords> ReadRecords(DatabaseImpl& db) {
  FaultRecords records;
  const std::unique_ptr<TransactionImpl> txn = db.Begin({.read_only = true});
  for (const std::string& name : db.ListTrees()) {
    LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, db.OpenTree(name, /*create=*/false));
    CursorImpl cursor(*txn, tree, {});
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      const ExemptAllocations campaign;
      records[name].emplace(cursor.key(), cursor.value());
    }
    LATCHKEY_RETURN_IF_ERROR(cursor.status());
  }
  return records;
}

std::string DescribeDifference(const FaultRecords& expected, const FaultRecords& found) {
  static const std::map<std::string, std::string> kNone;
  for (const auto& [tree, records] : expected) {
    const auto other = found.find(tree);
    const auto& others = other == found.end() ? kNone : other->second;
    for (const auto& [key, value] : records) {
      const auto it = others.find(key);
      if (it == others.end()) {
        return fmt::format("tree {} lacks {} ({} of {} records)", tree, key, others.size(),
                           records.size());
      }
      if (it->second != value) {
        return fmt::format("tree {} has for {} {} instead of {}", tree, key, Beginning(it->second),
                           Beginning(value));
      }
    }
  }
  for (const auto& [tree, records] : found) {
    const auto other = expected.find(tree);
    const auto& others = other == expected.end() ? kNone : other->second;
    for (const auto& [key, value] : records) {
      if (!others.contains(key)) return fmt::format("tree {} has {} that is not to be", tree, key);
    }
  }
  return "no difference";
}

void FaultOracle::Commit(const std::vector<FaultStep>& steps) {
  for (FaultRecords& records : possible_) {
    for (const FaultStep& step : steps) Apply(step, &records);
  }
}

void FaultOracle::CommitForNow(const std::vector<FaultStep>& steps) {
  older_.insert(older_.end(), possible_.begin(), possible_.end());
  Commit(steps);
}

void FaultOracle::MayCommit(const std::vector<FaultStep>& steps) {
  const size_t before = possible_.size();
  for (size_t i = 0; i < before; ++i) {
    possible_.push_back(possible_[i]);
    for (const FaultStep& step : steps) Apply(step, &possible_.back());
  }
}

bool FaultOracle::Accepts(const FaultRecords& found) const {
  return std::ranges::find(possible_, found) != possible_.end();
}

bool FaultOracle::AcceptsAtOpen(const FaultRecords& found) const {
  return Accepts(found) || std::ranges::find(older_, found) != older_.end();
}

std::string FaultOracle::Explain(const FaultRecords& found) const {
  return fmt::format("{} (one of {} possible contents)", DescribeDifference(newest(), found),
                     possible_.size());
}

}  // namespace latchkey
