#include "tools/cli/unknown_verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

/// How many letters must be added, left out, replaced, or exchanged with their neighbour.
size_t Mistakes(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> least(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      const size_t replaced = least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
      }
    }
  }
  return least[a.size()][b.size()];
}

/// The verb that `word` begins, or misspells in one letter of three at most. "": none.
std::string LikelyVerb(std::span<const std::string> known, std::string_view word) {
  std::string likely;
  size_t fewest = word.size() / 3 + 1;
  for (const std::string& verb : known) {
    const size_t mistakes = !word.empty() && verb.starts_with(word) ? 0 : Mistakes(word, verb);
    if (mistakes >= fewest) continue;
    fewest = mistakes;
    likely = verb;
  }
  return likely;
}

}  // namespace

absl::Status CheckVerbs(const CLI::App& program, std::span<const std::string> words) {
  const CLI::App* verb = &program;
  for (size_t i = 0; i < words.size() && verb->get_require_subcommand_min() > 0; ++i) {
    if (words[i].starts_with("-")) return absl::OkStatus();
    const auto below =
        verb->get_subcommands([&](const CLI::App* each) { return each->check_name(words[i]); });
    if (below.empty()) {
      return UnknownVerb(*verb, fmt::format("{}", fmt::join(words.first(i + 1), " ")), words[i]);
    }
    verb = below.front();
  }
  return absl::OkStatus();
}

absl::Status UnknownVerb(const CLI::App& within, std::string_view said, std::string_view word) {
  std::vector<std::string> known;
  for (const CLI::App* verb : within.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(verb->get_name());
  }
  const std::string likely = LikelyVerb(known, word);
  return InvalidArgument("{}: no such verb; {}known: {}", said,
                         likely.empty() ? "" : fmt::format("did you mean {}? ", likely),
                         fmt::join(known, ", "));
}

}  // namespace latchkey
