// Reading text dumps.
#include <charconv>

#include "storage/base/status_macros.h"
#include "tools/cli/db_dump_internal.h"
#include "tools/cli/db_text.h"

namespace latchkey {
namespace dump {
namespace {

constexpr size_t kMaxWord = 32;

class TextReader {
 public:
  TextReader(BufferedSource& source, DumpVisitor& visitor) : source_(source), visitor_(visitor) {}

  absl::Status ReadHeader();
  absl::Status ReadLine();
  bool ended() const { return ended_; }
  absl::Status CheckNothingFollows();
  const DumpSummary& summary() const { return summary_; }

 private:
  template <typename... Args>
  absl::Status Bad(fmt::format_string<Args...> format, Args&&... args) {
    LATCHKEY_RETURN_IF_ERROR(source_.status());
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "the dump is malformed at line {}: {}; mend the line, {}", line_,
                      fmt::format(format, std::forward<Args>(args)...), kTakeAgain);
  }
  /// Reads escaped bytes up to a tab or the end of the line, which it does not consume.
  absl::Status ReadBytes(const char* what, size_t limit, std::string* bytes);
  absl::Status ReadEscape(std::string* bytes);
  /// Reads up to a space or the end of the line.
  absl::Status ReadWord(std::string* word);
  absl::Status ExpectSpace();
  absl::Status ExpectLineEnd();
  absl::Status SkipLine();
  absl::Status ReadTree();
  absl::Status ReadRecord();
  absl::Status ReadCheck();
  absl::Status ReadEnd();
  absl::Status CheckNumber(const char* what, int base, uint64_t expected);

