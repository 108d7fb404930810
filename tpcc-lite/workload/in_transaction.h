// Runs one piece of work as a transaction, and repeats it after conflicts.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Begin, `body`, Commit. After Aborted it starts again, with a back-off. Any other error rolls
/// back and is returned. `body` may run several times. For slow paths only: the users have their
/// own loop.
absl::Status InTransaction(KvSession& session, absl::FunctionRef<absl::Status()> body,
                           Runtime& runtime = ThreadRuntime());

}  // namespace latchkey
