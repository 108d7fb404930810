#include <absl/container/flat_hash_map.h>

#include <bit>
#include <utility>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/runtime/runtime.h"
#include "tools/trace/fix_trace.h"
#include "tools/trace/fix_trace_format.h"
#include "tools/trace/trace_bytes.h"

namespace latchkey {

using namespace fix_trace;
static_assert(std::endian::native == std::endian::little);

class FixTraceDecoder::Decoding {
 public:
  explicit Decoding(std::string path) : path_(std::move(path)) {}

  absl::Status Add(std::string_view bytes) {
    pending_.append(bytes);
    size_t used = 0;
    for (;;) {
      LATCHKEY_ASSIGN_OR_RETURN(const size_t size,
                                TakePart(std::string_view(pending_).substr(used)));
      if (size == 0) break;
      used += size;
      position_ += size;
    }
    pending_.erase(0, used);
    return absl::OkStatus();
  }

  absl::StatusOr<FixTrace> Finish() {
    if (!ended_) {
      return InvalidArgument(
          "{}: the trace ends at byte {}, within what begins at byte {}: it is truncated; record "
          "it "
          "anew",
          path_, position_ + pending_.size(), position_);
    }
    ResolveNewPages();
    return std::move(trace_);
  }

 private:
  template <typename... Args>
  absl::Status Damaged(fmt::format_string<Args...> reason, Args&&... args) const {
    return InvalidArgument("{}: the trace is damaged at byte {}: {}; record it anew", path_,
                           position_, fmt::format(reason, std::forward<Args>(args)...));
  }

  /// Takes the magic or a block from the front. Returns its size; 0: it is not complete.
  absl::StatusOr<size_t> TakePart(std::string_view bytes) {
    if (bytes.empty()) return 0;
    if (position_ == 0) {
      if (bytes.substr(0, kFixTraceMagic.size()) != kFixTraceMagic.substr(0, bytes.size())) {
        return InvalidArgument(
            "{}: it does not begin with {}: it is no trace of fixes; record one into another file, "
            "by tpcc-lite run or bench with --trace=FILE",
            path_, kFixTraceMagic);
      }
      return bytes.size() < kFixTraceMagic.size() ? 0 : kFixTraceMagic.size();
    }
    if (ended_) return Damaged("bytes follow its end");
    BlockHeader header;
    if (bytes.size() < sizeof(header)) return 0;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.size > kMaxContent) return Damaged("a block of {} bytes", header.size);
    if (bytes.size() < sizeof(header) + header.size) return 0;
    const std::string_view content = bytes.substr(sizeof(header), header.size);
    if (ChecksumOf(header, content.data(), position_) != header.checksum) {
      return Damaged("the checksum of the block is wrong");
    }
    LATCHKEY_RETURN_IF_ERROR(CatchOutOfMemory([&] { return Take(header.kind, content); }));
    return sizeof(header) + header.size;
  }

  absl::Status Take(uint32_t kind, std::string_view content) {
    const bool first = position_ == kFixTraceMagic.size();
    if (first != (kind == kHeaderBlock)) return Damaged("a block of kind {} here", kind);
    if (kind == kHeaderBlock) return TakeHeader(content);
    if (kind == kFixesBlock) return TakeRecords(content);
    if (kind == kEndBlock) return TakeEnd(content);
    return Damaged("a block of kind {}", kind);
  }

  absl::Status TakeHeader(std::string_view content) {
    const Json json = Json::parse(content, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("page_size") ||
        !json["page_size"].is_number_unsigned() || !json.contains("trees") ||
        !json["trees"].is_array() || !json.contains("settings") ||
        json["trees"].size() > kMaxTracedTrees) {
      return Damaged("no header");
    }
    trace_.header.page_size = json["page_size"].get<uint32_t>();
    trace_.header.settings = json["settings"];
    for (const Json& tree : json["trees"]) {
      if (!tree.is_object() || !tree.contains("root") || !tree["root"].is_number_unsigned() ||
          !tree.contains("name") || !tree["name"].is_string() || !tree.contains("secondary") ||
          !tree["secondary"].is_boolean()) {
        return Damaged("a tree in the header");
      }
      trace_.header.trees.push_back({PageId{tree["root"].get<uint64_t>()},
                                     tree["name"].get<std::string>(),
                                     tree["secondary"].get<bool>()});
    }
    return absl::OkStatus();
  }

