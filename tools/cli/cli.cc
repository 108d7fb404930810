#include "tools/cli/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "tools/cli/bench_command.h"
#include "tools/cli/db_verbs.h"
#include "tools/cli/signals.h"
#include "tools/cli/tpcc_command.h"

namespace latchkey {
namespace {

constexpr const char* kAbout =
    "Latchkey: an embedded key/value storage engine, and the laboratory around it.\n"
    "tpcc-lite and bench: every flag with a value takes a comma-separated list; the cross product "
    "is\n"
    "run, one row each. The other verbs work on one database.";

/// What the flags of one verb were given.
struct Verb {
  CLI::App* app = nullptr;
  FlagTexts texts;
  ExperimentFlags flags;
};

void AddDatabaseFlag(Verb& verb) {
  verb.app
      ->add_option("--db", verb.flags.database_path, "folder of the databases, one folder per load")
      ->capture_default_str();
}

void AddSweepFlags(Verb& verb, const std::vector<FlagSpec>& specs) {
  for (const FlagSpec& spec : specs) {
    std::string& text = verb.texts[spec.name];
    text = spec.default_value;
    verb.app->add_option("--" + spec.name, text, spec.help)
        ->type_name("LIST")
        ->capture_default_str();
  }
}

void AddOutputFlags(Verb& verb) {
  verb.app->add_option("--json", verb.flags.output.json, "write results there; - for stdout");
  verb.app->add_option("--csv", verb.flags.output.csv, "write results there; - for stdout");
}

void AddRunFlags(Verb& verb) {
  verb.app->add_option("--repeat", verb.flags.repeat, "run everything N times: median and spread")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.app->add_flag("--keep", verb.flags.keep, "keep the database of every run");
  AddOutputFlags(verb);
}

class Cli {
 public:
  Cli() : app_(kAbout, "latchkey"), db_verbs_(app_) {
    app_.require_subcommand(1);
    CLI::App* tpcc = app_.add_subcommand(
        "tpcc-lite", "TPC-C's tables, transactions and checks; closed loop, no think time");
    tpcc->require_subcommand(1);
    AddVerb(prepare_, tpcc, "prepare", "make the loads that runs begin from");
    AddVerb(run_, tpcc, "run", "run the mix; prepares what is missing");
    AddVerb(check_, tpcc, "check", "check the consistency conditions of databases under --db");
    AddVerb(bench_, &app_, "bench", "the KV benchmark: loads, reads, updates, YCSB's mixes");
    for (Verb* verb : {&prepare_, &run_, &check_}) AddSweepFlags(*verb, TpccFlags());
    AddSweepFlags(bench_, BenchFlags());
    AddRunFlags(run_);
    AddRunFlags(bench_);
    AddOutputFlags(check_);
    run_.app->add_flag("--check", run_.flags.check, "check consistency after every run");
  }

  int Run(std::vector<std::string> arguments) {
    try {
      std::reverse(arguments.begin(), arguments.end());  // what CLI11 expects of a vector
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error, std::cout, std::cerr) == 0 ? kExitOk : kExitUsage;
    }
    if (*prepare_.app) return PrepareTpccCommand(prepare_.texts, prepare_.flags);
    if (*run_.app) return RunTpccCommand(run_.texts, run_.flags);
    if (*check_.app) return CheckTpccCommand(check_.texts, check_.flags);
    if (*bench_.app) return BenchCommand(bench_.texts, bench_.flags);
    return db_verbs_.Run().value_or(kExitUsage);
  }

 private:
  static void AddVerb(Verb& verb, CLI::App* parent, const char* name, const char* help) {
    verb.app = parent->add_subcommand(name, help);
    AddDatabaseFlag(verb);
  }

  CLI::App app_;
  DbVerbs db_verbs_;
  Verb prepare_, run_, check_, bench_;
};

}  // namespace

int RunCli(std::vector<std::string> arguments) {
  SetUpLogging();
  InstallStopSignals();
  return Cli().Run(std::move(arguments));
}

}  // namespace latchkey
