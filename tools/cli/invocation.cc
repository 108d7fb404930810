#include "tools/cli/invocation.h"

#include <absl/time/time.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "storage/runtime/runtime.h"

namespace latchkey {
namespace {

std::optional<Invocation>& Current() {
  static auto* const current = new std::optional<Invocation>;
  return *current;
}

std::string LongName(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : option.get_lnames().front();
}

/// What was given for the options of one verb.
std::vector<std::string> GivenWords(const CLI::App& verb) {
  std::vector<std::string> words;
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = LongName(*option);
    if (option->count() == 0 || IsAboutOutput(name)) continue;
    if (option->get_positional()) {
      for (const std::string& value : option->results()) words.push_back(value);
    } else if (!HasValue(*option)) {
      words.push_back("--" + name);
    } else {
      for (const std::string& value : option->results()) {
        words.push_back(fmt::format("--{}={}", name, value));
      }
    }
  }
  return words;
}

Json FlagsOf(const CLI::App& verb) {
  Json flags = Json::object();
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = LongName(*option);
    if (name.empty() || IsAboutOutput(name)) continue;
    if (!HasValue(*option)) {
      flags[name] = option->count() > 0;
    } else if (option->count() > 0) {
      flags[name] = option->results().back();
    } else {
      flags[name] =
          option->get_default_str().empty() ? Json(nullptr) : Json(option->get_default_str());
    }
  }
  return flags;
}

std::string Utc(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

}  // namespace

bool HasValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool IsAboutOutput(const std::string& flag) {
  constexpr std::array<std::string_view, 5> kNames = {"json", "csv", "report", "quiet", "help"};
  return std::find(kNames.begin(), kNames.end(), flag) != kNames.end();
}

Invocation InvocationOf(const CLI::App& program) {
  Invocation invocation;
  invocation.started_at = Utc(ThreadRuntime().WallClockSeconds());
  const CLI::App* verb = &program;
  for (auto parsed = verb->get_subcommands(); !parsed.empty(); parsed = verb->get_subcommands()) {
    verb = parsed.front();
    invocation.argv.push_back(verb->get_name());
  }
  for (std::string& word : GivenWords(*verb)) invocation.argv.push_back(std::move(word));
  invocation.flags = FlagsOf(*verb);
  return invocation;
}

void SetInvocation(Invocation invocation) { Current() = std::move(invocation); }

const std::optional<Invocation>& CurrentInvocation() { return Current(); }

}  // namespace latchkey
