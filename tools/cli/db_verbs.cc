#include "tools/cli/db_verbs.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>

#include "tools/cli/db_backup.h"
#include "tools/cli/db_commands.h"
#include "tools/cli/db_compact.h"

namespace latchkey {
namespace {

constexpr const char* kKeyHelp = "text, in which \\xNN is a byte; with --hex hexadecimal digits";

}  // namespace

struct DbVerbs::Impl {
  Impl(CLI::App& parent, VerbRuns& all) : app(parent), runs(all) {
    AddRecordVerbs();
    AddTransferVerbs();
    AddProofVerbs();
    AddBackupVerbs();
    AddCompact();
  }

  CLI::App* Verb(const VerbTexts& texts, DatabaseFlags& flags, std::function<int()> run) {
    CLI::App* verb = runs.Add(app, texts, std::move(run));
    verb->add_option("DB", flags.path, "the database's folder")->required();
    AddCacheSize(verb, flags);
    return verb;
  }
  static void AddCacheSize(CLI::App* verb, DatabaseFlags& flags) {
    verb->add_option("--cache-size", flags.cache_size, "memory to work with")
        ->type_name("BYTES")
        ->capture_default_str();
  }
  static void AddRecordFlags(CLI::App* verb, RecordCommandFlags& flags) {
    verb->add_option("--tree", flags.tree, "may be left out where the database has one tree")
        ->type_name("NAME");
    verb->add_flag("--hex", flags.hex, "keys and values as hexadecimal digits, not as \\xNN text");
  }
  static void AddRange(CLI::App* verb, RangeFlags& flags) {
    const auto bound = [verb](const char* name, std::string& key, bool& given, const char* help) {
      const auto set = [&key, &given](const std::string& text) {
        key = text;
        given = true;
      };
      verb->add_option_function<std::string>(name, set, help)->type_name("KEY");
    };
    bound("--from", flags.from, flags.has_from, "the first key of the range");
    bound("--to", flags.to, flags.has_to, "the range ends before this key");
  }
  static void AddDurability(CLI::App* verb, DatabaseFlags& flags) {
    flags.durability = "commit";
    verb->add_option("--durability", flags.durability,
                     "none, group or commit; with none a crash of this command loses the database")
        ->type_name("HOW")
        ->capture_default_str();
  }
  static void AddPageSize(CLI::App* verb, DatabaseFlags& flags) {
    verb->add_option("--page-size", flags.page_size, "of a database that is created, bytes")
        ->type_name("BYTES")
        ->capture_default_str();
  }

  void AddRecordVerbs();
  void AddScan();
  void AddTransferVerbs();
  void AddProofVerbs();
  void AddBackupVerbs();
  void AddCompact();

  CLI::App& app;
  VerbRuns& runs;
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
  CLI::App* verb = Verb({.name = "get",
                         .help = "print the value of a key",
                         .example = "get shop.db alice --tree=accounts"},
                        get.db, [this] { return GetCommand(get); });
  verb->add_option("KEY", get.key, kKeyHelp)->required();
  verb->add_flag("--raw", get.raw, "the value's bytes as they are, without a line end");
  AddRecordFlags(verb, get);

  CLI::App* puts = Verb({.name = "put",
                         .help = "put a key, into a database and tree created when missing",
                         .example = "put shop.db alice 100 --tree=accounts"},
                        put.db, [this] { return PutCommand(put); });
  puts->add_option("KEY", put.key, kKeyHelp)->required();
  puts->add_option_function<std::string>(
      "VALUE",
      [this](const std::string& value) {
        put.value = value;
        put.has_value = true;
      },
      "the value, in the same form; left out with --value-file");
  puts->add_option("--value-file", put.value_file,
                   "take the value's bytes from a file, - for stdin")
      ->type_name("FILE");
  AddRecordFlags(puts, put);
  AddPageSize(puts, put.db);
  AddDurability(puts, put.db);

  verb = Verb({.name = "del",
               .help = "delete keys, all of them or, if one is missing, none; or every record of a range",
               .example = "del shop.db alice bob"},
              del.db, [this] { return DelCommand(del); });
  verb->add_option("KEY", del.keys, kKeyHelp);
  AddRange(verb, del);
  AddRecordFlags(verb, del);
  AddDurability(verb, del.db);

