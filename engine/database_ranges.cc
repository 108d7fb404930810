// Public calls on many keys at once, on whole trees, and loops of transactions.
#include <string>
#include <utility>

#include "engine/database_impl.h"
#include "engine/latchkey.h"
#include "engine/public_calls.h"
#include "engine/transaction_impl.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status NullOutput(std::string_view what) {
  return InvalidArgument("the {} is a null pointer: pass the address of one", what);
}

// The keys are announced in parts that the transaction can remember (KnownLeaves::kMaxAnnounced).
absl::Status ReadKeys(TransactionImpl& transaction, TreeImpl& tree,
                      std::span<const std::string_view> keys,
                      std::vector<std::optional<std::string>>* values) {
  values->clear();
  values->resize(keys.size());
  for (size_t begin = 0; begin < keys.size(); begin += KnownLeaves::kMaxAnnounced) {
    const size_t count = std::min(keys.size() - begin, KnownLeaves::kMaxAnnounced);
    for (size_t i = begin; i < begin + count; ++i) {
      LATCHKEY_RETURN_IF_ERROR(TransactionImpl::CheckKey(keys[i]));
    }
    transaction.Prefetch(count, [&](size_t i) {
      return std::pair<TreeImpl*, std::string_view>(&tree, keys[begin + i]);
    });
    for (size_t i = begin; i < begin + count; ++i) {
      std::string value;
      const absl::Status read = transaction.Get(tree, keys[i], &value);
      if (read.ok()) {
        (*values)[i] = std::move(value);
      } else if (!absl::IsNotFound(read)) {
        return read;
      }
    }
  }
  return absl::OkStatus();
}

// Reads the pages of a part of a batch together. Without it each write would wait for its own page.
template <typename Operation>  // private to WriteBatch
void Announce(TransactionImpl& transaction, std::span<const Operation> part) {
  transaction.PrefetchToWrite(part.size(), [&](size_t i) {
    return std::pair<TreeImpl*, std::string_view>(transaction.Find(part[i].tree), part[i].key);
  });
}

template <typename Operation>  // private to WriteBatch
absl::Status WriteOne(TransactionImpl& transaction, const Operation& operation) {
  const absl::Status done =
      OnTree(transaction, operation.tree, [&](TransactionImpl&, TreeImpl& tree) {
        return operation.value ? transaction.Put(tree, operation.key, *operation.value)
                               : transaction.Delete(tree, operation.key);
      });
  return !operation.value && absl::IsNotFound(done) ? absl::OkStatus() : done;
}

}  // namespace

absl::Status Transaction::MultiGet(Tree tree, std::span<const std::string_view> keys,
                                   std::vector<std::optional<std::string>>* values) {
  if (impl_ == nullptr) return Refusal();
  if (values == nullptr) return NullOutput("vector that receives the values");
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, [&](TransactionImpl& transaction, TreeImpl& found) {
      return ReadKeys(transaction, found, keys, values);
    });
  });
}

absl::Status Database::Write(const WriteBatch& batch, const CommitOptions& commit) {
  const auto write_all = [&](TransactionImpl& transaction) -> absl::Status {
    const std::span<const WriteBatch::Operation> all = batch.operations_;
    for (size_t begin = 0; begin < all.size(); begin += KnownLeaves::kMaxAnnounced) {
      const auto part =
          all.subspan(begin, std::min(all.size() - begin, KnownLeaves::kMaxAnnounced));
      Announce(transaction, part);
      for (const WriteBatch::Operation& operation : part) {
        LATCHKEY_RETURN_IF_ERROR(WriteOne(transaction, operation));
      }
    }
    return absl::OkStatus();
  };
  return Guarded(*impl_, [&](DatabaseImpl& database) {
    return database.latencies().Measure(Timed::kWrite,
                                        [&] { return database.RunTransaction(write_all, commit); });
  });
}

absl::Status Database::MultiGet(Tree tree, std::span<const std::string_view> keys,
                                std::vector<std::optional<std::string>>* values) {
  if (values == nullptr) return NullOutput("vector that receives the values");
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, [&](TreeImpl& found) {
      return impl_->RunTransaction([&](TransactionImpl& transaction) {
        return ReadKeys(transaction, found, keys, values);
      });
    });
  });
}

absl::Status Database::RunTransaction(absl::FunctionRef<absl::Status(Transaction&)> body,
                                      const RunOptions& options) {
  Backoff backoff(ThreadRuntime());
  for (uint32_t attempt = 1;; ++attempt, impl_->PauseBeforeRetry(backoff)) {
    Transaction transaction = Begin(options.begin);
    LATCHKEY_RETURN_IF_ERROR(transaction.status());
    absl::Status done = body(transaction);
    if (done.ok()) done = transaction.Commit(options.commit);
    if (done.ok()) return done;
    const bool is_vain = transaction.is_vain_to_repeat();
    const absl::Status ended = transaction.Rollback();
    // It is over already if it was aborted.
    if (!ended.ok() && !absl::IsFailedPrecondition(ended)) return ended;
    if (!absl::IsAborted(done) || is_vain || attempt == options.most_attempts) return done;
    LATCHKEY_RETURN_IF_ERROR(impl_->identity().CheckOpen());
  }
}

absl::Status Database::Sync() {
  return Guarded(*impl_, [](DatabaseImpl& database) { return database.Sync(); });
}

absl::Status Database::RenameTree(std::string_view from, std::string_view to) {
  return GuardedWrite(*impl_,
                      [&](DatabaseImpl& database) { return database.RenameTree(from, to); });
}

absl::Status Database::DeleteRange(Tree tree, const KeyRange& range) {
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, [&](TreeImpl& found) -> absl::Status {
      LATCHKEY_RETURN_IF_ERROR(impl_->CheckWritable());
      return impl_->DeleteRange(found, range);
    });
  });
}

absl::Status Database::ClearTree(Tree tree) { return DeleteRange(tree, {}); }

// ---- BulkLoader

BulkLoader::BulkLoader(std::unique_ptr<BulkLoadImpl> impl) : impl_(std::move(impl)) {}
BulkLoader::~BulkLoader() = default;
absl::Status BulkLoader::Put(std::string_view key, std::string_view value) {
  return impl_->Put(key, value);
}
absl::StatusOr<Tree> BulkLoader::Finish() { return impl_->Finish(); }
uint64_t BulkLoader::records() const { return impl_->records(); }

absl::StatusOr<std::unique_ptr<BulkLoader>> Database::NewBulkLoader(
    std::string_view name, const BulkLoadOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<BulkLoader>> {
    LATCHKEY_RETURN_IF_ERROR(impl_->identity().CheckOpen());
    LATCHKEY_RETURN_IF_ERROR(impl_->CheckWritable());
    LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BulkLoadImpl> load,
                              impl_->NewBulkLoad(name, options));
    return std::unique_ptr<BulkLoader>(new BulkLoader(std::move(load)));
  });
}

// ---- Estimates

absl::StatusOr<uint64_t> Database::ApproximateCount(Tree tree, const KeyRange& range) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<uint64_t> {
    LATCHKEY_ASSIGN_OR_RETURN(const RangeEstimate estimate, impl_->Estimate(tree, range));
    return estimate.records;
  });
}

absl::StatusOr<uint64_t> Database::ApproximateBytes(Tree tree, const KeyRange& range) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<uint64_t> {
    LATCHKEY_ASSIGN_OR_RETURN(const RangeEstimate estimate, impl_->Estimate(tree, range));
    return estimate.bytes;
  });
}

}  // namespace latchkey
