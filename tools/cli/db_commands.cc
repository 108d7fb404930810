#include "tools/cli/db_commands.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/cli/db_stream.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/signals.h"
#include "tools/cli/watch_command.h"

namespace latchkey {
namespace {

absl::Status Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return absl::OkStatus();
  return FileFailure("write to", "stdout", errno);
}

absl::Status FlushOutput() {
  if (std::fflush(stdout) == 0) return absl::OkStatus();
  return FileFailure("write to", "stdout", errno);
}

/// `result` ("; nothing was deleted") follows the tree's name.
absl::Status NoKey(const Database& db, const RecordCommandFlags& flags, const std::string& key,
                   std::string_view result) {
  const std::string tree = flags.tree.empty() ? db.ListTrees().front() : flags.tree;
  return MakeStatus(absl::StatusCode::kNotFound,
                    "no key \"{}\" in tree \"{}\"{}; scan lists the keys, --tree names another "
                    "tree, {}",
                    key, ToText(tree, TextForm::kEscaped), result,
                    flags.hex ? "without --hex the key is read as text"
                              : "with --hex the key is read as hexadecimal digits");
}

absl::StatusOr<std::string> ParseFlag(const char* what, const std::string& text, TextForm form) {
  absl::StatusOr<std::string> bytes = FromText(text, form);
  if (bytes.ok()) return bytes;
  return InvalidArgument("{} \"{}\": {}", what, text, std::string(bytes.status().message()));
}

/// Opens, runs `body(db)`, closes.
template <typename Body>
absl::Status WithDatabase(const DatabaseFlags& flags, DatabaseUse use, Body&& body) {
  Progress progress;
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db, OpenDatabase(flags, use, progress));
  return CloseAfter(*db, AboutDatabase(flags.path, body(*db)));
}

constexpr size_t kPart = 1 << 20;  // of a value that is read or written in parts, bytes

absl::Status PrintInParts(Transaction& transaction, Tree tree, const std::string& key) {
  std::string part;
  uint64_t at = 0, size = 0;
  do {
    LATCHKEY_RETURN_IF_ERROR(transaction.GetPart(tree, key, at, kPart, &part, &size));
    LATCHKEY_RETURN_IF_ERROR(Print(part));
    at += part.size();
  } while (at < size);
  return absl::OkStatus();
}

absl::Status Get(const GetFlags& flags) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::string key, ParseFlag("key", flags.key, flags.form()));
  return WithDatabase(flags.db, DatabaseUse::kRead, [&](Database& db) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, PickTree(db, flags.tree, /*create=*/false));
    Transaction transaction = db.Begin({.read_only = true});
    std::string value;
    const absl::Status got =
        flags.raw ? PrintInParts(transaction, tree, key) : transaction.Get(tree, key, &value);
    if (absl::IsNotFound(got)) return NoKey(db, flags, flags.key, "");
    LATCHKEY_RETURN_IF_ERROR(got);
    if (!flags.raw) LATCHKEY_RETURN_IF_ERROR(Print(ToText(value, flags.form()) + '\n'));
    return FlushOutput();
  });
}

/// Puts what `source` holds, in parts: the value may be larger than the memory.
absl::Status PutFrom(ByteSource& source, Transaction& transaction, Tree tree,
                     const std::string& key) {
  ValueWriter writer = transaction.PutInParts(tree, key);
  LATCHKEY_RETURN_IF_ERROR(writer.status());
  std::string part(kPart, '\0');
  for (;;) {
    LATCHKEY_ASSIGN_OR_RETURN(const size_t size, source.Read(part.data(), part.size()));
    if (size == 0) return writer.Finish();
    LATCHKEY_RETURN_IF_ERROR(writer.Append(std::string_view(part).substr(0, size)));
  }
}

