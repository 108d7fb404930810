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
/// Prints the value. Exits with 1 when there is no such key.
int GetCommand(const GetFlags& flags);

struct PutFlags : RecordCommandFlags {
  std::string key;
  std::string value;
  std::string value_file;  ///< the value's bytes come from there; - for stdin
  bool has_value = false;
};
int PutCommand(const PutFlags& flags);

struct DelFlags : RecordCommandFlags {
  std::vector<std::string> keys;
};
/// All keys in one transaction: exits with 1, having deleted none, when one is missing.
int DelCommand(const DelFlags& flags);

struct ScanFlags : RecordCommandFlags {
  std::string from, to;
  bool has_from = false, has_to = false;
  uint64_t limit = UINT64_MAX;
  bool reverse = false;
  bool keys_only = false;
};
/// One line a record: key, tab, value.
int ScanCommand(const ScanFlags& flags);

struct StatFlags {
  DatabaseFlags db;
  bool count = false;  ///< count the records of every tree, which reads all of it
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
/// Exits with 3 on damage.
int VerifyCommand(const VerifyFlags& flags);

struct SalvageFlags {
  DatabaseFlags db;
  std::string out;
  bool without_proof = false;
};
/// Exits with 3 when something was lost.
int SalvageCommand(const SalvageFlags& flags);

}  // namespace latchkey
