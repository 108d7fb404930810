// The list of KV backends: one line per backend, with its factory and the dimensions it has.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/kv/latchkey_backend.h"
#include "tpcc-lite/kv/memory_backend.h"

namespace latchkey {

// The rivals, one file each; which of them this build contains is decided by CMake.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbBackend(const KvOptions& options);
absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbPessimisticBackend(const KvOptions& options);
absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbPrefixesBackend(const KvOptions& options);
absl::StatusOr<std::unique_ptr<KvBackend>> OpenLmdbBackend(const KvOptions& options);

/// Which dimensions of an experiment a backend has. A sweep over one that it has not runs once and
/// shows it as null.
struct KvTraits {
  bool techniques = false;        ///< layout, cleaning, replacement, synchronisation, cleaners, ...
  bool memory_device = false;     ///< can keep its files in memory
  bool simulated_device = false;  ///< can run on simulated disks, in virtual time
  bool file_device = true;        ///< can keep its files on a disk, so that a load can be copied
  bool cache = true;              ///< cache_bytes bounds its memory
  bool page_size = true;          ///< KvOptions::page_size has a meaning
  bool durability = false;        ///< has a log: KvOptions::durability has a meaning
};

/// REQUIRES: `name` is a key of KvBackends().
const KvTraits& KvTraitsOf(std::string_view name);

}  // namespace latchkey