absl::Status PutFile(const PutFlags& flags, const std::string& key) {
  std::error_code error;  // the size of a pipe or a device is known only once it has been read
  const uint64_t bytes = std::filesystem::file_size(flags.value_file, error);
  if (flags.value_file != "-" && !error && bytes > Database::kMaxValueSize) {
    return InvalidArgument(
        "--value-file={}: it has {} bytes, a value at most {}; nothing was written",
        flags.value_file, bytes, Database::kMaxValueSize);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source,
                            OpenFileSource(flags.value_file));
  return WithDatabase(flags.db, DatabaseUse::kCreate, [&](Database& db) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, PickTree(db, flags.tree, /*create=*/true));
    Transaction transaction = db.Begin();
    const absl::Status put = PutFrom(*source, transaction, tree, key);
    if (absl::IsInvalidArgument(put)) {
      return InvalidArgument("--value-file={}: {}", flags.value_file, std::string(put.message()));
    }
    LATCHKEY_RETURN_IF_ERROR(put);
    return transaction.Commit();
  });
}

absl::Status Put(const PutFlags& flags) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::string key, ParseFlag("key", flags.key, flags.form()));
  if (flags.has_value && !flags.value_file.empty()) {
    return InvalidArgument("a value and --value-file={} were both given: give only one of them",
                           flags.value_file);
  }
  if (!flags.has_value && flags.value_file.empty()) {
    return InvalidArgument("neither a value nor --value-file was given: give one of them");
  }
  if (!flags.has_value) return PutFile(flags, key);
  LATCHKEY_ASSIGN_OR_RETURN(const std::string value, ParseFlag("value", flags.value, flags.form()));
  return WithDatabase(flags.db, DatabaseUse::kCreate, [&](Database& db) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, PickTree(db, flags.tree, /*create=*/true));
    return db.Put(tree, key, value);
  });
}

absl::StatusOr<KeyRange> RangeOf(const RangeFlags& flags) {
  KeyRange range;
  if (flags.has_from) {
    LATCHKEY_ASSIGN_OR_RETURN(range.from, ParseFlag("--from", flags.from, flags.form()));
  }
  if (flags.has_to) {
    LATCHKEY_ASSIGN_OR_RETURN(range.to, ParseFlag("--to", flags.to, flags.form()));
  }
  if (range.from && range.to && *range.to < *range.from) {
    return InvalidArgument("--from={} --to={}: the range ends before it begins; exchange the two",
                           flags.from, flags.to);
  }
  return range;
}

absl::Status DelRange(const DelFlags& flags) {
  LATCHKEY_ASSIGN_OR_RETURN(const KeyRange range, RangeOf(flags));
  return WithDatabase(flags.db, DatabaseUse::kWrite, [&](Database& db) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, PickTree(db, flags.tree, /*create=*/false));
    return db.DeleteRange(tree, range);
  });
}

absl::Status Del(const DelFlags& flags) {
  const bool has_range = flags.has_from || flags.has_to;
  if (has_range && !flags.keys.empty()) {
    return InvalidArgument("keys and a range were both given: give only one of them");
  }
  if (has_range) return DelRange(flags);
  if (flags.keys.empty()) {
    return InvalidArgument(
        "neither keys nor a range were given: give keys, or --from and --to, of which one may be left out");
  }
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const std::string& text : flags.keys) {
    LATCHKEY_ASSIGN_OR_RETURN(std::string key, ParseFlag("key", text, flags.form()));
    if (!seen.insert(key).second) {
      return InvalidArgument("the key \"{}\" was given twice: give it once; nothing was deleted",
                             text);
    }
    keys.push_back(std::move(key));
  }
  return WithDatabase(flags.db, DatabaseUse::kWrite, [&](Database& db) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, PickTree(db, flags.tree, /*create=*/false));
    Transaction transaction = db.Begin();
    for (size_t i = 0; i < keys.size(); ++i) {
      const absl::Status deleted = transaction.Delete(tree, keys[i]);
      if (absl::IsNotFound(deleted)) {
        return NoKey(db, flags, flags.keys[i], "; nothing was deleted");
      }
      LATCHKEY_RETURN_IF_ERROR(deleted);
    }
    return transaction.Commit();
  });
}

