// For tests: every backend of this build with its properties, and a place for its files.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/testing/temp_dir.h"
#include "tpcc-lite/kv/kv_backends.h"
#include "tpcc-lite/kv/memory_backend.h"

namespace latchkey {

/// How many transactions may be open at a time, and in which sessions.
enum class Overlap {
  kNone,       ///< one: Begin waits for the other's end
  kOneWriter,  ///< any number of readers beside one writer; a second writer waits for the first
  kFull        ///< any; if two write one key, one gets Aborted
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

/// KvBackends() and the map in memory, even if the build does not offer it to users.
inline std::vector<BackendUnderTest> EveryBackend() {
  std::vector<BackendUnderTest> all;
  all.push_back({"memory", OpenMemoryBackend, Overlap::kNone, /*persistent=*/false});
  for (const KvBackendInfo& backend : KvBackends()) {
    const std::string name(backend.description.name);
    if (name == "memory") continue;
    const Overlap overlap = name == "lmdb" ? Overlap::kOneWriter : Overlap::kFull;
    all.push_back({name, backend.open, overlap, /*persistent=*/true});
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
