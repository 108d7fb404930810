// For the tests of this folder: a small loaded database in memory, and its fingerprint.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "storage/base/hash.h"
#include "tpcc-lite/kv/memory_backend.h"
#include "tpcc-lite/workload/keys.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {

inline TpccConfig TinyConfig(uint32_t warehouses = 2, double scale = 0.01) {
  TpccConfig config;
  config.warehouses = warehouses;
  config.scale = scale;
  config.seed = 7;
  config.transactions = 400;
  return config;
}

inline std::unique_ptr<KvBackend> OpenEmpty() {
  KvOptions options;
  options.tables = TpccTableNames();
  auto backend = OpenMemoryBackend(options);
  REQUIRE(backend.ok());
  return *std::move(backend);
}

inline std::unique_ptr<KvBackend> OpenLoaded(const TpccConfig& config, uint32_t sessions = 1) {
  auto backend = OpenEmpty();
  TpccLoadOptions options;
  options.sessions = sessions;
  const absl::Status loaded = LoadTpcc(*backend, config, options);
  INFO(loaded.ToString());
  REQUIRE(loaded.ok());
  return backend;
}

/// Calls `visit(key, value)` for every row of a table.
template <typename Visit>
void ForEachRow(KvBackend& backend, TableIndex table, const Visit& visit) {
  auto session = backend.NewSession();
  REQUIRE(session.ok());
  REQUIRE((*session)->Begin().ok());
  const std::string end(8, '\xff');
  REQUIRE((*session)
              ->Scan(table, "", end, /*reverse=*/false,
                     [&visit](std::string_view key, std::string_view value) {
                       visit(key, value);
                       return true;
                     })
              .ok());
  REQUIRE((*session)->Commit().ok());
}

/// A hash of all keys and values of all tables.
inline uint64_t Fingerprint(KvBackend& backend) {
  uint64_t hash = 0;
  for (TableIndex table = 0; table < kTpccTables; ++table) {
    ForEachRow(backend, table, [&hash](std::string_view key, std::string_view value) {
      hash = Hash64(value, Hash64(key, hash));
    });
  }
  return hash;
}

inline uint64_t CountRows(KvBackend& backend, TableIndex table) {
  uint64_t rows = 0;
  ForEachRow(backend, table, [&rows](std::string_view, std::string_view) { ++rows; });
  return rows;
}

}  // namespace latchkey
