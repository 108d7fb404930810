#include "tools/cli/trace_recording.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/cli/output.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {
namespace {

FixTraceHeader HeaderOf(const KvBackend& backend, const EngineSettings& settings) {
  FixTraceHeader header;
  header.page_size = settings.kv.page_size;
  const std::vector<PageId> roots = backend.TreeRoots();
  for (size_t i = 0; i < roots.size(); ++i) {
    const std::string& name = settings.kv.tables[i];
    header.trees.push_back({roots[i], name, IsTpccIndex(name)});
  }
  header.settings = DescribeSettings(settings);
  return header;
}

Json PoolCounts(const KvStatistics& begin, const KvStatistics& end) {
  if (!begin.latchkey || !end.latchkey) return nullptr;
  const Statistics &from = *begin.latchkey, &to = *end.latchkey;
  return {{"fixes", to.fixes - from.fixes},
          {"misses", to.misses - from.misses},
          {"new_pages", to.new_pages - from.new_pages},
          {"leaf_fixes", to.leaf_fixes - from.leaf_fixes},
          {"inner_fixes", to.inner_fixes - from.inner_fixes}};
}

}  // namespace

absl::Status CheckTraceFile(const std::string& path) {
  if (path == "-" || !CanBeRenamedTo(path)) {
    return InvalidArgument("--trace={}: give the path of a file; it may exist already", path);
  }
  return CheckOutputFile("trace", path);
}

void TraceRecording::Begin(KvBackend& backend, const EngineSettings& settings) {
  absl::StatusOr<std::unique_ptr<FixTraceWriter>> writer =
      FixTraceWriter::Create(runtime_, path_, HeaderOf(backend, settings), limit_);
  begun_ = writer.status();
  if (!writer.ok()) return;
  writer_ = *std::move(writer);
  backend.SetFixRecorder(writer_.get());
}

std::string TraceRecording::End(KvBackend& backend, const KvStatistics& begin,
                                const KvStatistics& end, uint64_t done, std::string_view units) {
  absl::Status outcome = begun_;
  if (writer_ != nullptr) {
    backend.SetFixRecorder(nullptr);
    outcome = writer_->Finish({{"done", done}, {"units", units}, {"pool", PoolCounts(begin, end)}});
  }
  written_ = outcome.ok();
  if (!written_) {
    spdlog::error("{}", std::string(outcome.message()));
    return fmt::format("there is no trace: {}", std::string(outcome.message()));
  }
  spdlog::info("recorded {} fixes and unfixes in {}", writer_->records(), path_);
  if (!writer_->limited()) return "";
  return fmt::format("the trace has the first {} only: raise --trace-limit for more",
                     CountOf(writer_->records(), "record"));
}

}  // namespace latchkey
