// Dumps: the trees of a database with their records as one stream, as text or as binary blocks.
//
// TEXT, one item per line, keys and values escaped as in db_text.h:
//   latchkey-dump text 1
//   tree NAME                    the records below belong to this tree
//   =KEY<TAB>VALUE
//   check DIGEST                 of everything up to here, 16 hexadecimal digits
//   end TREES RECORDS DIGEST     the last line
//   Empty lines and lines that begin with # are skipped. After an edit by hand the digests and
//   counts no longer match: write - in their place.
//
// BINARY, integers little-endian:
//   HEADER   0  8  "LKDUMP\r\n"          the line break shows a file that was "converted" as text
//            8  4  version, 1
//           12  4  zero
//           16  8  XXH3-64 of bytes 0-16
//   BLOCK    0  4  payload size in bytes
//            4  4  kind: 1 tree, 2 records, 3 end
//            8  8  XXH3-64 of the payload, seeded with the block's number, kind and size
//           16  .  payload
//   tree: its name. records: { key size (4), value size (4), key, value }, at least one.
//   end: trees (8), records (8), digest (8); nothing follows.
//
// Both forms have the same digest. It covers names, keys and values in their order, so it
// identifies the content of a dump.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/cli/db_stream.h"

namespace latchkey {

enum class DumpForm { kText, kBinary };

/// The content of a dump, in numbers.
struct DumpSummary {
  uint64_t trees = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;  ///< of keys and values
  uint64_t digest = 0;

  void AddTree(std::string_view name);
  void AddRecord(std::string_view key, std::string_view value);
  bool operator==(const DumpSummary&) const = default;
};

/// Not thread-safe. Call Tree, then add its records; call Finish at the end.
class DumpWriter {
 public:
  virtual ~DumpWriter() = default;
  virtual absl::Status Tree(std::string_view name) = 0;
  virtual absl::Status Record(std::string_view key, std::string_view value) = 0;
  /// Writes the end and finishes the sink.
  virtual absl::Status Finish() = 0;
  const DumpSummary& summary() const { return summary_; }

 protected:
  DumpSummary summary_;
};

/// Writes the header into `sink` at once. `sink` outlives the writer.
absl::StatusOr<std::unique_ptr<DumpWriter>> NewDumpWriter(DumpForm form, ByteSink& sink);

/// Receives the content of a dump, in order. An error of a member ends the reading.
class DumpVisitor {
 public:
  virtual ~DumpVisitor() = default;
  virtual absl::Status OnTree(std::string_view name) = 0;
  virtual absl::Status OnRecord(std::string_view key, std::string_view value) = 0;
};

/// Reads a whole dump of either form. InvalidArgument: it is no dump, as its first bytes show.
/// DataLoss: the dump is malformed; the message names the line (text) or the byte (binary), and
/// content already passed to the visitor may be wrong. `position`
/// is called now and then with the bytes read so far.
absl::StatusOr<DumpSummary> ReadDump(ByteSource& source, DumpVisitor& visitor,
                                     absl::FunctionRef<absl::Status(uint64_t)> position);

}  // namespace latchkey
