#include "tools/cli/rerun.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "storage/base/status_macros.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/invocation.h"
#include "tools/cli/verb_flags.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {
namespace {

/// Whether `verb` writes or deletes files where this flag says. A verb without --trace-limit only
/// reads its --trace; that of `layout` called --measure is a number.
bool IsPlace(const CLI::App& verb, std::string_view flag) {
  constexpr std::array<std::string_view, 5> kPlaces = {"db", "keep", "json", "csv", "report"};
  if (flag == "trace") return verb.get_option_no_throw("--trace-limit") != nullptr;
  if (flag == "measure") return verb.get_name() == "model";
  return std::find(kPlaces.begin(), kPlaces.end(), flag) != kPlaces.end();
}

/// The verb that the first words name, and how many words these are. nullptr: none that writes results.
std::pair<const CLI::App*, size_t> FindVerb(const CLI::App& program,
                                            const std::vector<std::string>& words) {
  const CLI::App* verb = &program;
  size_t count = 0;
  while (count < words.size()) {
    const auto named = [&](const CLI::App* each) { return each->get_name() == words[count]; };
    const auto below = verb->get_subcommands(named);
    if (below.empty()) break;
    verb = below.front();
    ++count;
  }
  const bool writes_results =
      verb->get_option_no_throw("--csv") != nullptr && verb->get_name() != "rerun";
  return {writes_results ? verb : nullptr, count};
}

/// The words that give the flag `word`, "--name" or "--name=value", to the parser. An empty value
/// is a word of its own, because the parser takes the word behind "--name=" as its value.
std::vector<std::string> GivenAs(const std::string& word) {
  if (word.find('=') != word.size() - 1) return {word};
  return {word.substr(0, word.size() - 1), ""};
}

/// The run that a result file describes.
class RecordedRun {
 public:
  RecordedRun(const RerunFlags& flags, const CLI::App& rerun) : flags_(flags), rerun_(rerun) {}

  absl::StatusOr<std::vector<std::string>> Words(const CLI::App& program) {
    LATCHKEY_RETURN_IF_ERROR(Read());
    size_t verb_words = 0;
    std::tie(verb_, verb_words) = FindVerb(program, argv_);
    if (verb_ == nullptr) {
      return NoResult(fmt::format("'{}' is no verb that writes results", argv_.front()));
    }
    words_.assign(argv_.begin(), argv_.begin() + static_cast<ptrdiff_t>(verb_words));
    for (size_t at = verb_words; at < argv_.size(); ++at) {
      LATCHKEY_RETURN_IF_ERROR(TakeWord(argv_[at]));
    }
    for (const auto& [name, value] : recorded_flags_.items()) {
      LATCHKEY_RETURN_IF_ERROR(TakeOldDefault(name, value));
    }
    LATCHKEY_RETURN_IF_ERROR(TakePlaces());
    return words_;
  }

 private:
  absl::Status NoResult(std::string_view reason) const {
    return InvalidArgument(
        "{}: {}; give a file that --json of tpcc-lite run, bench, layout, model, cachesim, trace "
        "or "
        "contention has written",
        flags_.file, reason);
  }

  absl::Status Read() {
    LATCHKEY_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(flags_.file));
    const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (document.is_discarded()) return NoResult("is no JSON");
    const auto at = [&](const char* field) {
      return document.is_object() ? ValueAt(document, field) : Json(nullptr);
    };
    const Json argv = at("/argv");
    const auto is_text = [](const Json& word) { return word.is_string(); };
    if (!argv.is_array() || argv.empty() || !std::all_of(argv.begin(), argv.end(), is_text)) {
      return NoResult("has no argv, which says what to run (results of older versions have none)");
    }
    argv_ = argv.get<std::vector<std::string>>();
    recorded_flags_ = at("/flags");
    if (!recorded_flags_.is_object()) return NoResult("has no flags");
    return absl::OkStatus();
  }

  void Add(const std::string& word) {
    for (std::string& given : GivenAs(word)) words_.push_back(std::move(given));
  }

  absl::StatusOr<const CLI::Option*> FindFlag(const std::string& name) const {
    const CLI::Option* option = verb_->get_option_no_throw("--" + name);
    if (option != nullptr) return option;
    return NoResult(
        fmt::format("has the flag --{}, which {} of this version lacks", name, verb_->get_name()));
  }

  /// A word behind the verb, as a result file has it: "--name", "--name=value", or a positional.
  absl::Status TakeWord(const std::string& word) {
    if (!word.starts_with("-")) {
      words_.push_back(word);
      return absl::OkStatus();
    }
    if (!word.starts_with("--") || word.size() == 2) {
      return NoResult(fmt::format("its argv has '{}', which is no --FLAG=VALUE", word));
    }
    const std::string name = word.substr(2, word.find('=') - 2);
    LATCHKEY_ASSIGN_OR_RETURN(const CLI::Option* option, FindFlag(name));
    if (HasValue(*option) != (word.find('=') != std::string::npos)) {
      return NoResult(fmt::format("its argv has '{}', which is no --FLAG=VALUE", word));
    }
    given_.push_back(name);
    if (!IsPlace(*verb_, name)) {
      Add(word);
      return absl::OkStatus();
    }
    return TakePlace(name, word);
  }

