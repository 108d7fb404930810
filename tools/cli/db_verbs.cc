#include "tools/cli/db_verbs.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "tools/cli/db_backup.h"
#include "tools/cli/db_commands.h"
#include "tools/cli/db_compact.h"

namespace latchkey {

struct DbVerbs::Impl {
  explicit Impl(CLI::App& parent) : app(parent) {
    AddRecordVerbs();
    AddTransferVerbs();
    AddProofVerbs();
    AddBackupVerbs();
    AddCompact();
  }

  CLI::App* Verb(const char* name, const char* help, DatabaseFlags& flags,
                 std::function<int()> run) {
    CLI::App* verb = app.add_subcommand(name, help);
    verb->add_option("DB", flags.path, "the database's folder")->required();
    verb->add_option("--cache-size", flags.cache_size, "memory to work with")
        ->capture_default_str();
    verbs.emplace_back(verb, std::move(run));
    return verb;
  }
  static void AddRecordFlags(CLI::App* verb, RecordCommandFlags& flags) {
    verb->add_option("--tree", flags.tree, "may be left out where the database has one tree");
    verb->add_flag("--hex", flags.hex, "keys and values as hexadecimal digits, not as \\xNN text");
  }
  static void AddDurability(CLI::App* verb, DatabaseFlags& flags) {
    flags.durability = "commit";
    verb->add_option("--durability", flags.durability,
                     "none, group or commit; with none a crash of this command loses the database")
        ->capture_default_str();
  }
  static void AddPageSize(CLI::App* verb, DatabaseFlags& flags) {
    verb->add_option("--page-size", flags.page_size, "of a database that is created, bytes")
        ->capture_default_str();
  }

  void AddRecordVerbs();
  void AddScan();
  void AddTransferVerbs();
  void AddProofVerbs();
  void AddBackupVerbs();
  void AddCompact();

