#include "tools/cli/verb_runs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/cli/exit_codes.h"
#include "tools/cli/progress.h"

namespace latchkey {

CLI::App* VerbRuns::Add(CLI::App& parent, const VerbTexts& texts, std::function<int()> run) {
  CLI::App* verb = parent.add_subcommand(texts.name, texts.help);
  const std::string example = fmt::format("latchkey {}", texts.example);
  verb->footer(fmt::format("Example:\n  {}\n\n{}", example, kExitCodesText));
  verb->add_flag("-q,--quiet", quiet_,
                 "nothing on stderr but errors: no progress, notes, warnings");
  runs_.emplace_back(verb, std::move(run));
  examples_.emplace(verb, example);
  return verb;
}

std::optional<int> VerbRuns::Run() const {
  if (quiet_) BeQuiet();
  for (const auto& [verb, run] : runs_) {
    if (*verb) return run();
  }
  return std::nullopt;
}

std::vector<std::string> VerbRuns::ExamplesOf(const CLI::App& verb) const {
  if (const auto own = examples_.find(&verb); own != examples_.end()) return {own->second};
  std::vector<std::string> all;
  for (const CLI::App* below : verb.get_subcommands([](const CLI::App*) { return true; })) {
    for (std::string& example : ExamplesOf(*below)) all.push_back(std::move(example));
  }
  return all;
}

}  // namespace latchkey
