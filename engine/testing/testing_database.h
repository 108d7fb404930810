// Databases for tests, in memory or in a TempDir.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "engine/latchkey.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey {

/// A small cache, and waits for locks that end soon.
inline Options ImpatientOptions(Durability durability) {
  Options options;
  options.durability = durability;
  options.cache_bytes = 8 << 20;
  options.lock_wait_ms = 50;
  return options;
}

inline std::unique_ptr<Database> OpenOrFail(const std::string& path, const Options& options) {
  absl::StatusOr<std::unique_ptr<Database>> db = Database::Open(path, options);
  if (!db.ok()) FAIL(db.status().message());
  return *std::move(db);
}

inline std::unique_ptr<Database> OpenInMemory(Options options = {}) {
  options.in_memory_device = true;
  return OpenOrFail("test", options);
}

inline Tree TreeOrFail(Database& db, std::string_view name) {
  absl::StatusOr<Tree> tree = db.OpenTree(name);
  if (!tree.ok()) FAIL(tree.status().message());
  return *tree;
}

#define REQUIRE_OK(expression)                           \
  do {                                                   \
    const absl::Status require_ok_status = (expression); \
    INFO(require_ok_status.message());                   \
    REQUIRE(require_ok_status.ok());                     \
  } while (false)

}  // namespace latchkey
