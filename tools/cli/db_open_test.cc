#include "tools/cli/db_open.h"

#include <catch2/catch.hpp>
#include <string>

#include "storage/base/status_macros.h"

namespace latchkey::db_open_test {
namespace {

TEST_CASE("Damage that any verb meets names the database and the way to save the rest") {
  const absl::Status damage = absl::DataLossError("page 7 fails its checksum");
  CHECK(std::string(AboutDatabase("/data/db", damage).message()) ==
        "/data/db: page 7 fails its checksum; restore a backup, or save the intact records with "
        "latchkey salvage /data/db OUT");
  const absl::Status told = absl::DataLossError("/data/db: no log; restore a backup or salvage");
  CHECK(AboutDatabase("/data/db", told) == told);
  const absl::Status full = absl::ResourceExhaustedError("no space");
  CHECK(std::string(AboutDatabase("/data/db", full).message()) == "/data/db: no space");
  CHECK(AboutDatabase("/data/db", absl::OkStatus()).ok());
}

}  // namespace
}  // namespace latchkey::db_open_test