absl::Status PrintRecords(Cursor& cursor, const ScanFlags& flags, uint64_t limit) {
  flags.reverse ? cursor.SeekToLast() : cursor.SeekToFirst();
  std::string line;
  for (uint64_t n = 0; n < limit && cursor.Valid(); ++n) {
    if (StopRequested().load(std::memory_order_relaxed)) {
      return MakeStatus(absl::StatusCode::kCancelled,
                        "interrupted after {} records: {} with the last key printed continues", n,
                        flags.reverse ? "--to" : "--from");
    }
    line = ToText(cursor.key(), flags.form());
    if (!flags.keys_only) line += '\t' + ToText(cursor.value(), flags.form());
    line.push_back('\n');
    LATCHKEY_RETURN_IF_ERROR(Print(line));
    flags.reverse ? cursor.Prev() : cursor.Next();
  }
  LATCHKEY_RETURN_IF_ERROR(cursor.status());
  return FlushOutput();
}

absl::Status Scan(const ScanFlags& flags) {
  LATCHKEY_ASSIGN_OR_RETURN(KeyRange range, RangeOf(flags));
  uint64_t limit = UINT64_MAX;
  if (!flags.limit.empty()) {
    LATCHKEY_ASSIGN_OR_RETURN(limit, ParseCount("limit", flags.limit, 0, UINT64_MAX));
  }
  return WithDatabase(flags.db, DatabaseUse::kRead, [&](Database& db) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, PickTree(db, flags.tree, /*create=*/false));
    Transaction transaction = db.Begin();
    Cursor cursor = transaction.NewCursor(tree, std::move(range));
    return PrintRecords(cursor, flags, limit);
  });
}

struct TreeSize {
  uint64_t records = 0, key_bytes = 0, value_bytes = 0;
};

absl::StatusOr<TreeSize> CountTree(Database& db, const std::string& name) {
  LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, db.OpenTree(name, /*create=*/false));
  TreeSize size;
  Transaction transaction = db.Begin();
  Cursor cursor = transaction.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    if (StopRequested().load(std::memory_order_relaxed)) {
      return MakeStatus(absl::StatusCode::kCancelled,
                        "interrupted after {} records of tree \"{}\": run stat again, or without "
                        "--count",
                        size.records, ToText(name, TextForm::kEscaped));
    }
    ++size.records;
    size.key_bytes += cursor.key().size();
    size.value_bytes += cursor.value().size();
  }
  LATCHKEY_RETURN_IF_ERROR(cursor.status());
  return size;
}

absl::Status Stat(const StatFlags& flags) {
  return WithDatabase(flags.db, DatabaseUse::kRead, [&](Database& db) -> absl::Status {
    if (!flags.metrics.empty()) {
      LATCHKEY_RETURN_IF_ERROR(Print(db.GetMetrics(flags.metrics == "json" ? MetricsFormat::kJson
                                                                           : MetricsFormat::kPrometheus)));
      return FlushOutput();
    }
    const Statistics s = db.GetStatistics();
    std::string text = fmt::format(
        "device             {}\npage size          {}\nlive bytes         {}\n"
        "file bytes         {}\nspace utilisation  {:.3f}\nmemory bytes       {}\n"
        "trees              {}\n",
        db.DeviceDescription(), db.page_size(), s.live_bytes, s.file_bytes, s.space_utilization,
        s.memory_bytes, db.ListTrees().size());
    for (const std::string& name : db.ListTrees()) {
      text += "tree \"" + ToText(name, TextForm::kEscaped) + '"';
      if (flags.count) {
        LATCHKEY_ASSIGN_OR_RETURN(const TreeSize size, CountTree(db, name));
        text += fmt::format(": {}, {} bytes of keys, {} of values", CountOf(size.records, "record"),
                            size.key_bytes, size.value_bytes);
      }
      text.push_back('\n');
    }
    LATCHKEY_RETURN_IF_ERROR(Print(text));
    return FlushOutput();
  });
}

}  // namespace

int GetCommand(const GetFlags& flags) { return Finish(Get(flags)); }
int PutCommand(const PutFlags& flags) { return Finish(Put(flags)); }
int DelCommand(const DelFlags& flags) { return Finish(Del(flags)); }
int ScanCommand(const ScanFlags& flags) { return Finish(Scan(flags)); }
int StatCommand(const StatFlags& flags) {
  return flags.watch ? WatchCommand(flags.db.path) : Finish(Stat(flags));
}

}  // namespace latchkey
