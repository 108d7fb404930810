#include "tools/cli/analysis_verbs.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/advise_command.h"
#include "tools/cli/cachesim_command.h"
#include "tools/cli/doctor_command.h"
#include "tools/cli/paper_experiments.h"
#include "tools/cli/report_command.h"
#include "tools/cli/trace_command.h"
#include "tools/cli/verb_flags.h"

namespace latchkey {
namespace {

void AddCacheSim(CLI::App& app, VerbRuns& runs) {
  auto flags = std::make_shared<CacheSimFlags>();
  CLI::App* verb = runs.Add(
      app,
      {.name = "cachesim",
       .help = "replay page traces through replacement algorithms, without a pool",
       .example = "cachesim --trace=run.fixes --replacement=lru,arc,s3-fifo --size=1%,5%,20%"},
      [flags] { return CacheSimCommand(*flags); });
  const auto add = [verb](const char* name, std::string& text, const char* help) {
    return verb->add_option(name, text, help)->type_name("LIST")->capture_default_str();
  };
  add("--trace", flags->traces,
      "files of 64-bit page ids, bit 63 a write, or recorded by --trace; plain or zstd")
      ->required();
  add("--replacement", flags->replacement, "algorithms, or all");
  add("--size", flags->sizes, "pages, or a percentage of the trace's different pages")->required();
  add("--regions", flags->regions, "numbers of regions that divide the cache");
  add("--seeds", flags->seeds, "results are means over so many seeds")->type_name("N");
  add("--jobs", flags->jobs, "threads; 0: one per core")->type_name("N");
  AddOutputFlags(*verb, flags->output);
}

using TraceCommand = int (*)(const TraceFlags&);

CLI::App* AddTraceVerb(CLI::App& trace, VerbRuns& runs, const VerbTexts& texts,
                       const std::shared_ptr<TraceFlags>& flags, TraceCommand command) {
  CLI::App* verb = runs.Add(trace, texts, [flags, command] { return command(*flags); });
  verb->add_option("FILE", flags->file, "the trace")->required();
  AddOutputFlags(*verb, flags->output);
  return verb;
}

void AddListFlag(CLI::App& verb, const char* name, std::string& text, const char* help) {
  verb.add_option(name, text, help)->type_name("LIST")->capture_default_str();
}

/// Which fixes count.
void AddTraceFilters(CLI::App& verb, TraceFlags& flags) {
  AddListFlag(verb, "--tree", flags.trees,
              "names of trees; all: together; each: one after another");
  AddListFlag(verb, "--object", flags.objects,
              "all, data (leaves of tables), index (inner pages, indexes)");
  AddListFlag(verb, "--users", flags.users, "the first N users to fix a page; all");
  verb.add_option("--fixes-per-user", flags.fixes_per_user, "the first N fixes of each; all")
      ->type_name("N")
      ->capture_default_str();
}

void AddTrace(CLI::App& app, VerbRuns& runs) {
  CLI::App* trace = app.add_subcommand(
      "trace", "what the page fixes of a run tell; tpcc-lite run and bench record them (--trace)");
  trace->require_subcommand(1);
  auto flags = std::make_shared<TraceFlags>();
  AddTraceVerb(*trace, runs,
               {.name = "info",
                .help = "fixes by tree, index or data, and kind",
                .example = "trace info run.fixes"},
               flags, TraceInfoCommand);
  CLI::App* depth =
      AddTraceVerb(*trace, runs,
                   {.name = "depth",
                    .help = "LRU stack depths: the hit ratio of LRU by the number of pages",
                    .example = "trace depth run.fixes --object=data,index --size=100,1000"},
                   flags, TraceDepthCommand);
  CLI::App* skew = AddTraceVerb(*trace, runs,
                                {.name = "skew",
                                 .help = "the share of the fixes that the hottest pages get",
                                 .example = "trace skew run.fixes --tree=each --share=1,10"},
                                flags, TraceSkewCommand);
  for (CLI::App* verb : {depth, skew}) AddTraceFilters(*verb, *flags);
  AddListFlag(*depth, "--size", flags->sizes, "numbers of pages");
  AddListFlag(*skew, "--share", flags->shares, "percent of the pages, the hottest ones");
}

void AddReport(CLI::App& app, VerbRuns& runs) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* verb = runs.Add(
      app,
      {.name = "report",
       .help = "results of the measuring verbs as one HTML page: charts, comparison, tables",
       .example = "report a.json b.json -o ab.html"},
      [flags] { return ReportCommand(*flags); });
  verb->add_option("FILE.json", flags->files, "written by --json; the first is the baseline")
      ->required();
  verb->add_option("-o,--out", flags->out, "the page; - for stdout")
      ->type_name("FILE.html")
      ->required();
}

void AddCompare(CLI::App& app, VerbRuns& runs) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* verb =
      runs.Add(app,
               {.name = "compare",
                .help = "results against each other: faster, slower or not distinguishable",
                .example = "compare a.json b.json"},
               [files] { return CompareCommand(*files); });
  verb->add_option("FILE.json", *files,
                   "written by --json; the first is the baseline. Of one file: its first row is")
      ->required();
}