  absl::Status TakeRecords(std::string_view content) {
    uint64_t actor = 0;
    if (!TakeVarint(&content, &actor) || actor >= Runtime::kMaxActors) return Damaged("an actor");
    FixRecord record;
    record.actor = static_cast<uint16_t>(actor);
    uint64_t sequence = 0;
    while (!content.empty()) {
      const auto bits = static_cast<uint8_t>(content.front());
      content.remove_prefix(1);
      if ((bits & 7) >= kFixKinds || (bits & kUnusedBit) != 0) return Damaged("the kind {}", bits);
      record.kind_bits = bits & 7;
      record.missed = (bits & kMissedBit) != 0 ? 1 : 0;
      record.type_bits = (bits >> kTypeShift) & kTypeMask;
      if ((bits & kTreeBit) != 0) {
        if (content.empty()) return Damaged("a record without its tree");
        record.tree = static_cast<uint8_t>(content.front());
        content.remove_prefix(1);
        if (record.tree != FixRecord::kOtherTree && record.tree >= trace_.header.trees.size()) {
          return Damaged("tree {} of {}", record.tree, trace_.header.trees.size());
        }
      }
      uint64_t page_step = 0, sequence_step = 0;
      if (!TakeVarint(&content, &page_step) || !TakeVarint(&content, &sequence_step)) {
        return Damaged("a record that is not complete");
      }
      record.page = static_cast<uint32_t>(record.page + static_cast<uint64_t>(UnZigZag(page_step)));
      sequence += sequence_step;
      LATCHKEY_RETURN_IF_ERROR(Place(record, sequence++));
    }
    return absl::OkStatus();
  }

  absl::Status Place(FixRecord record, uint64_t sequence) {
    if (sequence >= kMostRecords) return Damaged("a record with the number {}", sequence);
    if (sequence >= trace_.records.size()) trace_.records.resize(sequence + 1);
    FixRecord& place = trace_.records[sequence];
    if (place.present != 0) return Damaged("two records with the number {}", sequence);
    record.present = 1;
    place = record;
    ++placed_;
    return absl::OkStatus();
  }

  absl::Status TakeEnd(std::string_view content) {
    const Json json = Json::parse(content, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("records") || !json["records"].is_number_unsigned() ||
        !json.contains("limited") || !json["limited"].is_boolean() || !json.contains("totals")) {
      return Damaged("no end");
    }
    const auto records = json["records"].get<uint64_t>();
    if (placed_ != records || trace_.records.size() != records) {
      return Damaged("it has {} of {} records", placed_, records);
    }
    trace_.limited = json["limited"].get<bool>();
    trace_.totals = json["totals"];
    ended_ = true;
    return absl::OkStatus();
  }

  /// When a page is new, nobody has written its type yet. Its next record shows it.
  void ResolveNewPages() {
    absl::flat_hash_map<uint32_t, FixRecord> later;
    for (auto record = trace_.records.rbegin(); record != trace_.records.rend(); ++record) {
      if (record->kind() == FixKind::kNew) {
        const auto found = later.find(record->page);
        if (found == later.end()) continue;
        record->type_bits = found->second.type_bits;
        if (record->tree == FixRecord::kOtherTree) record->tree = found->second.tree;
        later.erase(found);
      } else {
        later[record->page] = *record;
      }
    }
  }

  static constexpr uint64_t kMostRecords = uint64_t{1} << 32;

  const std::string path_;
  std::string pending_;
  uint64_t position_ = 0;  // of pending_ in the trace
  uint64_t placed_ = 0;
  bool ended_ = false;
  FixTrace trace_;
};

FixTraceDecoder::FixTraceDecoder(std::string path)
    : decoding_(std::make_unique<Decoding>(std::move(path))) {}
FixTraceDecoder::~FixTraceDecoder() = default;
absl::Status FixTraceDecoder::Add(std::string_view bytes) { return decoding_->Add(bytes); }
absl::StatusOr<FixTrace> FixTraceDecoder::Finish() && { return decoding_->Finish(); }

absl::StatusOr<FixTrace> ReadFixTrace(const std::string& path) {
  FixTraceDecoder decoder(path);
  LATCHKEY_RETURN_IF_ERROR(
      ReadTraceBytes(path, [&](std::string_view bytes) { return decoder.Add(bytes); }));
  return std::move(decoder).Finish();
}

}  // namespace latchkey
