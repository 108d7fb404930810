#include "tools/campaign/parts/overtaken_page.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <span>

#include "layout/testing/store_on_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey {
namespace {

constexpr Nanos kWriteTime = 50 * kNanosPerMicro, kStep = 10 * kNanosPerMicro;
// A batch of doublewriting writes the copies, syncs them and writes the pages.
constexpr Nanos kBatchTime = 3 * kWriteTime;

// The pages of a store, and the version that each must hold.
class VersionedPages {
 public:
  explicit VersionedPages(SegmentStore& store) : store_(store) {}

  absl::StatusOr<PageId> WriteNew() {
    LATCHKEY_ASSIGN_OR_RETURN(const PageId id, store_.AllocatePage());
    LATCHKEY_RETURN_IF_ERROR(Write(id));
    return id;
  }

  // Returns when the store has accepted the page.
  absl::Status Write(PageId id) {
    TestPage page;
    page.Fill(id, ++versions_[id]);
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageWriter> writer, store_.NewWriter(1));
    const PageWrite write{.id = id, .data = page.data()};
    size_t accepted = 0;
    return writer->Submit(std::span(&write, 1), &accepted);
  }

  absl::Status Check() {
    for (const auto& [id, version] : versions_) {
      TestPage page;
      LATCHKEY_RETURN_IF_ERROR(store_.ReadPage(id, page.data()));
      if (!page.Holds(id, version)) {
        return absl::InternalError(fmt::format("page {} is not what was last written", Raw(id)));
      }
    }
    return absl::OkStatus();
  }

 private:
  SegmentStore& store_;
  std::map<PageId, uint64_t> versions_;
};

absl::Status OvertakeAtEachMoment(SimulatedRuntime& runtime, SegmentStore& store) {
  VersionedPages pages(store);
  LATCHKEY_ASSIGN_OR_RETURN(const PageId page, pages.WriteNew());
  for (Nanos later = 0; later <= kBatchTime; later += kStep) {
    LATCHKEY_RETURN_IF_ERROR(store.Flush());
    LATCHKEY_RETURN_IF_ERROR(pages.Write(page));
    absl::Status status;
    const std::unique_ptr<Actor> other = runtime.Spawn("other", [&] {
      runtime.SleepFor(1 + later);
      status = pages.Write(page);
    });
    const absl::Status flushed = store.Flush();
    other->Join();
    LATCHKEY_RETURN_IF_ERROR(flushed);
    LATCHKEY_RETURN_IF_ERROR(status);
    LATCHKEY_RETURN_IF_ERROR(store.Flush());
    LATCHKEY_RETURN_IF_ERROR(pages.WriteNew().status());  // takes the slot, if the page has lost it
    LATCHKEY_RETURN_IF_ERROR(pages.Check());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AnOvertakenPageKeepsItsSlot() {
  SimulatedRuntime runtime;
  CrashRecorder disks(runtime, {.record = false,
                                .min_latency = kWriteTime,
                                .max_latency = kWriteTime,
                                .sync_latency = kWriteTime});
  disks.AddDisk("data");
  disks.AddDisk("journal");
  absl::Status status;
  const absl::Status ran = runtime.Run([&] {
    auto opened = OpenSegmentStore(runtime, disks.Open(0), disks.Open(1), TestOptions("overwrite"));
    status = opened.ok() ? OvertakeAtEachMoment(runtime, *opened->store) : opened.status();
  });
  return ran.ok() ? status : ran;
}

}  // namespace latchkey
