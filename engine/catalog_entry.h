// A tree's entry in the catalogue: the value of the record whose key is the tree's name.
//
//   OFFSET SIZE  FIELD
//        0    4  tree id
//        4    8  root page
//   since version 4 of the client root:
//       12    1  flags: 1 = leaves may name overflow chains
//
// An entry without flags is older: its leaves may name chains.
//
// Thread-safety: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/base/ids.h"

namespace latchkey {

struct CatalogEntry {
  TreeId tree{0};
  PageId root = kInvalidPageId;
  /// False: no leaf has ever named an overflow chain, so pages can be freed without reading leaves.
  bool may_name_chains = true;
};

std::string EncodeCatalogEntry(const CatalogEntry& entry);

/// nullopt = not an entry of a catalogue.
std::optional<CatalogEntry> DecodeCatalogEntry(std::string_view bytes);

}  // namespace latchkey
