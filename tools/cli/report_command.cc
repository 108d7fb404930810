#include "tools/cli/report_command.h"

#include <utility>

#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/output.h"
#include "tools/cli/report_kinds.h"
#include "tools/report/html_page.h"
#include "tools/report/text_comparison.h"

namespace latchkey {
namespace {

absl::StatusOr<std::vector<ResultDocument>> ReadDocuments(const std::vector<std::string>& files) {
  std::vector<ResultDocument> documents;
  for (const std::string& file : files) {
    LATCHKEY_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(file));
    LATCHKEY_ASSIGN_OR_RETURN(ResultDocument document,
                              ParseResultDocument(file, text, ReportKinds()));
    documents.push_back(std::move(document));
  }
  return documents;
}

absl::Status CheckSameKind(const std::vector<ResultDocument>& documents) {
  const ResultDocument& first = documents.front();
  for (const ResultDocument& document : documents) {
    if (document.kind == first.kind) continue;
    return InvalidArgument("{} has {} and {} has {}: give results of one verb", first.name,
                           first.kind->schema, document.name, document.kind->schema);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ComparisonsOf(const std::vector<ResultDocument>& documents) {
  const size_t width = TableWidth();
  const ResultDocument& first = documents.front();
  if (documents.size() == 1) {
    const ResultComparison within = CompareWithin(first);
    if (!within.rows.empty()) return ComparisonText(within, width);
    return InvalidArgument("{}: has {}: give a second file, or the result of a sweep", first.name,
                           CountOf(first.rows().size(), "row"));
  }
  std::string text;
  for (size_t i = 1; i < documents.size(); ++i) {
    const ResultComparison compared = CompareDocuments(first, documents[i]);
    if (compared.rows.empty()) {
      return InvalidArgument(
          "{} and {}: no row of one has the settings of a row of the other; give results of the "
          "same sweep",
          first.name, documents[i].name);
    }
    text += (text.empty() ? "" : "\n") + ComparisonText(compared, width);
  }
  return text;
}

absl::Status WriteReport(const ReportFlags& flags) {
  LATCHKEY_RETURN_IF_ERROR(CheckOutputFile("out", flags.out));
  LATCHKEY_ASSIGN_OR_RETURN(const auto documents, ReadDocuments(flags.files));
  return WriteTextFile(flags.out, ReportPage(documents));
}

absl::Status PrintComparison(const std::vector<std::string>& files) {
  LATCHKEY_ASSIGN_OR_RETURN(const auto documents, ReadDocuments(files));
  LATCHKEY_RETURN_IF_ERROR(CheckSameKind(documents));
  LATCHKEY_ASSIGN_OR_RETURN(const std::string text, ComparisonsOf(documents));
  return WriteTextFile("-", text);
}

}  // namespace

int ReportCommand(const ReportFlags& flags) {
  const absl::Status done = WriteReport(flags);
  return done.ok() ? kExitOk : FailWith(done);
}

int CompareCommand(const std::vector<std::string>& files) {
  const absl::Status done = PrintComparison(files);
  return done.ok() ? kExitOk : FailWith(done);
}

absl::StatusOr<std::string> ReportPageOf(const std::string& name, const Json& document) {
  LATCHKEY_ASSIGN_OR_RETURN(ResultDocument checked,
                            CheckResultDocument(name, document, ReportKinds()));
  return ReportPage({&checked, 1});
}

}  // namespace latchkey
