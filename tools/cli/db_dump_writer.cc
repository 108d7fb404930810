#include <fmt/format.h>

#include <cstring>

#include "storage/base/status_macros.h"
#include "tools/cli/db_dump_internal.h"
#include "tools/cli/db_text.h"

namespace latchkey {
namespace {

using namespace dump;  // NOLINT(build/namespaces): the constants of the formats

uint64_t AddToDigest(uint64_t digest, int what, std::string_view bytes) {
  return Hash64(bytes, MixHash(digest + static_cast<uint64_t>(what)) ^ bytes.size());
}

void AppendInteger(uint64_t value, size_t size, std::string* to) {
  to->append(reinterpret_cast<const char*>(&value),
             size);  // little-endian, as page_format.h asserts
}

class TextDumpWriter final : public DumpWriter {
 public:
  explicit TextDumpWriter(ByteSink& sink) : sink_(sink) {
    buffer_.append(kTextHeader).push_back('\n');
  }

  absl::Status Tree(std::string_view name) override {
    summary_.AddTree(name);
    buffer_.append("tree ");
    AppendEscaped(name, &buffer_);
    buffer_.push_back('\n');
    return FlushIfLarge();
  }
  absl::Status Record(std::string_view key, std::string_view value) override {
    summary_.AddRecord(key, value);
    buffer_.push_back('=');
    AppendEscaped(key, &buffer_);
    buffer_.push_back('\t');
    AppendEscaped(value, &buffer_);
    buffer_.push_back('\n');
    if (summary_.records % kCheckInterval == 0) {
      buffer_ += fmt::format("check {:016x}\n", summary_.digest);
    }
    return FlushIfLarge();
  }
  absl::Status Finish() override {
    buffer_ +=
        fmt::format("end {} {} {:016x}\n", summary_.trees, summary_.records, summary_.digest);
    LATCHKEY_RETURN_IF_ERROR(Flush());
    return sink_.Finish();
  }

 private:
  absl::Status FlushIfLarge() { return buffer_.size() < kBlockTarget ? absl::OkStatus() : Flush(); }
  absl::Status Flush() {
    absl::Status written = sink_.Write(buffer_);
    buffer_.clear();
    return written;
  }

  ByteSink& sink_;
  std::string buffer_;
};

class BinaryDumpWriter final : public DumpWriter {
 public:
  explicit BinaryDumpWriter(ByteSink& sink) : sink_(sink) {}

  absl::Status WriteHeader() {
    std::string header(kBinaryMagic);
    AppendInteger(kBinaryVersion, 4, &header);
    AppendInteger(0, 4, &header);
    AppendInteger(Hash64(header), 8, &header);
    return sink_.Write(header);
  }
  absl::Status Tree(std::string_view name) override {
    LATCHKEY_RETURN_IF_ERROR(FlushRecords());
    summary_.AddTree(name);
    return WriteBlock(BlockKind::kTree, name);
  }
  absl::Status Record(std::string_view key, std::string_view value) override {
    summary_.AddRecord(key, value);
    AppendInteger(key.size(), 4, &records_);
    AppendInteger(value.size(), 4, &records_);
    records_.append(key).append(value);
    return records_.size() < kBlockTarget ? absl::OkStatus() : FlushRecords();
  }
  absl::Status Finish() override {
    LATCHKEY_RETURN_IF_ERROR(FlushRecords());
    std::string end;
    for (const uint64_t field : {summary_.trees, summary_.records, summary_.digest}) {
      AppendInteger(field, 8, &end);
    }
    LATCHKEY_RETURN_IF_ERROR(WriteBlock(BlockKind::kEnd, end));
    return sink_.Finish();
  }

 private:
  absl::Status FlushRecords() {
    if (records_.empty()) return absl::OkStatus();
    absl::Status written = WriteBlock(BlockKind::kRecords, records_);
    records_.clear();
    return written;
  }
  absl::Status WriteBlock(BlockKind kind, std::string_view payload) {
    const auto number_of_kind = static_cast<uint32_t>(kind);
    std::string header;
    AppendInteger(payload.size(), 4, &header);
    AppendInteger(number_of_kind, 4, &header);
    AppendInteger(BlockChecksum(blocks_++, number_of_kind, payload), 8, &header);
    LATCHKEY_RETURN_IF_ERROR(sink_.Write(header));
    return sink_.Write(payload);
  }

  ByteSink& sink_;
  std::string records_;
  uint64_t blocks_ = 0;
};

}  // namespace

void DumpSummary::AddTree(std::string_view name) {
  ++trees;
  digest = AddToDigest(digest, 1, name);
}

void DumpSummary::AddRecord(std::string_view key, std::string_view value) {
  ++records;
  bytes += key.size() + value.size();
  digest = AddToDigest(AddToDigest(digest, 2, key), 3, value);
}

absl::StatusOr<std::unique_ptr<DumpWriter>> NewDumpWriter(DumpForm form, ByteSink& sink) {
  if (form == DumpForm::kText) return std::make_unique<TextDumpWriter>(sink);
  auto writer = std::make_unique<BinaryDumpWriter>(sink);
  LATCHKEY_RETURN_IF_ERROR(writer->WriteHeader());
  return writer;
}

}  // namespace latchkey
