#include "tools/cli/db_open.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "engine/salvage/salvage.h"
#include "engine/testing/testing_database.h"
#include "layout/checkpoint/superblock.h"
#include "layout/separate/separator.h"
#include "storage/base/status_macros.h"
#include "storage/base/testing/temp_dir.h"

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

/// What a verb says that opens the database `path` for this use.
absl::Status StatusOfOpen(const std::string& path, DatabaseUse use) {
  Progress progress;
  DatabaseFlags flags;
  flags.path = path;
  return OpenDatabase(flags, use, progress).status();
}

/// The codes of the errors when verbs read the database `path`, write it, create it and salvage it.
std::set<absl::StatusCode> CodesOf(const TempDir& dir, const std::string& path) {
  std::set<absl::StatusCode> codes;
  for (const DatabaseUse use : {DatabaseUse::kRead, DatabaseUse::kWrite, DatabaseUse::kCreate}) {
    codes.insert(StatusOfOpen(path, use).code());
  }
  codes.insert(AboutDatabase(path, Salvage(path, dir.File("saved"), {}).status()).code());
  CHECK_FALSE(std::filesystem::exists(dir.File("saved")));
  return codes;
}

std::string DataFileOf(const std::string& path) { return path + "/data.lk"; }

/// Makes a database and closes it.
std::string SoundDatabase(const TempDir& dir) {
  const std::string path = dir.File("db");
  Progress progress;
  DatabaseFlags flags;
  flags.path = path;
  flags.durability = "commit";
  auto db = OpenDatabase(flags, DatabaseUse::kCreate, progress);
  REQUIRE_OK(db.status());
  REQUIRE_OK((*db)->Close());
  return path;
}

using Code = absl::StatusCode;

// The exit code was 1 for some of them, which is that of a failing device.
TEST_CASE("Every verb calls a foreign file in the place of a database a mistake of the user") {
  TempDir dir;
  std::string path = dir.File("foreign");
  SECTION("a file in place of the directory") { std::ofstream(path) << "text"; }
  SECTION("a large data file") {
    std::filesystem::create_directory(path);
    std::ofstream(DataFileOf(path)) << std::string(3 << 20, 'j');
  }
  SECTION("a small one") {
    std::filesystem::create_directory(path);
    std::ofstream(DataFileOf(path)) << std::string(10'000, 'j');
  }
  SECTION("one smaller than a block") {
    std::filesystem::create_directory(path);
    std::ofstream(DataFileOf(path)) << "text";
  }
  CHECK(CodesOf(dir, path) == std::set<Code>{Code::kInvalidArgument});
}

TEST_CASE("A database that lost its header is damaged, not foreign") {
  TempDir dir;
  const std::string path = SoundDatabase(dir);
  SECTION("the header is cut off") { std::filesystem::resize_file(DataFileOf(path), 65536); }
  SECTION("almost all is cut off") { std::filesystem::resize_file(DataFileOf(path), 5); }
  SECTION("all is cut off") { std::filesystem::resize_file(DataFileOf(path), 0); }
  SECTION("the header is overwritten, but the log lies beside") {
    std::fstream file(DataFileOf(path), std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(1 << 20, 'j');
  }
  SECTION("every superblock is damaged") {
    std::fstream file(DataFileOf(path), std::ios::in | std::ios::out | std::ios::binary);
    for (const uint64_t generation : {0, 1}) {
      for (const int copy : {0, 1}) {
        file.seekp(static_cast<std::streamoff>(SuperblockOffset(generation, copy)) + 100);
        file << "damage";
      }
    }
  }
  CHECK(StatusOfOpen(path, DatabaseUse::kRead).code() == Code::kDataLoss);
  CHECK(StatusOfOpen(path, DatabaseUse::kWrite).code() == Code::kDataLoss);
}

/// The cache size that a refusal asks for.
uint64_t EnoughIn(const absl::Status& refusal) {
  const std::string message(refusal.message()), before = ": give ";
  const size_t at = message.rfind(before);
  REQUIRE(at != std::string::npos);
  return std::stoull(message.substr(at + before.size()));
}

// It was refused, too: it did not count the layout and the log, and the share of the versions grows
// with the cache.
TEST_CASE("The cache size that a refusal names is accepted, in every layout") {
  for (const std::string& layout : Layouts().Names()) {
    for (const uint32_t page_size : {16384u, 32768u, 65536u}) {
      for (const Durability durability : {Durability::kNone, Durability::kCommit}) {
        CAPTURE(layout, page_size, static_cast<int>(durability));
        TempDir dir;
        const std::string path = dir.File("db");
        Options options;
        options.techniques.layout = layout;
        options.page_size = page_size;
        options.durability = durability;
        options.cache_bytes = 1 << 20;
        const absl::Status refusal = Database::Open(path, options).status();
        REQUIRE(absl::IsInvalidArgument(refusal));
        CHECK_FALSE(std::filesystem::exists(path));
        CAPTURE(std::string(refusal.message()));
        options.cache_bytes = EnoughIn(refusal);
        const auto db = Database::Open(path, options);
        REQUIRE_OK(db.status());
        REQUIRE_OK((*db)->Close());
      }
    }
  }
}

}  // namespace
}  // namespace latchkey::db_open_test
