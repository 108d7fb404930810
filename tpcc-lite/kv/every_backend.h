// For tests: every backend of this build with what it claims, and a place for its files.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/testing/temp_dir.h"
#include "tpcc-lite/kv/kv_backends.h"
#include "tpcc-lite/kv/memory_backend.h"

namespace latchkey {

/// How many transactions may be open at a time, by which sessions.
enum class Overlap {
  kNone,       ///< one: Begin waits for the other's end
  kOneWriter,  ///< any number of readers beside one writer, for whose end a second one waits
  kFull        ///< any; of two that write one key, one gets Aborted
};

struct BackendUnderTest {
  std::string name;
  KvBackendFactory open;
  Overlap overlap = Overlap::kFull;
  bool persistent = true;  ///< has its content again after Close and another open
};

inline std::ostream& operator<<(std::ostream& out, const BackendUnderTest& backend) {
  return out << backend.name;
}

/// KvBackends() and, whether or not the build offers it to users, the map in memory.
inline std::vector<BackendUnderTest> EveryBackend() {
  std::vector<BackendUnderTest> all;
  all.push_back({"memory", OpenMemoryBackend, Overlap::kNone, /*persistent=*/false});
  for (const auto& [name, open] : KvBackends()) {
    if (name == "memory") continue;
    const Overlap overlap = name == "lmdb" ? Overlap::kOneWriter : Overlap::kFull;
    all.push_back({name, open, overlap, /*persistent=*/true});
  }
  return all;
}

/// REQUIREs that the backend opens in `directory`.
inline std::unique_ptr<KvBackend> OpenIn(const BackendUnderTest& backend, const TempDir& directory,
                                         std::vector<std::string> tables) {
  KvOptions options;
  options.path = directory.File("db");
  options.tables = std::move(tables);
  options.cache_bytes = 32ull << 20;
  auto opened = backend.open(options);
  INFO(backend.name << ": " << opened.status().ToString());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

}  // namespace latchkey
