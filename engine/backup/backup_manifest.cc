#include "engine/backup/backup_manifest.h"

#include <charconv>
#include <optional>
#include <span>

#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr uint64_t kVersion = 1;
constexpr std::string_view kFinished = "latchkey-backup", kBegun = "latchkey-backup-begun";
constexpr std::string_view kChecksum = "checksum ";

absl::Status NoManifest(std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss, "the manifest is damaged: {}; use another backup",
                    what);
}

void AppendFile(std::string_view kind, const BackupManifest::File& file, std::string* text) {
  *text += fmt::format("{} {} {} {:016x}\n", kind, file.name, file.bytes, file.hash);
}

// Reads words that are separated by blanks and line ends.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::string_view Next() {
    const size_t end = std::min(text_.find_first_of(" \n"), text_.size());
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return word;
  }
  bool Expect(std::string_view word) { return Next() == word; }
  bool Number(uint64_t* number, int base = 10) {
    const std::string_view word = Next();
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), *number, base);
    return error == std::errc() && end == word.data() + word.size() && !word.empty();
  }
  bool Named(std::string_view name, uint64_t* number, int base = 10) {
    return Expect(name) && Number(number, base);
  }
  bool Named(std::string_view name, uint32_t* number) {
    uint64_t wide = 0;
    const bool found = Named(name, &wide) && wide <= UINT32_MAX;
    *number = static_cast<uint32_t>(wide);
    return found;
  }
  bool File(std::string_view kind, BackupManifest::File* file) {
    if (!Expect(kind)) return false;
    file->name = std::string(Next());
    return !file->name.empty() && file->name.find('/') == std::string::npos &&
           Number(&file->bytes) && Number(&file->hash, 16);
  }

 private:
  std::string_view text_;
};

std::string ToHex(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return hex;
}

std::optional<std::vector<std::byte>> FromHex(std::string_view hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    const char* at = hex.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, value, 16);
    if (error != std::errc() || end != at + 2) return std::nullopt;
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

absl::Status ParseEnd(Words& words, BackupManifest* m) {
  uint64_t files = 0;
  if (!words.Named("pages", &m->pages) || !words.Named("resumed-pages", &m->resumed_pages) ||
      !words.Named("page-ids", &m->page_ids) ||
      !words.Named("log-segment", &m->log_shape.segment_bytes) ||
      !words.Named("log-block", &m->log_shape.block_bytes) || !words.Expect("root")) {
    return NoManifest("a number is missing");
  }
  const auto root = FromHex(words.Next());
  if (!root) return NoManifest("the root is no hexadecimal number");
  LATCHKEY_ASSIGN_OR_RETURN(m->root, DecodeClientRoot(*root));
  if (!words.Named("page-files", &files) || files > 1'000'000) return NoManifest("page-files");
  for (uint64_t i = 0; i < files; ++i) {
    if (!words.File("file", &m->page_files.emplace_back())) return NoManifest("a file");
  }
  if (!words.File("log", &m->log_file)) return NoManifest("the file of the log");
  return absl::OkStatus();
}

}  // namespace

BackupInfo BackupManifest::Info() const {
  BackupInfo info{.number = number,
                  .id = id,
                  .parent_id = parent_id,
                  .database_id = database_id,
                  .pages = pages,
                  .resumed_pages = resumed_pages,
                  .bytes = log_file.bytes,
                  .log_bytes = log_file.bytes};
  for (const File& file : page_files) info.bytes += file.bytes;
  return info;
}

std::string EncodeManifest(const BackupManifest& m, bool finished) {
  std::string text = fmt::format("{} {}\nnumber {}\nid {:016x}\nparent {:016x}\ndatabase {:016x}\n",
                                 finished ? kFinished : kBegun, kVersion, m.number, m.id,
                                 m.parent_id, m.database_id);
  text += fmt::format("page-size {}\nclock {}\n", m.page_size, m.clock);
  if (finished) {
    text += fmt::format(
        "pages {}\nresumed-pages {}\npage-ids {}\nlog-segment {}\nlog-block {}\nroot {}\n"
        "page-files {}\n",
        m.pages, m.resumed_pages, m.page_ids, m.log_shape.segment_bytes, m.log_shape.block_bytes,
        ToHex(EncodeClientRoot(m.root)), m.page_files.size());
    for (const BackupManifest::File& file : m.page_files) AppendFile("file", file, &text);
    AppendFile("log", m.log_file, &text);
  }
  return text + fmt::format("{}{:016x}\n", kChecksum, Hash64(text));
}

absl::StatusOr<BackupManifest> DecodeManifest(std::string_view text, bool finished) {
  Words words(text);
  uint64_t version = 0;
  if (!words.Named(finished ? kFinished : kBegun, &version)) {
    return NoManifest("it does not begin as one");
  }
  if (version > kVersion) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the backup has format {}, this program reads formats up to {}: use a newer "
                      "program",
                      version, kVersion);
  }
  const size_t end = text.rfind(kChecksum);
  if (end == std::string_view::npos ||
      text.substr(end) != fmt::format("{}{:016x}\n", kChecksum, Hash64(text.substr(0, end)))) {
    return NoManifest("its checksum is wrong");
  }
  BackupManifest m;
  if (!words.Named("number", &m.number) || !words.Named("id", &m.id, 16) ||
      !words.Named("parent", &m.parent_id, 16) || !words.Named("database", &m.database_id, 16) ||
      !words.Named("page-size", &m.page_size) || !words.Named("clock", &m.clock) ||
      !IsValidPageSize(m.page_size)) {
    return NoManifest("a number is missing or out of its range");
  }
  if (finished) LATCHKEY_RETURN_IF_ERROR(ParseEnd(words, &m));
  // Text that the words above skip is no part of a manifest.
  if (EncodeManifest(m, finished) != text) return NoManifest("it holds more than a manifest");
  return m;
}

}  // namespace latchkey
