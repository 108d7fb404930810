#include "tpcc-lite/kv/kv_backends.h"

#include "storage/base/check.h"

namespace latchkey {
namespace {

struct Entry {
  const char* name;
  KvBackendFactory factory;
  KvTraits traits;
};

constexpr KvTraits kRival{.durability = true};

// One line per backend: its name on the command line, its factory, its dimensions.
constexpr Entry kEntries[] = {
#ifdef LATCHKEY_WITH_MEMORY
    {"memory",
     OpenMemoryBackend,
     {.memory_device = true, .file_device = false, .cache = false, .page_size = false}},
#endif
#ifdef LATCHKEY_WITH_ENGINE
    {"latchkey",
     OpenLatchkeyBackend,
     {.techniques = true, .memory_device = true, .simulated_device = true, .durability = true}},
#endif
#ifdef LATCHKEY_WITH_ROCKSDB
    {"rocksdb", OpenRocksDbBackend, kRival},
    {"rocksdb-pessimistic", OpenRocksDbPessimisticBackend, kRival},
    {"rocksdb-prefixes", OpenRocksDbPrefixesBackend, kRival},
#endif
#ifdef LATCHKEY_WITH_LMDB
    {"lmdb", OpenLmdbBackend, {.cache = false, .page_size = false}},
#endif
};

}  // namespace

const std::map<std::string, KvBackendFactory>& KvBackends() {
  static const auto* const backends = [] {
    auto* map = new std::map<std::string, KvBackendFactory>;
    for (const Entry& entry : kEntries) map->emplace(entry.name, entry.factory);
    return map;
  }();
  return *backends;
}

const KvTraits& KvTraitsOf(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (name == entry.name) return entry.traits;
  }
  LATCHKEY_CHECK(!"a known backend");
  return kRival;
}

}  // namespace latchkey
