// Dumps: the trees of a database with their records as one stream, as text or as binary blocks.
//
// TEXT, one item a line, keys and values escaped as db_text.h says:
//   latchkey-dump text 1
//   tree NAME                    the records below belong to this tree
//   =KEY<TAB>VALUE
//   check DIGEST                 of everything up to here, 16 hexadecimal digits
//   end TREES RECORDS DIGEST     and then nothing
//   Empty lines and lines that begin with # are skipped. Who edits a dump by hand writes - for the
//   digests and counts that no longer hold.
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
// The digest is the same for both forms: it covers names, keys and values in their order, so it
// names the content of a dump.
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

/// What a dump holds.
struct DumpSummary {
  uint64_t trees = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;  ///< of keys and values
  uint64_t digest = 0;

  void AddTree(std::string_view name);
  void AddRecord(std::string_view key, std::string_view value);
  bool operator==(const DumpSummary&) const = default;
};

/// Not thread-safe. Tree, then its records; Finish at the end.
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

/// Writes the header at once into `sink`, which outlives the writer.
absl::StatusOr<std::unique_ptr<DumpWriter>> NewDumpWriter(DumpForm form, ByteSink& sink);

/// Told what a dump holds, in order. An error of either ends the reading.
class DumpVisitor {
 public:
  virtual ~DumpVisitor() = default;
  virtual absl::Status OnTree(std::string_view name) = 0;
  virtual absl::Status OnRecord(std::string_view key, std::string_view value) = 0;
};

/// Reads a whole dump of either form. DataLoss for a malformed one: the message names the line
/// (text) or the byte (binary). What the visitor was told before may then be wrong. `position` is
/// called now and then with the bytes read so far.
absl::StatusOr<DumpSummary> ReadDump(ByteSource& source, DumpVisitor& visitor,
                                     absl::FunctionRef<absl::Status(uint64_t)> position);

}  // namespace latchkey
