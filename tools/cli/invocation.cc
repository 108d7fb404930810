#include "tools/cli/invocation.h"

#include <absl/time/time.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/runtime/runtime.h"

namespace latchkey {
namespace {

std::optional<Invocation>& Current() {
  static auto* const current = new std::optional<Invocation>;
  return *current;
}

bool HasValue(const CLI::Option& option) { return option.get_type_size_max() > 0; }

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
      flags[name] = option->get_default_str().empty() ? Json(nullptr) : Json(option->get_default_str());
    }
  }
  return flags;
}

std::string Utc(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_seconds), absl::UTCTimeZone());
}

/// The verb that the first words name, and how many words these are. nullptr: none that writes results.
std::pair<const CLI::App*, size_t> FindVerb(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* verb = &program;
  size_t count = 0;
  while (count < words.size()) {
    const auto below = verb->get_subcommands([&](const CLI::App* each) { return each->get_name() == words[count]; });
    if (below.empty()) break;
    verb = below.front();
    ++count;
  }
  const bool writes_results = verb->get_option_no_throw("--csv") != nullptr;
  return {writes_results ? verb : nullptr, count};
}

absl::Status NoResult(const std::string& file, std::string_view reason) {
  return InvalidArgument("{}: {}; give a file that --json of tpcc-lite run, bench, layout, model, cachesim, trace or "
                         "contention has written",
                         file, reason);
}

absl::StatusOr<std::vector<std::string>> RecordedWords(const std::string& file, const Json& document) {
  const Json words = document.is_object() ? ValueAt(document, "/argv") : Json(nullptr);
  const auto is_text = [](const Json& word) { return word.is_string(); };
  if (!words.is_array() || words.empty() || !std::all_of(words.begin(), words.end(), is_text)) {
    return NoResult(file, "has no argv, which says what to run (results of older versions have none)");
  }
  return words.get<std::vector<std::string>>();
}

/// "--name=value" if `name` was not given, and its default was another one than today's.
absl::StatusOr<std::string> OldDefault(const CLI::App& verb, const std::string& file, const std::string& name,
                                       const Json& value) {
  const CLI::Option* option = verb.get_option_no_throw("--" + name);
  if (option == nullptr) return NoResult(file, fmt::format("has the flag --{}, which this version lacks", name));
  if (!HasValue(*option) || !value.is_string() || value == option->get_default_str()) return "";
  return fmt::format("--{}={}", name, value.get<std::string>());
}

}  // namespace

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

std::string ShellWords(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=.,:/%+@";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char letter : word) line += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    line += '\'';
  }
  return line;
}

void SetInvocation(Invocation invocation) { Current() = std::move(invocation); }

const std::optional<Invocation>& CurrentInvocation() { return Current(); }

absl::StatusOr<std::vector<std::string>> WordsOfRerun(const CLI::App& program, const std::string& file,
                                                      const Json& document) {
  LATCHKEY_ASSIGN_OR_RETURN(std::vector<std::string> words, RecordedWords(file, document));
  const auto [verb, verb_words] = FindVerb(program, words);
  if (verb == nullptr) return NoResult(file, fmt::format("'{}' is no verb that writes results", words.front()));
  const Json flags = ValueAt(document, "/flags");
  if (!flags.is_object()) return NoResult(file, "has no flags");
  const std::vector<std::string> given(words.begin() + static_cast<ptrdiff_t>(verb_words), words.end());
  for (const auto& [name, value] : flags.items()) {
    const auto names_it = [&, flag = "--" + name](const std::string& word) {
      return word == flag || word.starts_with(flag + "=");
    };
    if (std::any_of(given.begin(), given.end(), names_it)) continue;
    LATCHKEY_ASSIGN_OR_RETURN(std::string old_default, OldDefault(*verb, file, name, value));
    if (!old_default.empty()) words.push_back(std::move(old_default));
  }
  return words;
}

}  // namespace latchkey
