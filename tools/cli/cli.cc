#include "tools/cli/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "storage/base/status_macros.h"
#include "tools/cli/bench_command.h"
#include "tools/cli/cachesim_command.h"
#include "tools/cli/completion.h"
#include "tools/cli/contention_command.h"
#include "tools/cli/contention_model_command.h"
#include "tools/cli/db_verbs.h"
#include "tools/cli/doctor_command.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/layout_command.h"
#include "tools/cli/model_command.h"
#include "tools/cli/model_plan.h"
#include "tools/cli/paper_experiments.h"
#include "tools/cli/report_command.h"
#include "tools/cli/signals.h"
#include "tools/cli/tpcc_command.h"
#include "tools/cli/trace_command.h"
#include "tpcc-lite/report/environment.h"

namespace latchkey {
namespace {

constexpr const char* kAbout =
    "Latchkey: an embedded key/value storage engine, and the laboratory around it.\n"
    "tpcc-lite, bench, layout and model: every flag with a value takes a comma-separated list; the "
    "cross\n"
    "product is run, one row each. The other verbs work on one database.";

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0    done\n"
    "  1    a run failed: device, space, a defect; get, del: no such key\n"
    "  2    wrong flags: nothing was written\n"
    "  3    a consistency check failed, or data is damaged\n"
    "  130  interrupted: partial results are written and marked";

constexpr uint32_t kMaxRepeat = 1000;
constexpr uint64_t kMaxTraceLimit = 4'000'000'000;

/// The flags given to one verb.
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

void AddDryRunFlag(Verb& verb) {
  verb.app->add_flag("--dry-run", verb.flags.dry_run,
                     "check everything, print what would run, and write nothing");
}

void AddOutputFlags(CLI::App& verb, OutputFlags& output) {
  verb.add_option("--json", output.json, "write results there; - for stdout");
  verb.add_option("--csv", output.csv, "write results there; - for stdout");
  verb.add_option("--report", output.report,
                  "write a page for a browser there: charts, tables; - for stdout");
}

void AddRepeatFlag(Verb& verb) {
  const auto parse = [&repeat = verb.flags.repeat](const std::string& text) {
    const absl::StatusOr<uint64_t> count = ParseCount("repeat", text, 1, kMaxRepeat);
    if (!count.ok()) throw CLI::ValidationError(std::string(count.status().message()));
    repeat = static_cast<uint32_t>(*count);
  };
  verb.app
      ->add_option_function<std::string>("--repeat", parse,
                                         "run everything N times: median and spread")
      ->type_name("N")
      ->default_str("1");
}

void AddKeepFlag(Verb& verb) {
  verb.app->add_flag("--keep", verb.flags.keep, "keep the database of every run");
}

void AddRunFlags(Verb& verb) {
  AddRepeatFlag(verb);
  AddKeepFlag(verb);
  AddOutputFlags(*verb.app, verb.flags.output);
  verb.app
      ->add_option("--trace", verb.flags.trace,
                   "record the page fixes of the one run there, for the verbs trace and cachesim")
      ->type_name("FILE");
  const auto parse = [&limit = verb.flags.trace_limit](const std::string& text) {
    const absl::StatusOr<uint64_t> count = ParseCount("trace-limit", text, 1, kMaxTraceLimit);
    if (!count.ok()) throw CLI::ValidationError(std::string(count.status().message()));
    limit = *count;
  };
  verb.app
      ->add_option_function<std::string>("--trace-limit", parse,
                                         "most records of the trace: the first ones of the run")
      ->type_name("N")
      ->default_str("50000000");
}

/// The flags of `verb` that the user gave; the others have their defaults.
FlagTexts GivenTexts(const Verb& verb) {
  FlagTexts given;
  for (const auto& [name, text] : verb.texts) {
    if (verb.app->count("--" + name) > 0) given.emplace(name, text);
  }
  return given;
}

/// Several lines: name, revision and build, then the libraries.
std::string VersionText() {
  const Json build = DescribeBuild();
  const auto text = [&](const char* field) {
    return build.at(field).is_string() ? build.at(field).get<std::string>() : "unknown";
  };
  std::vector<std::string> libraries = build.at("libraries").get<std::vector<std::string>>();
  libraries.push_back("CLI11 " CLI11_VERSION);
  libraries.push_back(
      fmt::format("spdlog {}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH));
  std::string built = fmt::format("{}, {}", text("compiler"), text("type"));
  if (build.at("sanitizers").is_string()) built += ", sanitizers: " + text("sanitizers");
  return fmt::format("latchkey {}, revision {}\nbuilt by {}\nlibraries: {}", text("version"),
                     text("revision"), built, fmt::join(libraries, ", "));
}

class Cli {
 public:
  Cli() : app_(kAbout, "latchkey"), db_verbs_(app_) {
    app_.require_subcommand(1);
    app_.footer(kExitCodes);
    app_.set_version_flag("--version", VersionText, "print version, revision, build and libraries");
    help_ = app_.add_subcommand("help", "print the help of a verb, e.g. help tpcc-lite run");
    help_->add_option("VERB", help_words_);
    completion_ = app_.add_subcommand("completion",
                                      "print the script that completes verbs and flags in a shell");
    completion_->add_option("SHELL", completed_shell_, "bash, zsh or fish")->required();
    CLI::App* tpcc = app_.add_subcommand(
        "tpcc-lite", "TPC-C's tables, transactions and checks; closed loop, no think time");
    tpcc->require_subcommand(1);
    AddVerb(prepare_, tpcc, "prepare", "make the loads that runs begin from");
    AddVerb(run_, tpcc, "run", "run the mix; prepares what is missing");
    AddVerb(check_, tpcc, "check", "check the consistency conditions of databases under --db");
    AddVerb(bench_, &app_, "bench", "the KV benchmark: loads, reads, updates, YCSB's mixes");
    AddVerb(layout_, &app_, "layout",
            "the disk layouts without the tree: reads and writes of pages");
    write_cost_.app = app_.add_subcommand(
        "model", "the write cost model: what each layout's writes cost on a disk");
    AddSweepFlags(write_cost_, ModelFlags());
    AddOutputFlags(*write_cost_.app, write_cost_.flags.output);
    AddCacheSim();
    AddTrace();
    AddContention();
    AddReport();
    AddDoctor();
    experiment_verb_ = app_.add_subcommand(
        "experiment", "list, show, run: the papers' figures and tables, and which statements hold");
    experiment_verb_->prefix_command()->set_help_flag();  // all words are the script's, --help too
    for (Verb* verb : {&prepare_, &run_, &check_}) AddSweepFlags(*verb, TpccFlags());
    AddSweepFlags(bench_, BenchFlags());
    AddSweepFlags(layout_, LayoutFlags());
    AddRepeatFlag(layout_);
    AddKeepFlag(layout_);
    AddOutputFlags(*layout_.app, layout_.flags.output);
    AddRunFlags(run_);
    AddRunFlags(bench_);
    AddOutputFlags(*check_.app, check_.flags.output);
    for (Verb* verb : {&prepare_, &run_, &check_, &bench_, &layout_}) AddDryRunFlag(*verb);
    run_.app->add_flag("--check", run_.flags.check, "check consistency after every run");
  }

  int Run(std::vector<std::string> arguments) {
    try {
      std::reverse(arguments.begin(), arguments.end());  // CLI11 expects the order of a stack
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error, std::cout, std::cerr) == 0 ? kExitOk : kExitUsage;
    }
    if (*help_) return Help();
    if (*completion_) return Completion();
    if (*prepare_.app) return PrepareTpccCommand(GivenTexts(prepare_), prepare_.flags);
    if (*run_.app) return RunTpccCommand(GivenTexts(run_), run_.flags);
    if (*check_.app) return CheckTpccCommand(GivenTexts(check_), check_.flags);
    if (*cachesim_verb_) return CacheSimCommand(cachesim_);
    if (*trace_info_) return TraceInfoCommand(trace_);
    if (*trace_depth_) return TraceDepthCommand(trace_);
    if (*trace_skew_) return TraceSkewCommand(trace_);
    if (*pool_.app) return ContentionPoolCommand(GivenTexts(pool_), pool_.flags);
    if (*lock_.app) return ContentionLockCommand(GivenTexts(lock_), lock_.flags);
    if (*model_.app) {
      return ContentionModelCommand(GivenTexts(model_), model_.flags, model_sensitivity_);
    }
    if (*calibrate_verb_) return ContentionCalibrateCommand(calibrate_);
    if (*report_verb_) return ReportCommand(report_);
    if (*compare_verb_) return CompareCommand(compared_);
    if (*doctor_verb_) return DoctorCommand(doctor_);
    if (*experiment_verb_) return RunPaperExperiments(experiment_verb_->remaining());
    if (*layout_.app) return LayoutCommand(GivenTexts(layout_), layout_.flags);
    if (*write_cost_.app) return ModelCommand(GivenTexts(write_cost_), write_cost_.flags);
    if (*bench_.app) return BenchCommand(GivenTexts(bench_), bench_.flags);
    return db_verbs_.Run().value_or(kExitUsage);
  }

 private:
  void AddCacheSim() {
    cachesim_verb_ = app_.add_subcommand(
        "cachesim", "replay page traces through replacement algorithms, without a pool");
    const auto add = [this](const char* name, std::string& text, const char* help) {
      return cachesim_verb_->add_option(name, text, help)->capture_default_str();
    };
    add("--trace", cachesim_.traces,
        "files of 64-bit page ids, bit 63 a write, or recorded by --trace; plain or zstd")
        ->required();
    add("--replacement", cachesim_.replacement, "algorithms, or all");
    add("--size", cachesim_.sizes, "pages, or a percentage of the trace's different pages")
        ->required();
    add("--regions", cachesim_.regions, "numbers of regions that divide the cache");
    add("--seeds", cachesim_.seeds, "results are means over so many seeds");
    add("--jobs", cachesim_.jobs, "threads; 0: one per core");
    AddOutputFlags(*cachesim_verb_, cachesim_.output);
  }

  void AddTrace() {
    CLI::App* trace = app_.add_subcommand(
        "trace",
        "what the page fixes of a run tell; tpcc-lite run and bench record them (--trace)");
    trace->require_subcommand(1);
    const auto verb = [&](const char* name, const char* help) {
      CLI::App* added = trace->add_subcommand(name, help);
      added->add_option("FILE", trace_.file, "the trace")->required();
      AddOutputFlags(*added, trace_.output);
      return added;
    };
    trace_info_ = verb("info", "fixes by tree, index or data, and kind");
    trace_depth_ = verb("depth", "LRU stack depths: the hit ratio of LRU by the number of pages");
    trace_skew_ = verb("skew", "the share of the fixes that the hottest pages get");
    for (CLI::App* added : {trace_depth_, trace_skew_}) {
      const auto add = [added](const char* name, std::string& text, const char* help) {
        added->add_option(name, text, help)->type_name("LIST")->capture_default_str();
      };
      add("--tree", trace_.trees, "names of trees; all: together; each: one after another");
      add("--object", trace_.objects, "all, data (leaves of tables), index (inner pages, indexes)");
      add("--users", trace_.users, "the first N users to fix a page; all");
      added->add_option("--fixes-per-user", trace_.fixes_per_user, "the first N fixes of each; all")
          ->capture_default_str();
    }
    trace_depth_->add_option("--size", trace_.sizes, "numbers of pages")
        ->type_name("LIST")
        ->capture_default_str();
    trace_skew_->add_option("--share", trace_.shares, "percent of the pages, the hottest ones")
        ->type_name("LIST")
        ->capture_default_str();
  }

  void AddContention() {
    CLI::App* contention = app_.add_subcommand(
        "contention", "what the locks of buffer-pool policies cost, without a database");
    contention->require_subcommand(1);
    pool_.app = contention->add_subcommand("pool", "threads fix pages of a pool");
    lock_.app = contention->add_subcommand("lock", "threads take a lock");
    AddSweepFlags(pool_, ContentionPoolFlags());
    AddSweepFlags(lock_, ContentionLockFlags());
    for (Verb* verb : {&pool_, &lock_}) {
      AddRepeatFlag(*verb);
      AddOutputFlags(*verb->app, verb->flags.output);
    }
    AddContentionModel(*contention);
  }

  void AddContentionModel(CLI::App& contention) {
    model_.app = contention.add_subcommand(
        "model", "as pool, on a simulated machine with up to 256 processors");
    AddSweepFlags(model_, ContentionModelFlags());
    model_.app->add_flag("--sensitivity", model_sensitivity_,
                         "halve and double each cost, print the statements that turn");
    AddOutputFlags(*model_.app, model_.flags.output);
    calibrate_verb_ = contention.add_subcommand(
        "calibrate", "measure on this machine what model charges; needs two idle cores");
    const auto add = [this](const char* name, std::string& text, const char* help) {
      return calibrate_verb_->add_option(name, text, help)->capture_default_str();
    };
    add("--replacement", calibrate_.algorithms, "algorithms, or all");
    add("--accesses", calibrate_.accesses, "pattern of the pages that are drawn");
    add("--pages", calibrate_.pages, "pages that are accessed, 1024 or more");
    add("--repetitions", calibrate_.repetitions, "short measurements, of which the least counts");
    add("--json", calibrate_.json, "write the costs there, for model --costs; - for stdout");
  }

  void AddReport() {
    report_verb_ = app_.add_subcommand(
        "report", "results of the measuring verbs as one HTML page: charts, comparison, tables");
    report_verb_
        ->add_option("FILE.json", report_.files, "written by --json; the first is the baseline")
        ->required();
    report_verb_->add_option("-o,--out", report_.out, "the page; - for stdout")
        ->type_name("FILE.html")
        ->required();
    compare_verb_ = app_.add_subcommand(
        "compare", "results against each other: faster, slower or not distinguishable");
    compare_verb_
        ->add_option("FILE.json", compared_,
                     "written by --json; the first is the baseline. Of one file: its first row is")
        ->required();
  }

  void AddDoctor() {
    doctor_verb_ = app_.add_subcommand(
        "doctor", "measure a device, tell whether to trust its syncs, and advise settings");
    doctor_verb_->add_option("PATH", doctor_.path, "a folder on the device; nothing is left in it")
        ->required();
    const auto add = [this](const char* name, std::string& text, const char* help) {
      return doctor_verb_->add_option(name, text, help)->capture_default_str();
    };
    add("--seconds", doctor_.seconds, "how long it may take, about; 1 to 3600");
    add("--size", doctor_.size, "most bytes of the file; at most half of the free space is taken");
    add("--json", doctor_.json, "write figures and advice there; - for stdout");
  }

  int Help() {
    const CLI::App* verb = &app_;
    std::string before;
    for (const std::string& word : help_words_) {
      const auto named = [&](const CLI::App* below) { return below->check_name(word); };
      const std::vector<const CLI::App*> below = verb->get_subcommands(named);
      if (below.empty()) return FailWith(UnknownVerb(*verb));
      before += (before.empty() ? "" : " ") + verb->get_name();
      verb = below.front();
    }
    app_.clear();  // otherwise the program's help would be that of the parsed verb `help`
    std::cout << verb->help(before);
    return kExitOk;
  }

  int Completion() {
    const absl::StatusOr<std::string> script = CompletionScript(app_, completed_shell_);
    if (!script.ok()) return FailWith(script.status());
    std::cout << *script;
    return kExitOk;
  }

  absl::Status UnknownVerb(const CLI::App& within) const {
    std::vector<std::string> known;
    for (const CLI::App* verb : within.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(verb->get_name());
    }
    return InvalidArgument("help {}: no such verb; known: {}", fmt::join(help_words_, " "),
                           fmt::join(known, ", "));
  }

  static void AddVerb(Verb& verb, CLI::App* parent, const char* name, const char* help) {
    verb.app = parent->add_subcommand(name, help);
    AddDatabaseFlag(verb);
  }

  CLI::App app_;
  CLI::App* help_ = nullptr;
  std::vector<std::string> help_words_;
  CLI::App* completion_ = nullptr;
  std::string completed_shell_;
  DbVerbs db_verbs_;
  Verb prepare_, run_, check_, bench_, layout_, write_cost_, pool_, lock_, model_;
  bool model_sensitivity_ = false;
  CLI::App* calibrate_verb_ = nullptr;
  CalibrateFlags calibrate_;
  CLI::App* experiment_verb_ = nullptr;
  CLI::App *report_verb_ = nullptr, *compare_verb_ = nullptr;
  ReportFlags report_;
  CLI::App* doctor_verb_ = nullptr;
  DoctorFlags doctor_;
  std::vector<std::string> compared_;
  CLI::App* cachesim_verb_ = nullptr;
  CacheSimFlags cachesim_;
  CLI::App *trace_info_ = nullptr, *trace_depth_ = nullptr, *trace_skew_ = nullptr;
  TraceFlags trace_;
};

}  // namespace

int RunCli(std::vector<std::string> arguments) {
  SetUpLogging();
  InstallStopSignals();
  return Cli().Run(std::move(arguments));
}

}  // namespace latchkey
