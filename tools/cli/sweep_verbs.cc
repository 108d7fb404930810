#include "tools/cli/sweep_verbs.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/bench_command.h"
#include "tools/cli/contention_command.h"
#include "tools/cli/contention_model_command.h"
#include "tools/cli/experiment.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/flags.h"
#include "tools/cli/layout_command.h"
#include "tools/cli/model_command.h"
#include "tools/cli/model_plan.h"
#include "tools/cli/tpcc_command.h"
#include "tools/cli/verb_flags.h"

namespace latchkey {
namespace {

constexpr uint32_t kMaxRepeat = 1000;
constexpr uint64_t kMaxTraceLimit = 4'000'000'000;

/// The flags given to one verb.
struct SweepVerb {
  CLI::App* app = nullptr;
  FlagTexts texts;
  ExperimentFlags flags;

  /// The sweep flags that the user gave; the others have their defaults.
  FlagTexts Given() const {
    FlagTexts given;
    for (const auto& [name, text] : texts) {
      if (app->count("--" + name) > 0) given.emplace(name, text);
    }
    return given;
  }
};
using SweepVerbPtr = std::shared_ptr<SweepVerb>;
using Command = int (*)(const FlagTexts&, const ExperimentFlags&);

SweepVerbPtr AddVerb(CLI::App& parent, VerbRuns& runs, const VerbTexts& texts, Command command) {
  auto verb = std::make_shared<SweepVerb>();
  verb->app =
      runs.Add(parent, texts, [verb, command] { return command(verb->Given(), verb->flags); });
  return verb;
}

void AddSweepFlags(SweepVerb& verb, const std::vector<FlagSpec>& specs) {
  for (const FlagSpec& spec : specs) {
    std::string& text = verb.texts[spec.name];
    text = spec.default_value;
    verb.app->add_option("--" + spec.name, text, spec.help)
        ->type_name("LIST")
        ->capture_default_str();
  }
}

/// A flag with a whole number from 1 to `most`.
template <typename Count>
void AddCountFlag(SweepVerb& verb, const std::string& name, Count& count, uint64_t most,
                  const char* help) {
  const auto parse = [&count, name, most](const std::string& text) {
    const absl::StatusOr<uint64_t> parsed = ParseCount(name, text, 1, most);
    if (!parsed.ok()) throw CLI::ValidationError(std::string(parsed.status().message()));
    count = static_cast<Count>(*parsed);
  };
  verb.app->add_option_function<std::string>("--" + name, parse, help)
      ->type_name("N")
      ->default_str(std::to_string(count));
}

void AddRepeatFlag(SweepVerb& verb) {
  AddCountFlag(verb, "repeat", verb.flags.repeat, kMaxRepeat,
               "run everything N times: median and spread");
}

void AddDryRunFlag(SweepVerb& verb) {
  verb.app->add_flag("--dry-run", verb.flags.dry_run,
                     "check everything, print what would run, and write nothing");
}

void AddRunFlags(SweepVerb& verb) {
  AddRepeatFlag(verb);
  AddKeepFlag(*verb.app, verb.flags.keep);
  verb.app->add_flag("--live", verb.flags.live,
                     "on a terminal: each second's rate, latency, pool, device, log and space");
  AddOutputFlags(*verb.app, verb.flags.output);
  AddTraceFlag(*verb.app, verb.flags.trace);
  AddCountFlag(verb, "trace-limit", verb.flags.trace_limit, kMaxTraceLimit,
               "most records of the trace: the first ones of the run");
}

/// A verb that works on databases below --db.
SweepVerbPtr AddDatabaseVerb(CLI::App& parent, VerbRuns& runs, const VerbTexts& texts,
                             const std::vector<FlagSpec>& specs, Command command) {
  SweepVerbPtr verb = AddVerb(parent, runs, texts, command);
  AddDatabaseFlag(*verb->app, verb->flags.database_path);
  AddSweepFlags(*verb, specs);
  AddDryRunFlag(*verb);
  return verb;
}

void AddTpcc(CLI::App& app, VerbRuns& runs) {
  CLI::App* tpcc = app.add_subcommand(
      "tpcc-lite", "TPC-C's tables, transactions and checks; closed loop, no think time");
  tpcc->require_subcommand(1);
  const auto add = [&](const VerbTexts& texts, Command command) {
    return AddDatabaseVerb(*tpcc, runs, texts, TpccFlags(), command);
  };
  add({.name = "prepare",
       .help = "make the loads that runs begin from",
       .example = "tpcc-lite prepare --db=/mnt/ssd/loads --layout=overwrite,lfs --warehouses=10"},
      PrepareTpccCommand);
  const SweepVerbPtr run =
      add({.name = "run",
           .help = "run the mix; prepares what is missing",
           .example = "tpcc-lite run --layout=overwrite,lfs --users=16 --repeat=3 --json=a.json"},
          RunTpccCommand);
  AddRunFlags(*run);
  run->app->add_flag("--check", run->flags.check, "check consistency after every run");
  const SweepVerbPtr check =
      add({.name = "check",
           .help = "check the consistency conditions of databases under --db",
           .example = "tpcc-lite check --layout=lfs --warehouses=10"},
          CheckTpccCommand);
  AddOutputFlags(*check->app, check->flags.output);
}

void AddBenchAndLayout(CLI::App& app, VerbRuns& runs) {
  AddRunFlags(*AddDatabaseVerb(
      app, runs,
      {.name = "bench",
       .help = "the KV benchmark: loads, reads, updates, YCSB's mixes",
       .example = "bench --records=1M --workload=read-uniform,a --threads=1,2 --csv=bench.csv"},
      BenchFlags(), BenchCommand));
  const SweepVerbPtr layout = AddDatabaseVerb(
      app, runs,
      {.name = "layout",
       .help = "the disk layouts without the tree: reads and writes of pages",
       .example = "layout --layout=overwrite,lfs,hylog --space-utilization=0.8,0.95"},
      LayoutFlags(), LayoutCommand);
  AddRepeatFlag(*layout);
  AddKeepFlag(*layout->app, layout->flags.keep);
  AddOutputFlags(*layout->app, layout->flags.output);
}

void AddWriteCostModel(CLI::App& app, VerbRuns& runs) {
  const SweepVerbPtr verb =
      AddVerb(app, runs,
              {.name = "model",
               .help = "the write cost model: what each layout's writes cost on a disk",
               .example = "model --disk=ratio:32.8 --space-utilization=0.8,0.9,0.95"},
              ModelCommand);
  AddSweepFlags(*verb, ModelFlags());
  AddOutputFlags(*verb->app, verb->flags.output);
}

void AddContentionModel(CLI::App& contention, VerbRuns& runs) {
  auto verb = std::make_shared<SweepVerb>();
  auto sensitivity = std::make_shared<bool>(false);
  verb->app =
      runs.Add(contention,
               {.name = "model",
                .help = "as pool, on a simulated machine with up to 256 processors",
                .example = "contention model --policy=pg2q,pgbat-pre --processors=1,4,16"},
               [=] { return ContentionModelCommand(verb->Given(), verb->flags, *sensitivity); });
  AddSweepFlags(*verb, ContentionModelFlags());
  verb->app->add_flag("--sensitivity", *sensitivity,
                      "halve and double each cost, print the statements that turn");
  AddOutputFlags(*verb->app, verb->flags.output);
}

void AddCalibrate(CLI::App& contention, VerbRuns& runs) {
  auto flags = std::make_shared<CalibrateFlags>();
  CLI::App* verb =
      runs.Add(contention,
               {.name = "calibrate",
                .help = "measure on this machine what model charges; needs two idle cores",
                .example = "contention calibrate --json=costs.json"},
               [flags] { return ContentionCalibrateCommand(*flags); });
  const auto add = [verb](const char* name, std::string& text, const char* help) {
    return verb->add_option(name, text, help)->capture_default_str();
  };
  add("--replacement", flags->algorithms, "algorithms, or all")->type_name("LIST");
  add("--accesses", flags->accesses, "pattern of the pages that are drawn");
  add("--pages", flags->pages, "pages that are accessed, 1024 or more")->type_name("N");
  add("--repetitions", flags->repetitions, "short measurements, of which the least counts")
      ->type_name("N");
  add("--json", flags->json, "write the costs there, for model --costs; - for stdout")
      ->type_name("FILE");
}

void AddContention(CLI::App& app, VerbRuns& runs) {
  CLI::App* contention = app.add_subcommand(
      "contention", "what the locks of buffer-pool policies cost, without a database");
  contention->require_subcommand(1);
  const auto add = [&](const VerbTexts& texts, const std::vector<FlagSpec>& specs,
                       Command command) {
    const SweepVerbPtr verb = AddVerb(*contention, runs, texts, command);
    AddSweepFlags(*verb, specs);
    AddRepeatFlag(*verb);
    AddOutputFlags(*verb->app, verb->flags.output);
  };
  add({.name = "pool",
       .help = "threads fix pages of a pool",
       .example = "contention pool --policy=pg2q,pgbat-pre --threads=1,2"},
      ContentionPoolFlags(), ContentionPoolCommand);
  add({.name = "lock", .help = "threads take a lock", .example = "contention lock --threads=1,2,4"},
      ContentionLockFlags(), ContentionLockCommand);
  AddContentionModel(*contention, runs);
  AddCalibrate(*contention, runs);
}

}  // namespace

void AddSweepVerbs(CLI::App& app, VerbRuns& runs) {
  AddTpcc(app, runs);
  AddBenchAndLayout(app, runs);
  AddWriteCostModel(app, runs);
  AddContention(app, runs);
}

}  // namespace latchkey
