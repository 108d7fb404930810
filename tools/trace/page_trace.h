// Traces of page requests, as files.
//
// Format u64: one little-endian 64-bit number per request. Bits 0 to 62 are the page id; bit 63 is
// set if the request writes the page.
// Format fixes: fix_trace.h.
// A file of either format may be compressed by zstd. Its first bytes tell what it is.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace latchkey {

/// A trace in memory. The ids are renumbered from 0 in the order of their first request.
struct PageTrace {
  std::vector<uint32_t> pages;  ///< one per request
  std::vector<bool> writes;     ///< one per request; empty if no request of the trace writes
  uint32_t unique_pages = 0;
  uint32_t page_size = 0;  ///< bytes, of a trace of fixes; 0: the trace does not say
};

/// Reads the trace in `path`; "-" is stdin. NotFound or another error of the system: the file
/// cannot be read. Cancelled: the user asked the program to stop. InvalidArgument: it is no trace,
/// is truncated (the message has the position) or is empty. ResourceExhausted: it has more than
/// 2^32 - 1 different pages.
absl::StatusOr<PageTrace> ReadPageTrace(const std::string& path);

/// Traces by their paths: each is read once. Not thread-safe.
class PageTraces {
 public:
  /// The trace in `path`, for as long as this lives. Errors as ReadPageTrace.
  absl::StatusOr<const PageTrace*> Read(const std::string& path);

 private:
  std::map<std::string, PageTrace> traces_;
};

struct FixTrace;
/// The fixes of `trace` as requests. A fix writes if it is exclusive, or becomes it.
PageTrace RequestsOf(const FixTrace& trace);

}  // namespace latchkey
