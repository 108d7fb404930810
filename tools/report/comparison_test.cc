#include "tools/report/comparison.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tools/report/text_comparison.h"

namespace latchkey::comparison_test {
namespace {

const ReportFigure kRate = {"rate", "/rate", ColumnFormat::kCount, Sense::kRate};
const ReportFigure kWait = {"wait", "/wait", ColumnFormat::kMicros, Sense::kTime};

const std::vector<ReportKind>& Kinds() {
  static const auto* const kinds =
      new std::vector<ReportKind>{{.schema = "test/1",
                                   .title = "Test",
                                   .columns = {{"engine", "/engine", ColumnFormat::kText, true},
                                               {"layout", "/layout", ColumnFormat::kText, true},
                                               {"users", "/users", ColumnFormat::kCount, true},
                                               {"rate", "/rate", ColumnFormat::kCount}},
                                   .figures = {kRate, kWait}}};
  return *kinds;
}

Json Row(const char* engine, const char* layout, int users, std::vector<double> rates) {
  Json row = {{"engine", engine}, {"layout", layout}, {"users", users}};
  row["rate"] = rates.empty() ? Json(nullptr) : Json(rates.front());
  row["repetitions"] = Json::array();
  for (const double rate : rates) row["repetitions"].push_back({{"rate", rate}});
  return row;
}

ResultDocument Document(std::string name, std::vector<Json> rows) {
  auto document = CheckResultDocument(
      std::move(name), {{"schema", "test/1"}, {"results", std::move(rows)}}, Kinds());
  REQUIRE(document.ok());
  return *std::move(document);
}

std::string Word(const ReportFigure& figure, std::vector<double> from, std::vector<double> to) {
  Json a, b;
  for (const double value : from) a["repetitions"].push_back({{figure.pointer.substr(1), value}});
  for (const double value : to) b["repetitions"].push_back({{figure.pointer.substr(1), value}});
  return WordFor(CompareFigure(figure, a, b, false));
}

TEST_CASE("A verdict has the word of its figure") {
  CHECK(Word(kRate, {99, 100, 101}, {199, 200, 201}) == "faster");
  CHECK(Word(kRate, {199, 200, 201}, {99, 100, 101}) == "slower");
  CHECK(Word(kWait, {99, 100, 101}, {199, 200, 201}) == "slower");
  CHECK(Word(kWait, {199, 200, 201}, {99, 100, 101}) == "faster");
  CHECK(Word(kRate, {90, 100, 110}, {95, 104, 113}) == "not distinguishable");
  CHECK(Word(kRate, {90, 100}, {199, 200, 201}) == "not enough repetitions");
  CHECK(Word(kRate, {90, 100, 110}, {}) == "-");
}

TEST_CASE("Rows without a partner are counted in whole sentences") {
  ResultComparison comparison = {.from = "a", .to = "b"};
  CHECK(DescribeUnpaired(comparison).empty());
  comparison.only_to = 1;
  CHECK(DescribeUnpaired(comparison) == "1 row is in b alone.");
  comparison.only_from = 2;
  CHECK(DescribeUnpaired(comparison) == "2 rows are in a alone. 1 row is in b alone.");
}

TEST_CASE("Runs in virtual time and computed figures need no repetitions") {
  const Json a = {{"rate", 100.0}, {"virtual_time", true}};
  const Json b = {{"rate", 101.0}, {"virtual_time", true}};
  CHECK(WordFor(CompareFigure(kRate, a, b, false)) == "faster");
  CHECK(IntervalOf(CompareFigure(kRate, a, b, false)) == "exact");
  CHECK(WordFor(CompareFigure(kRate, a, a, false)) == "equal");
  CHECK(WordFor(CompareFigure(kRate, {{"rate", 2}}, {{"rate", 1}}, true)) == "slower");
  // One of them measured: a difference could be chance.
  CHECK(WordFor(CompareFigure(kRate, a, {{"rate", 200}}, false)) == "not enough repetitions");
}

TEST_CASE("A change is a share of the baseline, and a value where the baseline is 0") {
  const FigureComparison c = CompareFigure(kRate, {{"rate", 200}}, {{"rate", 218}}, true);
  CHECK(ChangeOf(c) == "+9.0 %");
  CHECK(ChangeOf(CompareFigure(kRate, {{"rate", 0}}, {{"rate", 1500}}, true)) == "+1 500");
  CHECK(ChangeOf(CompareFigure(kRate, {{"rate", 0}}, {{"rate", 0}}, true)) == "0");
  CHECK(ToneOf(c) == "good");
  CHECK(ToneOf(CompareFigure(kWait, {{"wait", 1}}, {{"wait", 2}}, true)) == "bad");
}

TEST_CASE("Rows of two documents are paired by the settings that are swept") {
  const ResultDocument a =
      Document("a", {Row("x", "lfs", 1, {10, 11, 12}), Row("x", "lfs", 2, {5})});
  const ResultDocument b = Document(
      "b", {Row("x", "wolf", 2, {6}), Row("x", "wolf", 1, {20, 21, 22}), Row("x", "wolf", 4, {7})});
  const ResultComparison compared = CompareDocuments(a, b);
  REQUIRE(compared.rows.size() == 2);
  CHECK(compared.rows[0].name == "x, 2");
  CHECK(compared.rows[1].name == "x, 1");
  CHECK(WordFor(compared.rows[1].figures.at(0)) == "faster");
  CHECK(compared.only_from == 0);
  CHECK(compared.only_to == 1);
  // The layout has one value in each document: it is what differs, not what pairs.
  REQUIRE(compared.differences.size() == 1);
  CHECK(compared.differences[0] == std::pair<std::string, std::string>("layout", "lfs -> wolf"));
}

TEST_CASE("Rows with the same settings are paired in their order") {
  const ResultDocument a = Document("a", {Row("x", "lfs", 1, {1}), Row("x", "lfs", 1, {2})});
  const ResultComparison compared = CompareDocuments(a, a);
  REQUIRE(compared.rows.size() == 2);
  CHECK(compared.rows[1].figures.at(0).from.mean == 2);
  CHECK(compared.rows[1].figures.at(0).to.mean == 2);
}

TEST_CASE("Documents without a common row have no comparison") {
  const ResultDocument a = Document("a", {Row("x", "lfs", 1, {1}), Row("x", "lfs", 2, {1})});
  const ResultDocument b = Document("b", {Row("x", "lfs", 3, {1})});
  CHECK(CompareDocuments(a, b).rows.empty());
  CHECK(CompareDocuments(a, Document("c", {})).rows.empty());
  CHECK(CompareWithin(b).rows.empty());
  CHECK(CompareWithin(a).rows.size() == 1);
}

TEST_CASE("The text of a comparison fits the terminal") {
  const ResultDocument a = Document("a.json", {Row("latchkey", "overwrite", 1, {10, 11, 12}),
                                               Row("rocksdb", "none", 2, {5000, 5001, 5002})});
  const ResultDocument b = Document("b.json", {Row("latchkey", "overwrite", 1, {20, 21, 22}),
                                               Row("rocksdb", "none", 2, {5000, 5001, 5002})});
  const ResultComparison compared = CompareDocuments(a, b);
  for (const size_t width : {60, 80, 100, 200}) {
    const std::string text = ComparisonText(compared, width);
    CAPTURE(width, text);
    CHECK(text.find("faster") != std::string::npos);
    CHECK(text.find("not distinguishable") != std::string::npos);
    for (size_t from = 0; from < text.size(); from = text.find('\n', from) + 1) {
      CHECK(text.find('\n', from) - from <= width);
    }
  }
  CHECK(ComparisonText(compared, 200).find("95 % interval") != std::string::npos);
  CHECK(ComparisonText(compared, 60).find("95 % interval") == std::string::npos);
}

std::string RefusalOf(std::string_view text) {
  const auto document = ParseResultDocument("f.json", text, Kinds());
  REQUIRE(!document.ok());
  CHECK(absl::IsInvalidArgument(document.status()));
  return std::string(document.status().message());
}

TEST_CASE("A file that is no result document is refused with the reason") {
  using Catch::Matchers::Contains;
  CHECK_THAT(RefusalOf(""), Contains("f.json: not JSON") && Contains("--json=FILE"));
  CHECK_THAT(RefusalOf("{\"a\": 1e999}"), Contains("not JSON"));
  CHECK_THAT(RefusalOf("[1]"), Contains("no result document"));
  CHECK_THAT(RefusalOf("{}"), Contains("its schema is missing") && Contains("known: test/1"));
  CHECK_THAT(RefusalOf(R"({"schema": "other/2"})"), Contains("other/2"));
  CHECK_THAT(RefusalOf(R"({"schema": "test/1"})"), Contains("no list of results"));
  CHECK_THAT(RefusalOf(R"({"schema": "test/1", "results": [{}, 7]})"),
             Contains("result 1 is no object"));
  for (const char* field : {"warnings", "unsteady", "samples", "repetitions"}) {
    CHECK_THAT(
        RefusalOf(std::string(R"({"schema": "test/1", "results": [{")") + field + "\": [3]}]}"),
        Contains(field));
  }
  CHECK_THAT(RefusalOf(R"({"schema": "test/1", "results": [{"repeat": "x"}]})"),
             Contains("repeat"));
}

}  // namespace
}  // namespace latchkey::comparison_test
