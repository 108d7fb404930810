#include "tools/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

void AddVerbs(const CLI::App& app, const std::string& path, std::vector<CompletedVerb>* all) {
  CompletedVerb verb{.path = path, .help = app.get_description(), .verbs = {}, .flags = {}};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) verb.flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) verb.flags.push_back("-" + name);
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* each : below) verb.verbs.push_back(each->get_name());
  all->push_back(std::move(verb));
  for (const CLI::App* each : below) {
    AddVerbs(*each, path.empty() ? each->get_name() : path + " " + each->get_name(), all);
  }
}

// The words before the cursor name the verb as long as they are verbs. `help` is followed by verbs.
std::string BashScript(const std::vector<CompletedVerb>& verbs) {
  std::string cases;
  for (const CompletedVerb& verb : verbs) {
    const std::vector<std::string>& words = verb.path == "help" ? verbs.front().verbs : verb.verbs;
    cases += fmt::format("    '{}') words='{}' flags='{}' ;;\n", verb.path, fmt::join(words, " "),
                         fmt::join(verb.flags, " "));
  }
  return fmt::format(R"(# bash completion of latchkey: source this file, or put it into
# ~/.local/share/bash-completion/completions/latchkey
_latchkey_of() {{
  case "$1" in
{}    *) return 1 ;;
  esac
}}
_latchkey() {{
  local words= flags= verb= next word at
  [[ ${{COMP_WORDS[0]##*/}} == tpcc-lite ]] && verb=tpcc-lite
  for ((at = 1; at < COMP_CWORD; ++at)); do
    word=${{COMP_WORDS[at]}}
    next="${{verb:+$verb }}$word"
    _latchkey_of "$next" && verb=$next
  done
  _latchkey_of "$verb"
  word=${{COMP_WORDS[COMP_CWORD]}}
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  elif [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
}}
complete -o default -F _latchkey latchkey tpcc-lite
)",
                     cases);
}

std::string ZshQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text)
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

std::string HelpOf(const std::vector<CompletedVerb>& verbs, const std::string& path) {
  for (const CompletedVerb& verb : verbs) {
    if (verb.path == path) return verb.help;
  }
  return "";
}

// As in bash. Zsh shows the help of a verb beside it.
std::string ZshScript(const std::vector<CompletedVerb>& verbs) {
  std::string cases;
  for (const CompletedVerb& verb : verbs) {
    const CompletedVerb& offered = verb.path == "help" ? verbs.front() : verb;
    std::string words;
    for (const std::string& name : offered.verbs) {
      const std::string path = offered.path.empty() ? name : offered.path + " " + name;
      words += ZshQuoted(name + ":" + HelpOf(verbs, path)) + " ";
    }
    cases += fmt::format("    '{}') verbs=({}) flags=({}) ;;\n", verb.path, words,
                         fmt::join(verb.flags, " "));
  }
  return fmt::format(R"(#compdef latchkey tpcc-lite
# zsh completion of latchkey: put it as _latchkey into a folder of $fpath, or source it behind compinit
_latchkey_of() {{
  case "$1" in
{}    *) return 1 ;;
  esac
}}
_latchkey() {{
  local verb= next
  local -a verbs flags
  integer at
  [[ ${{words[1]:t}} == tpcc-lite ]] && verb=tpcc-lite
  for ((at = 2; at < CURRENT; ++at)); do
    next="${{verb:+$verb }}${{words[at]}}"
    _latchkey_of "$next" && verb=$next
  done
  _latchkey_of "$verb"
  if [[ $PREFIX == --*=* ]]; then
    compset -P '*='
    _files
  elif [[ $PREFIX == -* ]]; then
    compadd -- $flags
  elif (( $#verbs )); then
    _describe -t verbs verb verbs
  else
    _files
  fi
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _latchkey "$@"
else
  compdef _latchkey latchkey tpcc-lite
fi
)",
                     cases);
}

std::string FishQuoted(std::string text) {
  for (char& letter : text) {
    if (letter == '\'' || letter == '\\' || letter == '\n') letter = ' ';
  }
  return "'" + text + "'";
}

std::string FishScript(const std::vector<CompletedVerb>& verbs) {
  std::string script =
      "# fish completion of latchkey: put it into ~/.config/fish/completions/latchkey.fish\n";
  for (const CompletedVerb& verb : verbs) {
    const size_t space = verb.path.rfind(' ');
    const bool is_top = space == std::string::npos;
    if (!verb.path.empty()) {
      const std::string within =
          is_top ? "__fish_use_subcommand"
                 : "__fish_seen_subcommand_from " + verb.path.substr(0, verb.path.find(' '));
      script +=
          fmt::format("complete -c latchkey -n {} -a {} -d {}\n", FishQuoted(within),
                      is_top ? verb.path : verb.path.substr(space + 1), FishQuoted(verb.help));
    }
    const std::string seen =
        verb.path.empty()
            ? "__fish_use_subcommand"
            : "__fish_seen_subcommand_from " + (is_top ? verb.path : verb.path.substr(space + 1));
    for (const std::string& flag : verb.flags) {
      if (!flag.starts_with("--")) continue;
      script += fmt::format("complete -c latchkey -n {} -l {}\n", FishQuoted(seen), flag.substr(2));
    }
  }
  return script;
}

}  // namespace

std::vector<CompletedVerb> CompletedVerbs(const CLI::App& app) {
  std::vector<CompletedVerb> all;
  AddVerbs(app, "", &all);
  return all;
}

absl::StatusOr<std::string> CompletionScript(const CLI::App& app, std::string_view shell) {
  const std::vector<CompletedVerb> verbs = CompletedVerbs(app);
  if (shell == "bash") return BashScript(verbs);
  if (shell == "zsh") return ZshScript(verbs);
  if (shell == "fish") return FishScript(verbs);
  return InvalidArgument("completion {}: no such shell; known: bash, zsh, fish", shell);
}

}  // namespace latchkey
