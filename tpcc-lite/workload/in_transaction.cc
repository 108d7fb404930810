#include "tpcc-lite/workload/in_transaction.h"

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status Attempt(KvSession& session, absl::FunctionRef<absl::Status()> body) {
  LATCHKEY_RETURN_IF_ERROR(session.Begin());
  absl::Status status = body();
  if (status.ok()) return session.Commit();
  // Reports the first error. After Aborted there is nothing to roll back.
  if (!absl::IsAborted(status)) session.Rollback().IgnoreError();
  return status;
}

}  // namespace

absl::Status InTransaction(KvSession& session, absl::FunctionRef<absl::Status()> body,
                           Runtime& runtime) {
  Backoff backoff(runtime);
  while (true) {
    absl::Status status = Attempt(session, body);
    if (!absl::IsAborted(status)) return status;
    backoff.Pause();
  }
}

}  // namespace latchkey