  /// The value of that time if `name` was not given and its default is another one today.
  absl::Status TakeOldDefault(const std::string& name, const Json& value) {
    if (std::find(given_.begin(), given_.end(), name) != given_.end()) return absl::OkStatus();
    LATCHKEY_ASSIGN_OR_RETURN(const CLI::Option* option, FindFlag(name));
    if (!HasValue(*option) || value.is_null()) return absl::OkStatus();
    if (!value.is_string()) {
      return NoResult(fmt::format("its flag --{} is {}, which is no text", name, value.dump()));
    }
    if (value == option->get_default_str()) return absl::OkStatus();
    const std::string word = fmt::format("--{}={}", name, value.get<std::string>());
    if (IsPlace(*verb_, name)) return TakePlace(name, word);
    Add(word);
    return absl::OkStatus();
  }

  /// `word` names a place to write to. The user's own flag replaces it. Without one it is refused, but
  /// --dry-run shows it.
  absl::Status TakePlace(const std::string& name, const std::string& word) {
    if (rerun_.count("--" + name) > 0) return absl::OkStatus();
    if (flags_.dry_run) {
      Add(word);
      return absl::OkStatus();
    }
    return InvalidArgument(
        "{}: was run with {}, and rerun writes only where its own flags say: give {} to rerun, for "
        "the same place or another; --dry-run prints the whole command",
        flags_.file, ShellWords(GivenAs(word)),
        name == "keep" ? "--keep" : fmt::format("--{}=PLACE", name));
  }

  /// What the user has given to rerun.
  absl::Status TakePlaces() {
    const std::pair<const char*, const std::string*> places[] = {
        {"db", &flags_.database_path}, {"trace", &flags_.trace},
        {"measure", &flags_.measure},  {"json", &flags_.output.json},
        {"csv", &flags_.output.csv},   {"report", &flags_.output.report}};
    for (const auto& [name, where] : places) {
      if (rerun_.count(fmt::format("--{}", name)) == 0) continue;
      LATCHKEY_RETURN_IF_ERROR(CheckHas(name));
      Add(fmt::format("--{}={}", name, *where));
    }
    if (!flags_.keep) return absl::OkStatus();
    LATCHKEY_RETURN_IF_ERROR(CheckHas("keep"));
    words_.push_back("--keep");
    return absl::OkStatus();
  }

  absl::Status CheckHas(const std::string& name) const {
    if (IsPlace(*verb_, name) && verb_->get_option_no_throw("--" + name) != nullptr) {
      return absl::OkStatus();
    }
    return InvalidArgument(
        "--{} would be ignored: {} is a result of {}, which writes no such place; "
        "leave the flag out",
        name, flags_.file, verb_->get_name());
  }

  const RerunFlags& flags_;
  const CLI::App& rerun_;
  std::vector<std::string> argv_;
  Json recorded_flags_;
  const CLI::App* verb_ = nullptr;
  std::vector<std::string> given_;  ///< names of the flags in argv_
  std::vector<std::string> words_;
};

std::string Quoted(const std::string& word) {
  const bool has_control = std::any_of(word.begin(), word.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 127;
  });
  std::string out = has_control ? "$'" : "'";
  for (const char letter : word) {
    const auto byte = static_cast<unsigned char>(letter);
    if (has_control && (byte < ' ' || byte == 127)) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (has_control && (letter == '\'' || letter == '\\')) {
      out += std::string("\\") + letter;
    } else if (letter == '\'') {
      out += "'\\''";
    } else {
      out += letter;
    }
  }
  return out + '\'';
}

}  // namespace

void AddRerunFlags(CLI::App& verb, RerunFlags& flags) {
  verb.add_option("RESULT.json", flags.file, "written by --json of a measuring verb")->required();
  verb.add_flag("--dry-run", flags.dry_run, "print the command, and run nothing");
  AddDatabaseFlag(verb, flags.database_path);
  AddKeepFlag(verb, flags.keep);
  AddTraceFlag(verb, flags.trace);
  verb.add_option("--measure", flags.measure, "of model: the folder on the disk that is measured")
      ->type_name("DIR");
  AddOutputFlags(verb, flags.output);
}

absl::StatusOr<std::vector<std::string>> WordsOfRerun(const CLI::App& program,
                                                      const RerunFlags& flags,
                                                      const CLI::App& rerun) {
  return RecordedRun(flags, rerun).Words(program);
}

std::string ShellWords(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=.,:/%+@";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
    line += plain ? word : Quoted(word);
  }
  return line;
}

}  // namespace latchkey
