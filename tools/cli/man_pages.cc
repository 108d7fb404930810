#include "tools/cli/man_pages.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "storage/base/status_macros.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/invocation.h"
#include "tools/cli/output.h"

namespace latchkey {
namespace {

std::vector<const CLI::App*> VerbsBelow(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// A flag's names, or the name of a positional.
std::string NamesOf(const CLI::Option& option) {
  if (option.get_positional()) return RoffText(option.get_name(true));
  std::string names;
  const auto add = [&](const std::string& name) {
    names += (names.empty() ? "" : ", ") + RoffText(name);
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  return names;
}

/// `text` in roff, which may end a line behind a colon or a comma: lists are longer than a line.
std::string Breakable(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool may_end = text[i] == ':' || text[i] == ',';
    if (may_end && i + 1 < text.size() && text[i + 1] != ' ') out += "\\:";
  }
  return out;
}

std::string Entry(const CLI::Option& option) {
  std::string entry = ".TP\n\\fB" + NamesOf(option) + "\\fR";
  const bool has_value = !option.get_positional() && HasValue(option);
  if (has_value) entry += "=\\fI" + RoffText(option.get_type_name()) + "\\fR";
  entry += '\n';
  std::string help = option.get_description();
  const std::string& value = option.get_default_str();
  if (has_value && !value.empty())
    help += fmt::format("{}(default: {})", help.empty() ? "" : " ", value);
  if (help.empty()) help = option.get_required() ? "Required." : "Optional.";
  return entry + Breakable(RoffText(help)) + '\n';
}

std::string SynopsisOf(const CLI::App& app, const std::string& words) {
  std::string line = "\\fB" + RoffText(words) + "\\fR";
  if (!VerbsBelow(app).empty()) line += " \\fIVERB\\fR ...";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const bool many = option->get_items_expected_max() > 1;
    const std::string name =
        "\\fI" + RoffText(option->get_name(true)) + "\\fR" + (many ? " ..." : "");
    line += option->get_required() ? " " + name : " [" + name + "]";
  }
  if (VerbsBelow(app).empty()) line += " [\\fIflags\\fR]";
  return ".SH SYNOPSIS\n" + line + '\n';
}

std::string Entries(const CLI::App& app, std::string_view heading, bool positional) {
  std::string entries;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() == positional) entries += Entry(*option);
  }
  return entries.empty() ? "" : fmt::format(".SH {}\n{}", heading, entries);
}

std::string VerbList(const CLI::App& app, const std::string& page) {
  std::string list;
  for (const CLI::App* verb : VerbsBelow(app)) {
    list += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", RoffText(page + "-" + verb->get_name()),
                        RoffText(verb->get_description()));
  }
  return list.empty() ? "" : ".SH VERBS\n" + list;
}

/// The paragraphs of a text that is broken into lines.
std::string Paragraphs(const std::string& text) {
  std::string out = ".nf\n";
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out += RoffText(text.substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  return out + ".fi\n";
}

struct Where {
  std::string page;   ///< "latchkey-tpcc-lite"
  std::string words;  ///< "latchkey tpcc-lite"
  std::string above;  ///< the page that lists it; "": none does
};

std::string Examples(const std::vector<std::string>& examples) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : examples) text += RoffText(example) + '\n';
  return text + ".fi\n";
}

std::string PageText(const CLI::App& app, const VerbRuns& runs, const Where& where,
                     std::string_view version) {
  const std::string about = app.get_description();
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"latchkey {}\" \"Latchkey\"\n",
                                 RoffText(where.page), RoffText(version));
  text += ".ad l\n.nh\n";  // left-adjusted, without hyphens: flags are read letter by letter
  const std::string brief =
      where.above.empty() ? "an embedded key/value storage engine, and its laboratory" : about;
  text += fmt::format(".SH NAME\n{} \\- {}\n", RoffText(where.page), RoffText(brief));
  text += SynopsisOf(app, where.words);
  if (where.above.empty()) text += ".SH DESCRIPTION\n" + Paragraphs(about);
  text += Entries(app, "ARGUMENTS", true);
  text += Entries(app, "OPTIONS", false);
  text += VerbList(app, where.page);
  text += Examples(runs.ExamplesOf(app));
  text += ".SH \"EXIT STATUS\"\n" + Paragraphs(kExitCodesText);
  if (!where.above.empty())
    text += fmt::format(".SH \"SEE ALSO\"\n\\fB{}\\fR(1)\n", RoffText(where.above));
  return text;
}

void AddPages(const CLI::App& app, const VerbRuns& runs, const Where& where,
              std::string_view version, std::vector<ManPage>* pages) {
  pages->push_back({.name = where.page, .text = PageText(app, runs, where, version)});
  for (const CLI::App* verb : VerbsBelow(app)) {
    AddPages(*verb, runs,
             {.page = where.page + "-" + verb->get_name(),
              .words = where.words + " " + verb->get_name(),
              .above = where.page},
             version, pages);
  }
}

}  // namespace

std::string RoffText(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (letter == '.' || letter == '\'')) out += "\\&";
    switch (letter) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '"':
        out += "\\(dq";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::vector<ManPage> ManPages(const CLI::App& app, const VerbRuns& runs, std::string_view version) {
  std::vector<ManPage> pages;
  AddPages(app, runs, {.page = "latchkey", .words = "latchkey", .above = ""}, version, &pages);
  return pages;
}

absl::Status WriteManPages(const CLI::App& app, const VerbRuns& runs, std::string_view version,
                           const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return FileFailure("create the folder", directory, error.value());
  for (const ManPage& page : ManPages(app, runs, version)) {
    LATCHKEY_RETURN_IF_ERROR(WriteTextFile(directory + "/" + page.name + ".1", page.text));
  }
  return absl::OkStatus();
}

}  // namespace latchkey
