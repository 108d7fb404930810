// lk_run: a function of C in a transaction that is repeated.
#include <string>
#include <utility>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

lk_code ReadRunOptions(const lk_run_options* given, RunOptions* options, lk_error* error) {
  lk_run_options known = LK_RUN_OPTIONS_INIT;
  lk_code read = ReadStruct(given, "lk_run_options", &known, error);
  if (read == LK_OK) read = ReadIsolation(known.isolation, &options->begin.isolation, error);
  if (read == LK_OK) read = ReadDurability(known.durability, &options->commit.durability, error);
  options->begin.read_only = known.read_only != 0;
  options->most_attempts = known.most_attempts;
  return read;
}

/// The caller's function as the engine calls it.
class Body {
 public:
  Body(lk_txn_body function, void* context) : function_(function), context_(context) {}

  /// The function gets a handle that lasts for this call. What it ended by itself is refused.
  absl::Status operator()(Transaction& transaction) {
    lk_error error = LK_ERROR_INIT;
    lk_txn handle;
    code_ = MakeHandle(transactions, "transaction", &handle.id, &error, std::move(transaction));
    if (code_ != LK_OK) return StatusOf(error);
    code_ = function_(context_, handle, &error);
    Transaction* const taken = transactions.Take(handle.id);
    if (taken == nullptr) {
      code_ = LK_FAILED_PRECONDITION;
      return absl::FailedPreconditionError(
          "the body of lk_run ended its transaction: return LK_OK to commit, any other code to "
          "roll "
          "back");
    }
    transaction = std::move(*taken);
    transactions.Destroy(handle.id);
    return code_ == LK_OK ? absl::OkStatus() : StatusOf(error);
  }

  /// What the last call returned.
  lk_code code() const { return code_; }

 private:
  // A code of the caller's own is none of absl's: it only ends the loop here, and lk_run returns it.
  absl::Status StatusOf(const lk_error& error) const {
    const char* const message = error.code == code_ ? error.message : "";
    const bool is_aborted = code_ == LK_ABORTED;
    return {is_aborted ? absl::StatusCode::kAborted : absl::StatusCode::kUnknown, message};
  }

  lk_txn_body function_;
  void* context_;
  lk_code code_ = LK_OK;
};

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_run(lk_db db, const lk_run_options* options, lk_txn_body body, void* context,
               lk_error* error) {
  if (body == nullptr) return FailNull(error, "body");
  return WithDatabase(db, error, [&](Database& database) {
    RunOptions run;
    const lk_code read = ReadRunOptions(options, &run, error);
    if (read != LK_OK) return read;
    Body function(body, context);
    const absl::Status done = database.RunTransaction(
        [&](Transaction& transaction) { return function(transaction); }, run);
    if (!absl::IsUnknown(done) || function.code() == LK_OK) return Report(error, done);
    const absl::string_view message = done.message();
    return Fail(error, function.code(), {message.data(), message.size()});
  });
}

}  // extern "C"
