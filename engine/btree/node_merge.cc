// Uniting two neighbouring pages, and filling a leaf from the next one.
#include <algorithm>
#include <numeric>
#include <utility>

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

LatchedNodeView::Filling LatchedNodeView::FillingFrom(const LatchedNodeView& right,
                                                      const Fences& fences) const {
  LATCHKEY_CHECK(is_leaf() && right.is_leaf());
  const auto filling_of = [&](uint32_t records) {
    return Filling{records,
                   std::string(ShortestSeparator(right.KeyAt(records - 1), right.KeyAt(records)))};
  };
  const auto fits = [&](const Filling& filling) {
    const uint32_t prefix = FencePrefixLength(fences.lower, filling.separator);
    return RangeBytesWithPrefix(0, count(), prefix) +
               right.RangeBytesWithPrefix(0, filling.records, prefix) - prefix <=
           Capacity(page_size_);
  };
  Filling best;
  uint32_t too_many = right.count();  // at least one record stays
  while (best.records + 1 < too_many) {
    Filling middle = filling_of(std::midpoint(best.records, too_many));
    if (fits(middle)) {
      best = std::move(middle);
    } else {
      too_many = middle.records;
    }
  }
  return best;
}

void NodeEditor::FillFrom(NodeEditor right, const Filling& filling, const Fences& fences) {
  LATCHKEY_CHECK(right.page_size() == page_size_ && filling.records > 0 &&
                 filling.records < right.count());
  const std::string_view separator = filling.separator;
  const uint32_t prefix = FencePrefixLength(fences.lower, separator);
  Builder filled(*this, fences.lower.substr(0, prefix), prefix);
  filled.AddRecords(*this, 0, count());
  filled.AddRecords(right, 0, filling.records);
  filled.SetWriterAndFlags(std::max(last_writer(), right.last_writer()),
                           page_flags() | right.page_flags());
  const Builder rest = right.MakeHalf(filling.records, right.count(), {separator, fences.upper});
  rest.Install(&right);
  filled.Install(this);
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
