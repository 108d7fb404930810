#include "tpcc-lite/kv/kv_backends.h"

#include <fmt/format.h>

#include "storage/base/check.h"

namespace latchkey {
namespace {

#ifdef LATCHKEY_WITH_ROCKSDB
constexpr KvTraits kRocksDb{.compression = true,
                            .commit_durability = true,
                            .group_durability = true,
                            .torn_write_protection = "append-only"};
#endif

// One line per backend: its name on the command line, its factory, its dimensions.
constexpr KvBackendInfo kBackends[] = {
#ifdef LATCHKEY_WITH_MEMORY
    {{"memory", "a map in memory, for tests", {}},
     OpenMemoryBackend,
     {.memory_device = true,
      .file_device = false,
      .cache = false,
      .page_size = false,
      .held_snapshots = false,
      .durability_limits = "keeps nothing after its process has ended"}},
#endif
#ifdef LATCHKEY_WITH_ENGINE
    {{"latchkey", "this engine", {}},
     OpenLatchkeyBackend,
     {.techniques = true,
      .memory_device = true,
      .simulated_device = true,
      .compression = true,
      .hot_backups = true,
      .commit_durability = true,
      .group_durability = true}},
#endif
#ifdef LATCHKEY_WITH_ROCKSDB
    {{"rocksdb", "OptimisticTransactionDB", {}}, OpenRocksDbBackend, kRocksDb},
    {{"rocksdb-pessimistic", "TransactionDB, which locks", {}},
     OpenRocksDbPessimisticBackend,
     kRocksDb},
    {{"rocksdb-prefixes", "one column family, tables as key prefixes", {}},
     OpenRocksDbPrefixesBackend,
     kRocksDb},
#endif
#ifdef LATCHKEY_WITH_LMDB
    {{"lmdb", "a copy-on-write B+tree in a memory map", {}},
     OpenLmdbBackend,
     {.cache = false,
      .page_size = false,
      .commit_durability = true,
      .durability_limits = "has no log in which commits could wait for a later sync",
      .torn_write_protection = "copy-on-write"}},
#endif
#ifdef LATCHKEY_WITH_WIREDTIGER
    {{"wiredtiger", "a B+tree that replaces its blocks at checkpoints", {}},
     OpenWiredTigerBackend,
     {.commit_durability = true,
      .group_durability = true,
      .torn_write_protection = "copy-on-write"}},
#endif
};

// The engines that CMake may leave out of a build, with the package and the option of each.
constexpr struct {
  std::string_view name, package, option;
} kOptional[] = {
    {"rocksdb", "librocksdb-dev", "LATCHKEY_WITH_ROCKSDB"},
    {"rocksdb-pessimistic", "librocksdb-dev", "LATCHKEY_WITH_ROCKSDB"},
    {"rocksdb-prefixes", "librocksdb-dev", "LATCHKEY_WITH_ROCKSDB"},
    {"lmdb", "liblmdb-dev", "LATCHKEY_WITH_LMDB"},
    {"wiredtiger", "libwiredtiger-dev", "LATCHKEY_WITH_WIREDTIGER"},
};

}  // namespace

std::string HowToBuildWith(std::string_view name) {
  for (const auto& engine : kOptional) {
    if (engine.name != name) continue;
    return fmt::format(
        "install the package {} (apt-get install {}), then run cmake --preset release -D{}=ON and "
        "build again",
        engine.package, engine.package, engine.option);
  }
  return "";
}

const Registry<KvBackendInfo>& KvBackends() {
  static constexpr Registry<KvBackendInfo> registry("engine", kBackends);
  return registry;
}

const KvTraits& KvTraitsOf(std::string_view name) {
  const KvBackendInfo* const backend = KvBackends().Find(name);
  LATCHKEY_CHECK(backend != nullptr);
  return backend->traits;
}

std::vector<std::string> RivalVersions() {
  std::vector<std::string> versions;
#ifdef LATCHKEY_WITH_ROCKSDB
  versions.push_back(RocksDbVersion());
#endif
#ifdef LATCHKEY_WITH_LMDB
  versions.push_back(LmdbVersion());
#endif
#ifdef LATCHKEY_WITH_WIREDTIGER
  versions.push_back(WiredTigerVersion());
#endif
  return versions;
}

}  // namespace latchkey