  BufferedSource& source_;
  DumpVisitor& visitor_;
  DumpSummary summary_;
  std::string key_, value_, word_;
  uint64_t line_ = 1;
  uint64_t checked_line_ = 1;  // all lines before it are checked
  bool in_tree_ = false, ended_ = false;
};

absl::Status TextReader::ReadEscape(std::string* bytes) {
  std::string escape = "\\";
  const int kind = source_.Get();
  if (kind != BufferedSource::kEnd) escape.push_back(static_cast<char>(kind));
  for (int i = 0; kind == 'x' && i < 2; ++i) {
    const int digit = source_.Peek();
    if (digit == BufferedSource::kEnd || HexDigit(static_cast<char>(digit)) < 0) break;
    escape.push_back(static_cast<char>(source_.Get()));
  }
  const absl::StatusOr<std::string> byte = Unescape(escape);
  if (!byte.ok()) return Bad("a backslash begins \\\\, \\n, \\r, \\t or \\xNN");
  bytes->append(*byte);
  return absl::OkStatus();
}

absl::Status TextReader::ReadBytes(const char* what, size_t limit, std::string* bytes) {
  bytes->clear();
  for (;;) {
    const int next = source_.Peek();
    if (next == '\t' || next == '\n' || next == '\r') return absl::OkStatus();
    if (next == BufferedSource::kEnd) return Bad("it ends within {}", what);
    if (next < 32 || next > 126) return Bad("byte \\x{:02x} in {}; escape it", next, what);
    if (bytes->size() >= limit) return Bad("{} has more than {} bytes", what, limit);
    source_.Get();
    if (next != '\\') {
      bytes->push_back(static_cast<char>(next));
    } else {
      LATCHKEY_RETURN_IF_ERROR(ReadEscape(bytes));
    }
  }
}

absl::Status TextReader::ReadWord(std::string* word) {
  word->clear();
  for (;;) {
    const int next = source_.Peek();
    if (next == ' ' || next == '\n' || next == '\r' || next == BufferedSource::kEnd) {
      return absl::OkStatus();
    }
    if (next < 32 || next > 126) return Bad("byte \\x{:02x} behind \"{}\"", next, *word);
    if (word->size() >= kMaxWord) {
      return Bad("\"{}\" is no word of a dump, which has at most {} characters", *word, kMaxWord);
    }
    word->push_back(static_cast<char>(source_.Get()));
  }
}

absl::Status TextReader::ExpectSpace() {
  return source_.Get() == ' ' ? absl::OkStatus() : Bad("a space and a value are missing");
}

absl::Status TextReader::ExpectLineEnd() {
  if (source_.Peek() == '\r') source_.Get();
  const int next = source_.Get();
  if (next == BufferedSource::kEnd) return Bad("it ends without a line end");
  if (next != '\n') return Bad("more than a line should hold: byte \\x{:02x} at its end", next);
  ++line_;
  return absl::OkStatus();
}

absl::Status TextReader::SkipLine() {
  for (;;) {
    const int next = source_.Get();
    if (next == BufferedSource::kEnd) return Bad("it ends without an end line");
    if (next == '\n') break;
  }
  ++line_;
  return absl::OkStatus();
}

absl::Status TextReader::ReadHeader() {
  for (size_t at = 0; at < kTextHeader.size(); ++at) {
    const int next = source_.Get();
    if (next == kTextHeader[at]) continue;
    if (at < kTextMark.size() && next != BufferedSource::kEnd) return NotADump();
    return Bad("it does not begin with \"{}\": not a dump, or one of another version", kTextHeader);
  }
  return ExpectLineEnd();
}

absl::Status TextReader::ReadTree() {
  LATCHKEY_RETURN_IF_ERROR(ExpectSpace());
  LATCHKEY_RETURN_IF_ERROR(ReadBytes("a tree name", Database::kMaxTreeNameSize, &key_));
  if (key_.empty()) return Bad("a tree without a name");
  LATCHKEY_RETURN_IF_ERROR(ExpectLineEnd());
  in_tree_ = true;
  summary_.AddTree(key_);
  return visitor_.OnTree(key_);
}

absl::Status TextReader::ReadRecord() {
  source_.Get();
  if (!in_tree_) return Bad("a record before the first tree");
  LATCHKEY_RETURN_IF_ERROR(ReadBytes("a key", Database::kMaxKeySize, &key_));
  if (source_.Get() != '\t') return Bad("no tab between key and value");
  LATCHKEY_RETURN_IF_ERROR(ReadBytes("a value", Database::kMaxValueSize, &value_));
  LATCHKEY_RETURN_IF_ERROR(ExpectLineEnd());
  summary_.AddRecord(key_, value_);
  return visitor_.OnRecord(key_, value_);
}

absl::Status TextReader::CheckNumber(const char* what, int base, uint64_t expected) {
  LATCHKEY_RETURN_IF_ERROR(ExpectSpace());
  LATCHKEY_RETURN_IF_ERROR(ReadWord(&word_));
  if (word_ == "-") return absl::OkStatus();
  uint64_t number = 0;
  const char* end = word_.data() + word_.size();
  const auto [stopped, error] = std::from_chars(word_.data(), end, number, base);
  if (word_.empty() || error != std::errc() || stopped != end) {
    return Bad("\"{}\" is no {}", word_, what);
  }
  if (number == expected) return absl::OkStatus();
  return Bad("lines {} to {} do not add up to the {} {} given here", checked_line_, line_ - 1, what,
             word_);
}

absl::Status TextReader::ReadCheck() {
  LATCHKEY_RETURN_IF_ERROR(CheckNumber("digest", 16, summary_.digest));
  LATCHKEY_RETURN_IF_ERROR(ExpectLineEnd());
  checked_line_ = line_;
  return absl::OkStatus();
}

absl::Status TextReader::ReadEnd() {
  const uint64_t checked_line = std::exchange(checked_line_, 1);
  LATCHKEY_RETURN_IF_ERROR(CheckNumber("number of trees", 10, summary_.trees));
  LATCHKEY_RETURN_IF_ERROR(CheckNumber("number of records", 10, summary_.records));
  checked_line_ = checked_line;
  LATCHKEY_RETURN_IF_ERROR(CheckNumber("digest", 16, summary_.digest));
  LATCHKEY_RETURN_IF_ERROR(ExpectLineEnd());
  ended_ = true;
  return absl::OkStatus();
}

absl::Status TextReader::ReadLine() {
  switch (source_.Peek()) {
    case '=':
      return ReadRecord();
    case '#':
    case '\n':
      return SkipLine();
    case BufferedSource::kEnd:
      return Bad("it ends without an end line");
    default:
      break;
  }
  LATCHKEY_RETURN_IF_ERROR(ReadWord(&word_));
  if (word_ == "tree") return ReadTree();
  if (word_ == "check") return ReadCheck();
  if (word_ == "end") return ReadEnd();
  return Bad("it begins with \"{}\" in place of =, tree, check, end or #", word_);
}

absl::Status TextReader::CheckNothingFollows() {
  if (source_.Peek() != BufferedSource::kEnd) return Bad("something behind the end line");
  return source_.status();
}

}  // namespace

absl::StatusOr<DumpSummary> ReadText(BufferedSource& source, DumpVisitor& visitor,
                                     Position position) {
  constexpr uint64_t kLinesBetweenPositions = 1024;
  TextReader reader(source, visitor);
  LATCHKEY_RETURN_IF_ERROR(reader.ReadHeader());
  for (uint64_t lines = 1; !reader.ended(); ++lines) {
    LATCHKEY_RETURN_IF_ERROR(reader.ReadLine());
    if (lines % kLinesBetweenPositions == 0) LATCHKEY_RETURN_IF_ERROR(position(source.offset()));
  }
  LATCHKEY_RETURN_IF_ERROR(reader.CheckNothingFollows());
  return reader.summary();
}

}  // namespace dump

absl::StatusOr<DumpSummary> ReadDump(ByteSource& source, DumpVisitor& visitor,
                                     absl::FunctionRef<absl::Status(uint64_t)> position) {
  BufferedSource buffered(source);
  switch (buffered.Peek()) {
    case 'L':
      return dump::ReadBinary(buffered, visitor, position);
    case BufferedSource::kEnd:
      LATCHKEY_RETURN_IF_ERROR(buffered.status());
      break;
    default:
      break;
  }
  return dump::ReadText(buffered, visitor, position);
}

}  // namespace latchkey
