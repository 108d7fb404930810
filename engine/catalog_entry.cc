#include "engine/catalog_entry.h"

#include <cstdint>
#include <cstring>

namespace latchkey {
namespace {

constexpr size_t kRoot = 4, kFlags = 12, kSize = 13;
constexpr size_t kSizeWithoutFlags = kFlags;
constexpr char kMayNameChains = 1;

}  // namespace

std::string EncodeCatalogEntry(const CatalogEntry& entry) {
  std::string bytes(kSize, '\0');
  const uint32_t tree = Raw(entry.tree);
  const uint64_t root = Raw(entry.root);
  std::memcpy(bytes.data(), &tree, sizeof(tree));
  std::memcpy(bytes.data() + kRoot, &root, sizeof(root));
  bytes[kFlags] = entry.may_name_chains ? kMayNameChains : '\0';
  return bytes;
}

std::optional<CatalogEntry> DecodeCatalogEntry(std::string_view bytes) {
  if (bytes.size() != kSize && bytes.size() != kSizeWithoutFlags) return std::nullopt;
  const bool has_flags = bytes.size() == kSize;
  if (has_flags && (bytes[kFlags] & ~kMayNameChains) != 0) return std::nullopt;
  uint32_t tree = 0;
  uint64_t root = 0;
  std::memcpy(&tree, bytes.data(), sizeof(tree));
  std::memcpy(&root, bytes.data() + kRoot, sizeof(root));
  return CatalogEntry{.tree = TreeId{tree},
                      .root = PageId{root},
                      .may_name_chains = !has_flags || bytes[kFlags] == kMayNameChains};
}

}  // namespace latchkey
