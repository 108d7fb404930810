// The list of KV backends: Latchkey and its rivals, with the dimensions that each has.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/base/registry.h"
#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/kv/latchkey_backend.h"
#include "tpcc-lite/kv/memory_backend.h"

namespace latchkey {

// The rivals, one file each. CMake decides which of them a build contains.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbBackend(const KvOptions& options);
absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbPessimisticBackend(const KvOptions& options);
absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbPrefixesBackend(const KvOptions& options);
absl::StatusOr<std::unique_ptr<KvBackend>> OpenLmdbBackend(const KvOptions& options);
absl::StatusOr<std::unique_ptr<KvBackend>> OpenWiredTigerBackend(const KvOptions& options);

/// The dimensions of an experiment that a backend has. A sweep over another dimension runs once and
/// shows null.
struct KvTraits {
  bool techniques = false;        ///< layout, cleaning, replacement, synchronisation, cleaners, ...
  bool memory_device = false;     ///< can keep its files in memory
  bool simulated_device = false;  ///< can run on simulated disks, in virtual time
  bool file_device = true;        ///< can keep its files on a disk, so that a load can be copied
  bool cache = true;              ///< cache_bytes bounds its memory
  bool page_size = true;          ///< KvOptions::page_size has a meaning
  bool compression = false;       ///< Techniques::page_compression has a meaning
  bool held_snapshots = true;     ///< writers go on beside a transaction that stays open
  bool hot_backups = false;       ///< KvBackend::BackUp, with a log
  bool commit_durability = false;  ///< can make a commit durable before it returns
  bool group_durability = false;   ///< can make commits durable together, a bounded time later
  /// Why the backend lacks a durability; follows "--durability=group: lmdb ...".
  std::string_view durability_limits = "";
  /// How the backend protects its pages from torn writes if its durability is not none. Latchkey's
  /// protection is an option, see KvOptions::torn_write_protection.
  std::string_view torn_write_protection = "none";

  bool Offers(Durability durability) const {
    if (durability == Durability::kNone) return true;
    return durability == Durability::kCommit ? commit_durability : group_durability;
  }
};

/// The libraries of the rivals in this build: "RocksDB 7.8.3 (with assertions)", "LMDB 0.9.24".
std::vector<std::string> RivalVersions();
std::string RocksDbVersion();
std::string LmdbVersion();
std::string WiredTigerVersion();

/// One backend of the list.
struct KvBackendInfo {
  ChoiceDescription description;
  KvBackendFactory open;
  KvTraits traits;
};

/// The backends that this build contains. To add one: its file, its line in kv_backends.cc.
const Registry<KvBackendInfo>& KvBackends();

/// How to get a build with the engine; empty if no build has an engine of this name.
std::string HowToBuildWith(std::string_view name);

/// REQUIRES: `name` is one of KvBackends().
const KvTraits& KvTraitsOf(std::string_view name);

}  // namespace latchkey
