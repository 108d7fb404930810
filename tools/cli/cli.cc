#include "tools/cli/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <new>

#include "tools/cli/analysis_verbs.h"
#include "tools/cli/completion.h"
#include "tools/cli/db_verbs.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/invocation.h"
#include "tools/cli/man_pages.h"
#include "tools/cli/progress.h"
#include "tools/cli/rerun.h"
#include "tools/cli/signals.h"
#include "tools/cli/sweep_verbs.h"
#include "tools/cli/unknown_verb.h"
#include "tools/cli/verb_runs.h"
#include "tpcc-lite/report/environment.h"

namespace latchkey {
namespace {

constexpr const char* kAbout =
    "Latchkey: an embedded key/value storage engine, and the laboratory around it.\n"
    "tpcc-lite, bench, layout and model: every flag with a value takes a comma-separated list; the "
    "cross\n"
    "product is run, one row each. The other verbs work on one database.";

std::string Version() {
  const Json version = DescribeBuild().at("version");
  return version.is_string() ? version.get<std::string>() : "";
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

// For `--name=` the parser would take the next word as the value.
absl::Status RefuseFlagsWithoutValue(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (!word.starts_with("--") || word.find('=') != word.size() - 1) continue;
    const std::string flag = word.substr(0, word.size() - 1);
    return InvalidArgument(
        "{} has no value: give one, or leave the flag out; an empty value is {} ''", word, flag);
  }
  return absl::OkStatus();
}

absl::Status FlushStdout() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) {
    return absl::OkStatus();
  }
  return FileFailure("write to", "stdout", errno != 0 ? errno : EIO);
}

class Cli {
 public:
  Cli() : app_(kAbout, "latchkey"), db_verbs_((Prepare(app_), app_), runs_) {
    AddManual();
    AddSweepVerbs(app_, runs_);
    AddAnalysisVerbs(app_, runs_);
    AddRerun();
  }

  int Run(std::vector<std::string> arguments) {
    if (const absl::Status known = CheckVerbs(app_, arguments); !known.ok()) return FailWith(known);
    try {
      std::reverse(arguments.begin(), arguments.end());  // CLI11 expects the order of a stack
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error, std::cout, std::cerr) == 0 ? kExitOk : kExitUsage;
    }
    SetInvocation(InvocationOf(app_));
    return runs_.Run().value_or(kExitUsage);
  }

 private:
  /// Before any verb is added: the verbs inherit the footer.
  static void Prepare(CLI::App& app) {
    app.require_subcommand(1);
    app.footer(kExitCodesText);
    app.set_version_flag("--version", VersionText, "print version, revision, build and libraries");
  }

  void AddManual() {
    CLI::App* help = runs_.Add(app_,
                               {.name = "help",
                                .help = "print the help of a verb, e.g. help tpcc-lite run",
                                .example = "help tpcc-lite run"},
                               [this] { return Help(); });
    help->add_option("VERB", help_words_, "the verb; none: the program");
    CLI::App* completion =
        runs_.Add(app_,
                  {.name = "completion",
                   .help = "print the script that completes verbs and flags in a shell",
                   .example = "completion bash"},
                  [this] { return Completion(); });
    completion->add_option("SHELL", completed_shell_, "bash, zsh or fish")->required();
    CLI::App* pages =
        runs_.Add(app_,
                  {.name = "man-pages",
                   .help = "write the manual pages of program and verbs into a folder",
                   .example = "man-pages man1"},
                  [this] { return Finish(WriteManPages(app_, runs_, Version(), man_directory_)); });
    pages->add_option("DIR", man_directory_, "the folder; it is created")->required();
  }

  void AddRerun() {
    CLI::App* verb = runs_.Add(app_,
                               {.name = "rerun",
                                .help = "repeat the run of a result file: the same verb and flags",
                                .example = "rerun a.json --json=b.json"},
                               [this] { return Rerun(); });
    AddRerunFlags(*verb, rerun_);
  }

  /// The run of a result file by another parser, which parses the words of that time.
  int Rerun() {
    absl::StatusOr<std::vector<std::string>> words =
        WordsOfRerun(app_, rerun_, *app_.get_subcommand("rerun"));
    if (!words.ok()) return FailWith(words.status());
    if (rerun_.dry_run) return fmt::print("latchkey {}\n", ShellWords(*words)), kExitOk;
    return Cli().Run(*std::move(words));
  }

  int Help() {
    const CLI::App* verb = &app_;
    std::string before;
    for (const std::string& word : help_words_) {
      const auto named = [&](const CLI::App* below) { return below->check_name(word); };
      const std::vector<const CLI::App*> below = verb->get_subcommands(named);
      if (below.empty()) {
        const std::string said = fmt::format("help {}", fmt::join(help_words_, " "));
        return FailWith(UnknownVerb(*verb, said, word));
      }
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

  CLI::App app_;
  VerbRuns runs_;
  DbVerbs db_verbs_;
  std::vector<std::string> help_words_;
  std::string completed_shell_, man_directory_;
  RerunFlags rerun_;
};

}  // namespace

int RunCli(std::vector<std::string> arguments) {
  SetUpLogging();
  InstallStopSignals();
  const absl::Status good = RefuseFlagsWithoutValue(arguments);
  if (!good.ok()) return FailWith(good);
  int code = kExitOk;
  try {
    code = Cli().Run(std::move(arguments));
  } catch (const std::bad_alloc&) {
    code = FailWith(absl::ResourceExhaustedError(
        "there is not enough memory: give a smaller input, or allow more memory (ulimit -v)"));
  }
  return code == kExitOk ? Finish(FlushStdout()) : code;
}

}  // namespace latchkey