  CLI::App& app;
  std::vector<std::pair<CLI::App*, std::function<int()>>> verbs;
  GetFlags get;
  PutFlags put;
  DelFlags del;
  ScanFlags scan;
  StatFlags stat;
  DumpFlags dump;
  LoadFlags load;
  VerifyFlags verify;
  SalvageFlags salvage;
  BackupFlags backup;
  CompactFlags compact;
  RestoreFlags restore;
};

void DbVerbs::Impl::AddRecordVerbs() {
  CLI::App* verb =
      Verb("get", "print the value of a key", get.db, [this] { return GetCommand(get); });
  verb->add_option("KEY", get.key)->required();
  verb->add_flag("--raw", get.raw, "the value's bytes as they are, without a line end");
  AddRecordFlags(verb, get);

  CLI::App* puts = Verb("put", "put a key, into a database and tree created when missing", put.db,
                        [this] { return PutCommand(put); });
  puts->add_option("KEY", put.key)->required();
  puts->add_option_function<std::string>("VALUE", [this](const std::string& value) {
    put.value = value;
    put.has_value = true;
  });
  puts->add_option("--value-file", put.value_file,
                   "take the value's bytes from a file, - for stdin");
  AddRecordFlags(puts, put);
  AddPageSize(puts, put.db);
  AddDurability(puts, put.db);

  verb = Verb("del", "delete keys: all of them or, if one is missing, none", del.db,
              [this] { return DelCommand(del); });
  verb->add_option("KEY", del.keys)->required();
  AddRecordFlags(verb, del);
  AddDurability(verb, del.db);

  AddScan();
  verb = Verb("stat", "print sizes and trees", stat.db, [this] { return StatCommand(stat); });
  verb->add_flag("--count", stat.count, "count the records of every tree: reads all of it");
}

void DbVerbs::Impl::AddScan() {
  CLI::App* verb = Verb("scan", "print the records of a range, one line each", scan.db,
                        [this] { return ScanCommand(scan); });
  verb->add_option_function<std::string>(
      "--from",
      [this](const std::string& key) {
        scan.from = key;
        scan.has_from = true;
      },
      "the first key of the range");
  verb->add_option_function<std::string>(
      "--to",
      [this](const std::string& key) {
        scan.to = key;
        scan.has_to = true;
      },
      "the range ends before this key");
  verb->add_option("--limit", scan.limit, "print at most that many, e.g. 10 or 1k");
  verb->add_flag("--reverse", scan.reverse, "from the last key down");
  verb->add_flag("--keys-only", scan.keys_only);
  AddRecordFlags(verb, scan);
}

void DbVerbs::Impl::AddTransferVerbs() {
  CLI::App* verb = Verb("dump", "write every tree and record, as of one moment", dump.db,
                        [this] { return DumpCommand(dump); });
  verb->add_option("FILE", dump.file, "- for stdout")->required();
  verb->add_option("--tree", dump.tree, "that tree alone");
  verb->add_option("--format", dump.format, "binary or text")->capture_default_str();

  verb = Verb("load", "put the records of a dump, once all of it has been proven", load.db,
              [this] { return LoadCommand(load); });
  verb->add_option("FILE", load.file, "- for stdin, which is copied to TMPDIR first")->required();
  verb->add_flag("--resume", load.resume, "go on with an interrupted load of the same dump");
  verb->add_flag("--restart", load.restart, "begin again in place of an interrupted load");
  AddPageSize(verb, load.db);
  AddDurability(verb, load.db);
}

void DbVerbs::Impl::AddProofVerbs() {
  Verb("verify", "read and prove everything, of a database or of a backup; exits with 3 on damage",
       verify.db, [this] { return VerifyCommand(verify); });
  CLI::App* verb = Verb("salvage", "save what can be proven of a damaged database into a new one",
                        salvage.db, [this] { return SalvageCommand(salvage); });
  verb->add_option("OUT", salvage.out, "the new database's folder")->required();
  verb->add_flag("--without-proof", salvage.without_proof,
                 "take pages by their looks where no database id is left to prove them with");
}

void DbVerbs::Impl::AddBackupVerbs() {
  CLI::App* verb = Verb("backup", "copy a consistent state into a directory of backups", backup.db,
                        [this] { return BackupCommand(backup); });
  verb->add_option("DEST", backup.directory,
                   "an empty or new directory; with --incremental, one "
                   "with a backup of this database")
      ->required();
  verb->add_flag("--incremental", backup.incremental,
                 "write only what has changed since the newest backup in DEST");
  verb->add_option(
      "--max-mb-s", backup.max_mb_s,
      "limit the pages copied, millions of bytes/s; without it the backup gives way to users");
  verb->add_flag("--no-check", backup.no_check, "do not read the backup back");

  verb = app.add_subcommand("restore", "make a database of a backup, and verify it");
  verb->add_option("BACKUP", restore.directory, "the directory of the backups")->required();
  verb->add_option("PATH", restore.db.path, "the new database's folder: empty or new")->required();
  verb->add_option("--number", restore.number, "of the backup; 0 is the newest")
      ->capture_default_str();
  verb->add_option("--cache-size", restore.db.cache_size, "memory to work with")
      ->capture_default_str();
  verbs.emplace_back(verb, [this] { return RestoreCommand(restore); });
}

void DbVerbs::Impl::AddCompact() {
  CLI::App* verb = Verb("compact", "unite sparse leaves, and make the data file and the log small",
                        compact.db, [this] { return CompactCommand(compact); });
  verb->add_option("--max-mb-s", compact.max_mb_s,
                   "limit the leaves looked at, millions of bytes/s of their pages");
  verb->add_option(
      "--space-utilization", compact.space_utilization,
      "live pages / capacity that the file gets, 0.5 to 0.98; the next open for writing "
      "brings it to its own");
}

DbVerbs::DbVerbs(CLI::App& app) : impl_(std::make_unique<Impl>(app)) {}
DbVerbs::~DbVerbs() = default;

std::optional<int> DbVerbs::Run() {
  for (const auto& [verb, run] : impl_->verbs) {
    if (*verb) return run();
  }
  return std::nullopt;
}

}  // namespace latchkey
