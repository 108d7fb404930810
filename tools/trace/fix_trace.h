// Traces of the fixes of a run (thesis 3.2.2, Table 3.3), as files.
//
// FORMAT. The 8 bytes "LKFIXES1", then blocks without gaps, then the end of the file. Integers are
// little-endian. The file may be compressed by zstd as a whole; its first bytes tell.
//
//   BLOCK: OFFSET SIZE  FIELD
//               0    4  kind: 'H', 'F' or 'E'
//               4    4  size n of the content, at most 1 MiB
//               8    8  XXH3-64 of kind, size and content, seeded with the block's position
//              16    n  content
//
// The first block is H, JSON: {"page_size", "trees": [{"root", "name", "secondary"}], "settings"}.
// The last one is E, JSON: {"records", "limited", "totals"}. Settings and totals are whatever the
// recording program writes there. The blocks between them are F: the records of one actor.
//
//   F: the actor (varint), then its records:
//      1 byte: bits 0-2 kind (FixKind), bit 3 missed, bits 4-5 page type (0: neither tree nor
//              overflow page), bit 6 the next byte is there, bit 7 zero
//      1 byte: number of the tree in H, from 0; 255: a tree that H does not list. Where it is
//              missing, it is that of the record before; at the beginning of a block, 255.
//      varint: page id - the page id of the record before (zigzag; at the beginning of a block - 0)
//      varint: sequence number - that of the record before - 1 (at the beginning: the number)
//   varint: 7 bits a byte, the lowest first; bit 7 is set where another byte follows.
//
// The sequence numbers of all actors together are 0, 1, 2, ... without gaps: the order of time. A
// file that lacks a block or has one twice is thereby refused.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/fix_recorder.h"
#include "storage/page_format.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {

/// A tree of which fixes are recorded.
struct TracedTree {
  PageId root = kInvalidPageId;
  std::string name;
  bool secondary = false;  ///< an index beside the table that has the rows
};
inline constexpr size_t kMaxTracedTrees = 255;

struct FixTraceHeader {
  uint32_t page_size = 0;
  std::vector<TracedTree> trees;  ///< at most kMaxTracedTrees
  Json settings = Json::object();
};

/// One record. Pages, actors and trees as in the file.
struct FixRecord {
  uint32_t page = 0;
  uint16_t actor = 0;
  uint8_t tree = kOtherTree;
  uint8_t kind_bits : 3 = 0;
  uint8_t missed : 1 = 0;
  uint8_t type_bits : 2 = 0;
  uint8_t present : 1 = 0;  ///< used while the file is read

  static constexpr uint8_t kOtherTree = 255;
  FixKind kind() const { return static_cast<FixKind>(kind_bits); }
  bool is_fix() const { return IsFix(kind()); }
  PageType type() const { return static_cast<PageType>(type_bits); }
};
static_assert(sizeof(FixRecord) == 8);

/// A trace in memory: 8 bytes a record, in the order of time.
struct FixTrace {
  FixTraceHeader header;
  /// A new page has the type and the tree that its later records show.
  std::vector<FixRecord> records;
  bool limited = false;  ///< the run had more records than its limit allowed
  Json totals = Json::object();
};

inline constexpr std::string_view kFixTraceMagic = "LKFIXES1";

/// Decodes a trace whose bytes come in any portions.
class FixTraceDecoder {
 public:
  /// `path` is for messages.
  explicit FixTraceDecoder(std::string path);
  ~FixTraceDecoder();
  /// InvalidArgument: the bytes are damaged; the message has their position.
  absl::Status Add(std::string_view bytes);
  /// InvalidArgument: the trace is truncated; the message has the position.
  absl::StatusOr<FixTrace> Finish() &&;

 private:
  class Decoding;
  std::unique_ptr<Decoding> decoding_;
};

/// Reads the trace in `path`, plain or compressed; "-" is stdin. NotFound or another error of the
/// system: the file cannot be read. Cancelled: the user asked the program to stop. InvalidArgument:
/// it is no trace of fixes, is damaged or truncated; the message has the position and the reason.
absl::StatusOr<FixTrace> ReadFixTrace(const std::string& path);

}  // namespace latchkey
