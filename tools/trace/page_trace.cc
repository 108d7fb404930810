#include "tools/trace/page_trace.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "storage/base/status_macros.h"
#include "tools/trace/fix_trace.h"
#include "tools/trace/trace_bytes.h"

namespace latchkey {
namespace {

constexpr uint64_t kWriteBit = uint64_t{1} << 63;

// Turns bytes into requests. Ids below a bound are renumbered through an array, the others through
// a hash table.
class TraceBuilder {
 public:
  absl::Status Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t taken = std::min(bytes.size(), sizeof(uint64_t) - partial_size_);
      std::memcpy(partial_ + partial_size_, bytes.data(), taken);
      partial_size_ += taken;
      bytes.remove_prefix(taken);
      if (partial_size_ < sizeof(uint64_t)) break;
      partial_size_ = 0;
      uint64_t request;
      std::memcpy(&request, partial_, sizeof(request));
      LATCHKEY_RETURN_IF_ERROR(AddRequest(request));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<PageTrace> Finish(const std::string& path) && {
    if (partial_size_ != 0) {
      return InvalidArgument(
          "{}: the trace ends within request {}, which has {} of 8 bytes: it is truncated, or no "
          "trace of 64-bit page ids",
          path, trace_.pages.size(), partial_size_);
    }
    if (trace_.pages.empty()) return InvalidArgument("{}: the trace has no request", path);
    if (!writes_) trace_.writes.clear();
    trace_.unique_pages = unique_;
    return std::move(trace_);
  }

 private:
  static constexpr uint64_t kArrayIds = uint64_t{1} << 24;
  static constexpr uint32_t kNew = UINT32_MAX;

  absl::Status AddRequest(uint64_t request) {
    static_assert(std::endian::native == std::endian::little);
    const uint64_t id = request & ~kWriteBit;
    uint32_t& number = id < kArrayIds ? SmallNumber(id) : Number(id);
    if (number == kNew) {
      if (unique_ == kNew) {
        return MakeStatus(absl::StatusCode::kResourceExhausted,
                          "request {}: a trace may have {} different pages at most",
                          trace_.pages.size(), kNew);
      }
      number = unique_++;
    }
    trace_.pages.push_back(number);
    trace_.writes.push_back((request & kWriteBit) != 0);
    writes_ |= (request & kWriteBit) != 0;
    return absl::OkStatus();
  }
  uint32_t& SmallNumber(uint64_t id) {
    if (id >= small_.size()) small_.resize(std::max<size_t>(2 * small_.size(), id + 1), kNew);
    return small_[id];
  }
  uint32_t& Number(uint64_t id) { return large_.try_emplace(id, kNew).first->second; }

  PageTrace trace_;
  bool writes_ = false;
  uint32_t unique_ = 0;
  std::vector<uint32_t> small_;  // the number of each id below kArrayIds, or kNew
  absl::flat_hash_map<uint64_t, uint32_t> large_;
  char partial_[sizeof(uint64_t)] = {};
  size_t partial_size_ = 0;
};

}  // namespace

absl::StatusOr<PageTrace> ReadPageTrace(const std::string& path) {
  TraceBuilder builder;
  std::optional<FixTraceDecoder> fixes;
  bool first = true;
  LATCHKEY_RETURN_IF_ERROR(ReadTraceBytes(path, [&](std::string_view bytes) {
    if (first && bytes.starts_with(kFixTraceMagic)) fixes.emplace(path);
    first = false;
    return fixes ? fixes->Add(bytes) : builder.Add(bytes);
  }));
  if (!fixes) return std::move(builder).Finish(path);
  LATCHKEY_ASSIGN_OR_RETURN(const FixTrace trace, std::move(*fixes).Finish());
  PageTrace requests = RequestsOf(trace);
  if (requests.pages.empty()) return InvalidArgument("{}: the trace has no request", path);
  return requests;
}

PageTrace RequestsOf(const FixTrace& trace) {
  PageTrace requests;
  requests.page_size = trace.header.page_size;
  absl::flat_hash_map<uint32_t, uint32_t> numbers;
  std::vector<size_t> newest;  // of each page: the position of its newest request
  for (const FixRecord& record : trace.records) {
    const auto known = numbers.find(record.page);
    if (!record.is_fix()) {
      // A page that was fixed before the recording began has no request yet.
      if (known != numbers.end()) requests.writes[newest[known->second]] = true;
      continue;
    }
    const auto fresh = static_cast<uint32_t>(newest.size());
    const uint32_t number = known != numbers.end() ? known->second : fresh;
    if (known == numbers.end()) {
      numbers.emplace(record.page, number);
      newest.push_back(0);
    }
    newest[number] = requests.pages.size();
    requests.pages.push_back(number);
    requests.writes.push_back(record.kind() != FixKind::kShared);
  }
  requests.unique_pages = static_cast<uint32_t>(newest.size());
  const bool any =
      std::find(requests.writes.begin(), requests.writes.end(), true) != requests.writes.end();
  if (!any) requests.writes.clear();
  return requests;
}

absl::StatusOr<const PageTrace*> PageTraces::Read(const std::string& path) {
  auto trace = traces_.find(path);
  if (trace == traces_.end()) {
    LATCHKEY_ASSIGN_OR_RETURN(PageTrace read, ReadPageTrace(path));
    trace = traces_.emplace(path, std::move(read)).first;
  }
  return &trace->second;
}

}  // namespace latchkey
