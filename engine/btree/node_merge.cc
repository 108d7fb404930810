// Uniting two neighbouring pages.
#include <algorithm>

#include "engine/btree/node.h"
#include "engine/btree/node_builder.h"
#include "engine/btree/node_key.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"

namespace latchkey {

using namespace node_format;  // NOLINT(build/namespaces): the field names of this page

/// As PrefixOfRange, for all records of this page and `right` and, in inner pages, the separator
/// between.
std::string LatchedNodeView::PrefixOfUnion(const LatchedNodeView& right, std::string_view separator,
                                           const Fences& fences) const {
  if (is_leaf()) return PrefixOfRange(0, 0, fences);
  std::string first = count() > 0 ? KeyAt(0) : std::string(separator);
  const std::string last =
      right.count() > 0 ? right.KeyAt(right.count() - 1) : std::string(separator);
  first.resize(CommonPrefixLength(first, last));
  return first;
}

bool LatchedNodeView::UnionFits(const LatchedNodeView& right, std::string_view separator,
                                size_t prefix_size) const {
  const auto prefix = static_cast<uint32_t>(prefix_size);
  uint32_t bytes = RangeBytesWithPrefix(0, count(), prefix) +
                   right.RangeBytesWithPrefix(0, right.count(), prefix) - prefix;
  if (!is_leaf()) bytes += FootprintOf(static_cast<uint32_t>(separator.size()) - prefix, 0);
  return bytes <= Capacity(page_size_);
}

bool LatchedNodeView::CanMergeWith(LatchedNodeView right, std::string_view separator,
                                   const Fences& fences) const {
  return UnionFits(right, separator, PrefixOfUnion(right, separator, fences).size());
}

bool NodeEditor::MergeFrom(LatchedNodeView right, std::string_view separator,
                           const Fences& fences) {
  LATCHKEY_CHECK(right.page_size() == page_size_ && right.level() == level());
  const std::string prefix = PrefixOfUnion(right, separator, fences);
  if (!UnionFits(right, separator, prefix.size())) return false;

  Builder united(*this, prefix, FencePrefixLength(fences.lower, fences.upper));
  united.AddRecords(*this, 0, count());
  if (!is_leaf()) united.AddSeparator(separator, Child(count()));
  const uint32_t lost = LATCHKEY_CANARY("merge-loses-a-record") && right.count() > 0 ? 1 : 0;
  united.AddRecords(right, 0, right.count() - lost);
  if (!is_leaf()) united.SetRightmost(right.Child(right.count()));
  united.SetWriterAndFlags(std::max(last_writer(), right.last_writer()),
                           page_flags() | right.page_flags());
  united.Install(this);
  return true;
}

}  // namespace latchkey
