// NodeEditor::Builder: builds a page in separate memory, because the records may come from the page
// that the result then overwrites.
#pragma once

#include <memory>
#include <string_view>

#include "engine/btree/node.h"

namespace latchkey {

/// REQUIRES: records are added in key order, and fit. Install copies the result over a page.
class NodeEditor::Builder {
 public:
  /// The fences imply `fence_prefix_length` bytes of the page's prefix. Last writer and flags of
  /// the page come from `origin`. `scratch`: memory for a page, if the caller has some.
  Builder(const NodeView& origin, std::string_view prefix, uint32_t fence_prefix_length,
          uint64_t* scratch = nullptr);

  /// Adds records [begin, end) of `page`. REQUIRES: their keys begin with the new prefix.
  void AddRecords(const LatchedNodeView& page, uint32_t begin, uint32_t end);
  /// Adds one separator of an inner page.
  void AddSeparator(std::string_view separator, PageId child);
  void SetRightmost(PageId child) { node_.SetRightmost(child); }
  void SetWriterAndFlags(TxnId last_writer, uint8_t page_flags);
  /// Overwrites `page`, except that of its PageHeader only the type changes.
  void Install(NodeEditor* page) const;

 private:
  void AddShortened(const LatchedNodeView& page, uint32_t begin, uint32_t end, uint32_t old_prefix);
  void AddReencoded(const LatchedNodeView& page, uint32_t slot);

  std::unique_ptr<uint64_t[]> buffer_;  // nullptr = the caller's memory is used
  NodeEditor node_;
  uint32_t prefix_length_;
};

}  // namespace latchkey
