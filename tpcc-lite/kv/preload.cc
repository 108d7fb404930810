#include "tpcc-lite/kv/preload.h"

#include <memory>
#include <string>
#include <string_view>

#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status PreloadCache(KvBackend& backend, size_t tables) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvSession> session, backend.NewSession());
  const std::string beyond_all_keys(64, '\xff');
  LATCHKEY_RETURN_IF_ERROR(session->Begin());
  for (TableIndex table = 0; table < tables; ++table) {
    LATCHKEY_RETURN_IF_ERROR(
        session->Scan(table, "", beyond_all_keys, /*reverse=*/false,
                      [](std::string_view, std::string_view) { return true; }));
  }
  return session->Commit();
}

}  // namespace latchkey
