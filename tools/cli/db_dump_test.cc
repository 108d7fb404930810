#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "tools/cli/db_dump_format.h"

namespace latchkey::db_dump_test {
namespace {

using Content = std::vector<std::pair<std::string, std::map<std::string, std::string>>>;

std::string RandomBytes(Rng& rng, size_t longest) {
  std::string bytes(rng.Below(longest + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.Below(256));
  return bytes;
}

Content RandomContent(uint64_t seed, size_t records) {
  Rng rng(seed);
  Content content = {{"accounts", {}}, {std::string("b\0\t\n", 4), {}}, {"empty", {}}};
  for (size_t i = 0; i < records; ++i) {
    content[rng.Below(2)].second[RandomBytes(rng, 24)] = RandomBytes(rng, 60);
  }
  return content;
}

std::string Write(DumpForm form, const Content& content) {
  StringSink sink;
  const auto writer = NewDumpWriter(form, sink).value();
  for (const auto& [name, records] : content) {
    REQUIRE(writer->Tree(name).ok());
    for (const auto& [key, value] : records) REQUIRE(writer->Record(key, value).ok());
  }
  REQUIRE(writer->Finish().ok());
  return sink.bytes();
}

class Collect final : public DumpVisitor {
 public:
  absl::Status OnTree(std::string_view name) override {
    content.emplace_back(std::string(name), std::map<std::string, std::string>());
    return absl::OkStatus();
  }
  absl::Status OnRecord(std::string_view key, std::string_view value) override {
    content.back().second[std::string(key)] = std::string(value);
    return absl::OkStatus();
  }
  Content content;
};

absl::StatusOr<DumpSummary> Read(const std::string& bytes, Content* content) {
  StringSource source(bytes);
  Collect collect;
  absl::StatusOr<DumpSummary> summary =
      ReadDump(source, collect, [](uint64_t) { return absl::OkStatus(); });
  *content = std::move(collect.content);
  return summary;
}

std::string MessageOf(const std::string& dump) {
  Content content;
  const absl::Status status = Read(dump, &content).status();
  REQUIRE(absl::IsDataLoss(status));
  return std::string(status.message());
}

}  // namespace

TEST_CASE("a dump of either form reads back as what was written") {
  for (const DumpForm form : {DumpForm::kText, DumpForm::kBinary}) {
    for (const size_t records : {0, 1, 3000}) {
      const Content content = RandomContent(records, records);
      Content read;
      const auto summary = Read(Write(form, content), &read);
      REQUIRE(summary.ok());
      CHECK(read == content);
      CHECK(summary->trees == 3);
    }
  }
}

TEST_CASE("both forms of the same content have the same digest") {
  const Content content = RandomContent(7, 2500);
  Content read;
  const auto text = Read(Write(DumpForm::kText, content), &read);
  const auto binary = Read(Write(DumpForm::kBinary, content), &read);
  CHECK(*text == *binary);
}

TEST_CASE("every dump that was cut off is refused with the line or byte where it ends") {
  const Content content = RandomContent(3, kSanitizer ? 12 : 40);
  for (const DumpForm form : {DumpForm::kText, DumpForm::kBinary}) {
    const std::string whole = Write(form, content);
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string message = MessageOf(whole.substr(0, size));
      const bool placed = message.find(" at line ") != std::string::npos ||
                          message.find(" at byte ") != std::string::npos;
      INFO(message);
      REQUIRE(placed);
    }
  }
}

TEST_CASE("a mutated dump is refused or holds what was dumped") {
  Rng rng(42);
  for (const DumpForm form : {DumpForm::kText, DumpForm::kBinary}) {
    const Content content = RandomContent(5, 60);
    const std::string whole = Write(form, content);
    size_t refused = 0;
    constexpr int kMutations = kSanitizer ? 2'000 : 20'000;
    for (int i = 0; i < kMutations; ++i) {
      std::string mutated = whole;
      const size_t at = rng.Below(mutated.size());
      switch (rng.Below(4)) {
        case 0:
          mutated[at] = static_cast<char>(mutated[at] ^ (1 << rng.Below(8)));
          break;
        case 1:
          mutated.erase(at, 1 + rng.Below(40));
          break;
        case 2:
          mutated.insert(at, mutated.substr(rng.Below(mutated.size()), 1 + rng.Below(40)));
          break;
        default:
          for (size_t j = at; j < std::min(mutated.size(), at + 4); ++j) {
            mutated[j] = static_cast<char>(rng.Below(256));
          }
      }
      Content read;
      const auto summary = Read(mutated, &read);
      if (!summary.ok()) {
        ++refused;
      } else {
        REQUIRE(read == content);
      }
    }
    // Text has several spellings: hexadecimal digits of either case, \n for \x0a.
    CHECK(refused > kMutations * 9 / 10);
  }
}

TEST_CASE("a binary dump whose block claims to be huge is refused by what is there") {
  std::string dump = Write(DumpForm::kBinary, {{"t", {{"k", "v"}}}});
  dump[24 + 3] = 0x3f;  // the payload size of the first block: about a gibibyte
  CHECK(MessageOf(dump).find("byte 40: it ends within a block") != std::string::npos);
  dump[24 + 3] = '\x7f';
  CHECK(MessageOf(dump).find("byte 24: a block of") != std::string::npos);
  CHECK(MessageOf(dump).find("take the dump again") != std::string::npos);
}

TEST_CASE("a binary dump of a newer version is refused with the remedy") {
  std::string dump = Write(DumpForm::kBinary, {});
  dump[8] = 2;
  const uint64_t checksum = Hash64(dump.data(), 16);
  dump.replace(16, 8, reinterpret_cast<const char*>(&checksum), 8);
  Content content;
  const absl::Status status = Read(dump, &content).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(std::string(status.message()).find("use a newer program") != std::string::npos);
}

TEST_CASE("text dumps may be written and edited by hand") {
  Content content;
  const auto summary = Read(
      "latchkey-dump text 1\n# mine\n\ntree t\r\n=a\t1\\n\n=b\t\ncheck -\nend - 2 -\n", &content);
  REQUIRE(summary.ok());
  CHECK(content == Content{{"t", {{"a", "1\n"}, {"b", ""}}}});
}

TEST_CASE("what has the mark of no dump is no dump, and what has it is a damaged one") {
  const auto code_of = [](const std::string& bytes) {
    Content content;
    return Read(bytes, &content).status().code();
  };
  const std::string text = Write(DumpForm::kText, {{"t", {{"k", "v"}}}});
  const std::string binary = Write(DumpForm::kBinary, {{"t", {{"k", "v"}}}});
  for (const std::string& foreign :
       {std::string("{\"schema\": 1}\n"), std::string("Lorem ipsum dolor sit amet, consectetur"),
        std::string("Lorem"), std::string("latchkey-backup 1\n"), std::string(4096, '\0'),
        std::string("LATCHKEY\2\0\0\0", 12)}) {
    CAPTURE(foreign);
    CHECK(code_of(foreign) == absl::StatusCode::kInvalidArgument);
  }
  // One flipped bit in the rest of the header, a conversion of line breaks, and nothing at all.
  std::string converted = binary;
  converted.erase(converted.find('\r'), 1);
  std::string flipped = text;
  flipped[16] ^= 1;
  for (const std::string& damaged : {flipped, converted, std::string()}) {
    CAPTURE(damaged);
    CHECK(code_of(damaged) == absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("what is wrong in a text dump is said with its line") {
  const std::string begin = "latchkey-dump text 1\ntree t\n";
  CHECK(MessageOf("latchkey-dump text 2\n").find("line 1: it does not begin with") !=
        std::string::npos);
  CHECK(MessageOf(begin + "=a\n").find("line 3: no tab") != std::string::npos);
  CHECK(MessageOf(begin + "=a\t\\q\n").find("line 3: a backslash") != std::string::npos);
  CHECK(MessageOf(begin + "=a\tb\tc\n").find("line 3: more than a line") != std::string::npos);
  CHECK(MessageOf(begin + "=a\t\x80\n").find("line 3: byte \\x80") != std::string::npos);
  CHECK(MessageOf(begin + "=" + std::string(1025, 'k') + "\tv\n").find("more than 1024 bytes") !=
        std::string::npos);
  CHECK(MessageOf(begin + "wh\tt\n").find("line 3: byte \\x09 behind \"wh\"") != std::string::npos);
  CHECK(MessageOf(begin + "what\n").find("line 3: it begins with \"what\"") != std::string::npos);
  CHECK(MessageOf(begin + "=a\tb\ncheck 0\n").find("lines 1 to 3 do not add up") !=
        std::string::npos);
  CHECK(MessageOf(begin + "end 1 7 -\n").find("number of records 7") != std::string::npos);
  CHECK(MessageOf(begin + "end - - -\nmore\n").find("line 4: something behind the end") !=
        std::string::npos);
  CHECK(MessageOf("latchkey-dump text 1\n=a\tb\n").find("before the first tree") !=
        std::string::npos);
}

}  // namespace latchkey::db_dump_test
