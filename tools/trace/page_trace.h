// Traces of page requests, as files.
//
// Format u64: one little-endian 64-bit number per request. Bits 0 to 62 are the page id; bit 63 is
// set if the request writes the page. The file may be compressed by zstd; its first bytes tell.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace latchkey {

/// A trace in memory. The ids are renumbered from 0 in the order of their first request.
struct PageTrace {
  std::vector<uint32_t> pages;  ///< one per request
  std::vector<bool> writes;     ///< one per request; empty if no request of the trace writes
  uint32_t unique_pages = 0;
};

/// Reads the trace in `path`. NotFound or another error of the system: the file cannot be read.
/// InvalidArgument: it is no trace, is truncated (the message has the position) or is empty.
/// ResourceExhausted: it has more than 2^32 - 1 different pages.
absl::StatusOr<PageTrace> ReadPageTrace(const std::string& path);

}  // namespace latchkey
