#include "tools/campaign/store/bare_store.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "layout/segment_store.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/testing/forgetful_flash.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr uint32_t kPageSize = 4096;
constexpr size_t kFirstWord = kPageHeaderSize / sizeof(uint64_t);
constexpr size_t kWords = kPageSize / sizeof(uint64_t);

// Fingerprint of a store with the first `pages` pages.
uint64_t FingerprintOf(uint64_t pages) { return pages == 0 ? 0 : MixHash(pages); }

bool IsOnFlash(uint64_t seed) { return seed % 3 == 2; }

absl::StatusOr<std::unique_ptr<SegmentStore>> Open(const std::string& layout, uint64_t seed,
                                                   CrashMachine& machine) {
  SegmentStoreOptions options;
  const LayoutAndCompression item = LayoutAndCompression::Of(layout);
  options.layout = Layouts().Named(item.layout);
  LATCHKEY_ASSIGN_OR_RETURN(options.segment_cleaning,
                            ParseSegmentCleaning(kAutoCleaning, options.layout));
  options.page_compression = PageCodecs().Named(item.page_compression);
  options.page_size = kPageSize;
  options.segment_size = 64 << 10;
  options.reserve_bytes = 1;
  options.doublewrite_pages = 8;
  options.journal_segment_bytes = 8 << 10;
  options.seed = seed;
  options.database_id = 1;
  options.assumed_costs =
      PageCosts{.page_write_ns = IsOnFlash(seed) ? 1300.0 : 8000.0,  // segments in parts, or whole
                .segment_write_ns = 1000,
                .segment_read_ns = 4000};
  std::unique_ptr<BlockDevice> data = machine.disks->Open(0);
  if (IsOnFlash(seed)) data = std::make_unique<ForgetfulFlash>(std::move(data));
  LATCHKEY_ASSIGN_OR_RETURN(
      OpenedSegmentStore opened,
      OpenSegmentStore(machine.runtime(), std::move(data), machine.disks->Open(1), options));
  return std::move(opened.store);
}

// Adds page number `number` (from 1) at any place.
absl::Status AddPage(SegmentStore& store, PageWriter& writer, uint64_t number,
                     AlignedBuffer& page) {
  auto* const words = reinterpret_cast<uint64_t*>(page.data());
  std::fill(words + kFirstWord, words + kWords, number);
  LATCHKEY_ASSIGN_OR_RETURN(const PageId id, store.AllocatePage());
  const PageWrite write{.id = id, .data = page.data()};
  size_t accepted = 0;
  LATCHKEY_RETURN_IF_ERROR(writer.Submit({&write, 1}, &accepted));
  LATCHKEY_RETURN_IF_ERROR(writer.Wait(0));
  return store.Flush();
}

// Writes one checkpoint after the other, none of them marked clean.
absl::Status CheckpointUntil(const bool& done, Runtime& runtime, SegmentStore& store) {
  for (uint8_t number = 1; !done; ++number) {
    const std::vector<std::byte> root(100, std::byte{number});
    LATCHKEY_RETURN_IF_ERROR(store.Checkpoint(root, /*clean=*/false));
    runtime.SleepFor(20 * kNanosPerMicro);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BareStore::Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) {
  oracle.Submit(machine.disks->position(), FingerprintOf(0));
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentStore> store,
                            Open(layout_, seed, machine));
  oracle.Acknowledge(machine.disks->position());
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<PageWriter> writer, store->NewWriter(4));
  bool done = false;
  absl::Status checkpoints, added;
  const std::unique_ptr<Actor> beside = machine.runtime().Spawn(
      "checkpoints", [&] { checkpoints = CheckpointUntil(done, machine.runtime(), *store); });
  AlignedBuffer page(kPageSize);
  Rng rng(MixHash(seed));
  for (uint64_t number = 1; number <= pages_ && added.ok(); ++number) {
    machine.runtime().SleepFor(1 + rng.Below(100 * kNanosPerMicro));
    oracle.Submit(machine.disks->position(), FingerprintOf(number));
    added = AddPage(*store, *writer, number, page);
    if (added.ok()) oracle.Acknowledge(machine.disks->position());
  }
  done = true;
  beside->Join();
  writer.reset();
  return added.ok() ? checkpoints : added;
}

absl::StatusOr<uint64_t> BareStore::Recover(uint64_t seed, CrashMachine& machine) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentStore> store,
                            Open(layout_, seed, machine));
  std::vector<uint64_t> found;
  AlignedBuffer page(kPageSize);
  const auto* const words = reinterpret_cast<const uint64_t*>(page.data());
  for (uint64_t id = 0; id < store->page_id_limit(); ++id) {
    if (!store->IsAllocated(PageId{id})) continue;
    LATCHKEY_RETURN_IF_ERROR(store->ReadPage(PageId{id}, page.data()));
    const uint64_t number = words[kFirstWord];
    if (std::any_of(words + kFirstWord, words + kWords,
                    [number](uint64_t word) { return word != number; })) {
      return MakeStatus(absl::StatusCode::kInternal, "page {} is made of several", id);
    }
    found.push_back(number);
  }
  std::ranges::sort(found);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == i + 1) continue;
    return MakeStatus(absl::StatusCode::kInternal, "page number {} is missing, and {} is there",
                      i + 1, found[i]);
  }
  return FingerprintOf(found.size());
}

}  // namespace latchkey
