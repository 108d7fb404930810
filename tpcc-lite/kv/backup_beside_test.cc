#include "tpcc-lite/kv/backup_beside.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "storage/base/testing/temp_dir.h"
#include "tpcc-lite/kv/kv_backends.h"

namespace latchkey::backup_beside_test {
namespace {

std::unique_ptr<KvBackend> OpenLatchkey(const std::string& path, Durability durability) {
  KvOptions options;
  options.path = path;
  options.cache_bytes = 8 << 20;
  options.durability = durability;
  options.tables = {"rows"};
  auto backend = OpenLatchkeyBackend(options);
  REQUIRE(backend.ok());
  return *std::move(backend);
}

TEST_CASE("Backups are made beside a run until it ends, and leave nothing") {
  TempDir dir;
  const auto backend = OpenLatchkey(dir.File("db"), Durability::kGroup);
  const auto session = backend->NewSession();
  REQUIRE(session.ok());
  uint64_t made = 0;
  for (int i = 0; made == 0; ++i) {  // until a backup has come to its end
    BackupBeside beside(*backend, dir.File("backups"), ThreadRuntime());
    beside.Begin();
    for (int k = 0; k < 200 << i; ++k) {
      REQUIRE((*session)->PutAuto(0, std::to_string(k), std::string(100, 'v')).ok());
    }
    const auto result = beside.End();
    REQUIRE(result.ok());
    made = result->finished;
    CHECK((made == 0) == (result->bytes == 0));
    CHECK_FALSE(std::filesystem::exists(dir.File("backups")));
  }
}

TEST_CASE("A backup beside a run that fails, fails the run") {
  TempDir dir;
  const auto backend = OpenLatchkey(dir.File("db"), Durability::kNone);
  BackupBeside beside(*backend, dir.File("backups"), ThreadRuntime());
  beside.Begin();
  // Without a log there are no backups; the first attempt has failed, or was never begun.
  const auto result = beside.End();
  CHECK((absl::IsFailedPrecondition(result.status()) || (result.ok() && result->finished == 0)));
}

}  // namespace
}  // namespace latchkey::backup_beside_test