  AddScan();
  verb = Verb({.name = "stat", .help = "print sizes and trees", .example = "stat shop.db --count"},
              stat.db, [this] { return StatCommand(stat); });
  CLI::Option* count =
      verb->add_flag("--count", stat.count, "count the records of every tree: reads all of it");
  verb->add_option("--metrics", stat.metrics,
                   "all figures for a monitoring system: prometheus or json")
      ->type_name("FORM")
      ->check(CLI::IsMember({"prometheus", "json"}))
      ->excludes(count);
  verb->add_flag("--watch", stat.watch,
                 "draw the rates of a program that has it open with metrics-path=DB/metrics.json")
      ->excludes(count)
      ->excludes("--metrics");
}

void DbVerbs::Impl::AddScan() {
  CLI::App* verb = Verb({.name = "scan",
                         .help = "print the records of a range, one line each",
                         .example = "scan shop.db --from=a --to=c --limit=10"},
                        scan.db, [this] { return ScanCommand(scan); });
  AddRange(verb, scan);
  verb->add_option("--limit", scan.limit, "print at most that many, e.g. 10 or 1k")->type_name("N");
  verb->add_flag("--reverse", scan.reverse, "from the last key down");
  verb->add_flag("--keys-only", scan.keys_only, "print no values");
  AddRecordFlags(verb, scan);
}

void DbVerbs::Impl::AddTransferVerbs() {
  CLI::App* verb = Verb({.name = "dump",
                         .help = "write every tree and record, as of one moment",
                         .example = "dump shop.db shop.dump"},
                        dump.db, [this] { return DumpCommand(dump); });
  verb->add_option("FILE", dump.file, "- for stdout")->required();
  verb->add_option("--tree", dump.tree, "that tree alone")->type_name("NAME");
  verb->add_option("--format", dump.format, "binary or text")
      ->type_name("FORM")
      ->capture_default_str();

  verb = Verb({.name = "load",
               .help = "put the records of a dump, once all of it has been proven",
               .example = "load copy.db shop.dump"},
              load.db, [this] { return LoadCommand(load); });
  verb->add_option("FILE", load.file, "- for stdin, which is copied to TMPDIR first")->required();
  verb->add_flag("--resume", load.resume, "go on with an interrupted load of the same dump");
  verb->add_flag("--restart", load.restart, "begin again in place of an interrupted load");
  AddPageSize(verb, load.db);
  AddDurability(verb, load.db);
}

void DbVerbs::Impl::AddProofVerbs() {
  Verb({.name = "verify",
        .help = "read and prove everything, of a database or of a backup; exits with 3 on damage",
        .example = "verify shop.db"},
       verify.db, [this] { return VerifyCommand(verify); });
  CLI::App* verb = Verb({.name = "salvage",
                         .help = "save what can be proven of a damaged database into a new one",
                         .example = "salvage shop.db saved.db"},
                        salvage.db, [this] { return SalvageCommand(salvage); });
  verb->add_option("OUT", salvage.out, "the new database's folder")->required();
  verb->add_flag("--without-proof", salvage.without_proof,
                 "take pages by their looks where no database id is left to prove them with");
}

void DbVerbs::Impl::AddBackupVerbs() {
  CLI::App* verb = Verb({.name = "backup",
                         .help = "copy a consistent state into a directory of backups",
                         .example = "backup shop.db backups --max-mb-s=100"},
                        backup.db, [this] { return BackupCommand(backup); });
  verb->add_option("DEST", backup.directory,
                   "an empty or new directory; with --incremental, one "
                   "with a backup of this database")
      ->required();
  verb->add_flag("--incremental", backup.incremental,
                 "write only what has changed since the newest backup in DEST");
  verb->add_option(
          "--max-mb-s", backup.max_mb_s,
          "limit the pages copied, millions of bytes/s; without it the backup gives way to users")
      ->type_name("N");
  verb->add_flag("--no-check", backup.no_check, "do not read the backup back");

  verb = runs.Add(app,
                  {.name = "restore",
                   .help = "make a database of a backup, and verify it",
                   .example = "restore backups restored.db"},
                  [this] { return RestoreCommand(restore); });
  verb->add_option("BACKUP", restore.directory, "the directory of the backups")->required();
  verb->add_option("PATH", restore.db.path, "the new database's folder: empty or new")->required();
  verb->add_option("--number", restore.number, "of the backup; 0 is the newest")
      ->type_name("N")
      ->capture_default_str();
  AddCacheSize(verb, restore.db);
}

void DbVerbs::Impl::AddCompact() {
  CLI::App* verb = Verb({.name = "compact",
                         .help = "unite sparse leaves, and make the data file and the log small",
                         .example = "compact shop.db --max-mb-s=100"},
                        compact.db, [this] { return CompactCommand(compact); });
  verb->add_option("--max-mb-s", compact.max_mb_s,
                   "limit the leaves looked at, millions of bytes/s of their pages")
      ->type_name("N");
  verb->add_option(
          "--space-utilization", compact.space_utilization,
          "live pages / capacity that the file gets, 0.5 to 0.98; the next open for writing "
          "brings it to its own")
      ->type_name("X");
}

DbVerbs::DbVerbs(CLI::App& app, VerbRuns& runs) : impl_(std::make_unique<Impl>(app, runs)) {}
DbVerbs::~DbVerbs() = default;

}  // namespace latchkey
