// One piece of work as a transaction of its own, run again after conflicts.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Begin, `body`, Commit. Aborted starts over after a back-off; any other error rolls back and is
/// returned. `body` may run several times. For the slow paths: the users have their own loop.
absl::Status InTransaction(KvSession& session, absl::FunctionRef<absl::Status()> body,
                           Runtime& runtime = ThreadRuntime());

}  // namespace latchkey
