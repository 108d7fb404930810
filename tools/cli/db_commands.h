// The verbs that work on one database: get, put, del, scan, stat, dump, load, verify, salvage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/db_open.h"
#include "tools/cli/db_text.h"

namespace latchkey {

struct RecordCommandFlags {
  DatabaseFlags db;
  std::string tree;
  bool hex = false;
  TextForm form() const { return hex ? TextForm::kHex : TextForm::kEscaped; }
};

struct GetFlags : RecordCommandFlags {
  std::string key;
  bool raw = false;  ///< the value's bytes and nothing else
};
/// Prints the value. Exit code 1: no such key.
int GetCommand(const GetFlags& flags);

struct PutFlags : RecordCommandFlags {
  std::string key;
  std::string value;
  std::string value_file;  ///< the value's bytes come from there; - for stdin
  bool has_value = false;
};
int PutCommand(const PutFlags& flags);

struct RangeFlags : RecordCommandFlags {
  std::string from, to;
  bool has_from = false, has_to = false;
};

struct DelFlags : RangeFlags {
  std::vector<std::string> keys;
};
/// Deletes all keys in one transaction, or every record of a range. Exit code 1: a key is missing, and none
/// was deleted.
int DelCommand(const DelFlags& flags);

struct ScanFlags : RangeFlags {
  std::string limit;  ///< a count; empty: all of them
  bool reverse = false;
  bool keys_only = false;
};
/// Prints one line per record: key, tab, value. Refuses a range whose end is before its begin.
int ScanCommand(const ScanFlags& flags);

struct StatFlags {
  DatabaseFlags db;
  bool count = false;   ///< count the records of every tree, which reads all of it
  std::string metrics;  ///< prometheus or json; empty: sizes and trees
  bool watch = false;   ///< draw what a running program publishes of the database
};
int StatCommand(const StatFlags& flags);

struct DumpFlags {
  DatabaseFlags db;
  std::string file;
  std::string tree;
  std::string format = "binary";
};
int DumpCommand(const DumpFlags& flags);

struct LoadFlags {
  DatabaseFlags db;
  std::string file;
  bool resume = false;
  bool restart = false;
};
int LoadCommand(const LoadFlags& flags);

struct VerifyFlags {
  DatabaseFlags db;
};
/// Exit code 3: damage.
int VerifyCommand(const VerifyFlags& flags);

struct SalvageFlags {
  DatabaseFlags db;
  std::string out;
  bool without_proof = false;
};
/// Exit code 3: records were lost.
int SalvageCommand(const SalvageFlags& flags);

}  // namespace latchkey
