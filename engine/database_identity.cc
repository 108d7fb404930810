#include "engine/database_identity.h"

#include <string>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

uint64_t NextNumber() {
  static std::atomic<uint64_t> newest{0};
  return newest.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

DatabaseIdentity::DatabaseIdentity() : number_(NextNumber()), word_(number_) { Watch(); }

void DatabaseIdentity::NoteClosed() {
  word_.store(kClosed, std::memory_order_relaxed);
  Unwatch();  // from here on no other thread reads the names of the trees
}

// The copy of a closed database stays closed: it holds nothing of the parent's.
void DatabaseIdentity::OnForkInChild() {
  if (!Owns(kClosed)) word_.store(kForeign, std::memory_order_relaxed);
}

absl::Status DatabaseIdentity::NotOpen() const {
  if (IsForeign()) {
    return absl::FailedPreconditionError(
        "the database was opened by the process that forked this one, and only that process can "
        "use it: open a database after fork(), in the process that uses it");
  }
  return absl::FailedPreconditionError(
      "the database is closed: open it again, and its trees and transactions with it");
}

absl::Status DatabaseIdentity::Refuse(Tree tree) const {
  if (!tree.valid()) {
    return absl::InvalidArgumentError("the Tree handle is empty: get one from Database::OpenTree");
  }
  LATCHKEY_RETURN_IF_ERROR(CheckOpen());
  if (Owns(tree.database_)) return tree.impl_->Dropped();
  // A database that is still watched still has all its trees.
  std::string name;
  VisitAll([&](const ForkObserver& observer) {
    const auto* other = dynamic_cast<const DatabaseIdentity*>(&observer);
    if (other != nullptr && other->number_ == tree.database_) name = tree.impl_->name();
  });
  if (name.empty()) {
    return absl::FailedPreconditionError(
        "the Tree handle is of a database that is closed: open the tree again in this one");
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the handle to tree \"{}\" is of another database: open the tree in this one",
                    name);
}

}  // namespace latchkey