void AddDoctor(CLI::App& app, VerbRuns& runs) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* verb =
      runs.Add(app,
               {.name = "doctor",
                .help = "measure a device, tell whether to trust its syncs, and advise settings",
                .example = "doctor . --seconds=5"},
               [flags] { return DoctorCommand(*flags); });
  verb->add_option("PATH", flags->path, "a folder on the device; nothing is left in it")
      ->required();
  const auto add = [verb](const char* name, std::string& text, const char* help) {
    return verb->add_option(name, text, help)->capture_default_str();
  };
  add("--seconds", flags->seconds, "how long it may take, about; 1 to 3600")->type_name("N");
  add("--size", flags->size, "most bytes of the file; at most half of the free space is taken")
      ->type_name("BYTES");
  add("--json", flags->json, "write figures and advice there; - for stdout")->type_name("FILE");
}

void AddAdvise(CLI::App& app, VerbRuns& runs) {
  auto flags = std::make_shared<AdviseFlags>();
  CLI::App* verb = runs.Add(
      app,
      {.name = "advise",
       .help = "which layout, u_d and segment cleaning suit a trace or a database on a device",
       .example = "advise run.fixes --disk=atlas10k --replay=2048"},
      [flags] { return AdviseCommand(*flags); });
  verb->add_option(
          "TRACE|DB", flags->input,
          "64-bit page ids, bit 63 a write, or recorded by --trace; or a database's folder")
      ->required();
  const auto add = [verb](const char* name, std::string& text, const char* help) {
    return verb->add_option(name, text, help)->capture_default_str();
  };
  add("--trace", flags->trace, "of a database: a trace of its page requests")->type_name("FILE");
  add("--cache", flags->cache,
      "of a trace: pages of an LRU cache in front of the store, or a percentage of its pages; 0: "
      "none; auto: 10% for page fixes, 0 for blocks");
  add("--distribution", flags->distribution,
      "of the writes of a database, as of the verb model; none given: uniform,knuth:80:20")
      ->type_name("LIST");
  add("--reads-per-write", flags->reads_per_write,
      "page reads beside each write of a database, 0 to 1000; auto: 1.37");
  add("--disk,--device", flags->disk,
      "a disk, as of the verb model; auto: the costs that the store of the database has measured; "
      "of a trace atlas10k");
  add("--disks", flags->disks, "of an array, 1 to 1024; auto: as --disk says");
  add("--raid", flags->raid, "raid0, raid5; auto: as --disk says");
  add("--measure", flags->measure, "in place of --disk: a folder on the disk, which is measured")
      ->type_name("DIR");
  add("--page-size", flags->page_size,
      "bytes, powers of two from 4096 to 65536; auto: as the input says, else 4096")
      ->type_name("LIST");
  add("--segment-size", flags->segment_size,
      "bytes, a multiple of the page size from 64KiB to 64MiB; auto: from the device's costs");
  add("--space-utilization", flags->space_utilization, "live pages / capacity, 0.5 to 0.98")
      ->type_name("LIST");
  add("--durability", flags->durability,
      "none; group: writes in place go through the doublewrite area; auto: as the database has it, "
      "of a trace none");
  add("--users", flags->users, "without think time, 1 to 1024")->type_name("N");
  add("--replay", flags->replay,
      "pages of the sample that is replayed through the layouts; 0: nothing is replayed")
      ->type_name("N");
  add("--seed", flags->seed, "of the sample and the replays")->type_name("N");
  add("--json", flags->json, "write predictions, replays and advice there; - for stdout")
      ->type_name("FILE");
}

void AddPaperExperiments(CLI::App& app, VerbRuns& runs) {
  auto words = std::make_shared<CLI::App*>(nullptr);
  *words = runs.Add(
      app,
      {.name = "experiment",
       .help = "list, show, run: the papers' figures and tables, and which statements hold",
       .example = "experiment run fig-thesis-4.6 --quick"},
      [words] { return RunPaperExperiments((*words)->remaining()); });
  // All words are the script's, --help and --quiet too.
  (*words)->prefix_command()->set_help_flag();
  (*words)->remove_option((*words)->get_option("--quiet"));
}

}  // namespace

void AddAnalysisVerbs(CLI::App& app, VerbRuns& runs) {
  AddCacheSim(app, runs);
  AddTrace(app, runs);
  AddReport(app, runs);
  AddCompare(app, runs);
  AddDoctor(app, runs);
  AddAdvise(app, runs);
  AddPaperExperiments(app, runs);
}

}  // namespace latchkey
