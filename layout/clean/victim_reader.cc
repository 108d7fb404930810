#include "layout/clean/victim_reader.h"

#include <algorithm>
#include <string>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {

VictimReader::VictimReader(PageDirectory& directory, uint32_t most_victims, uint32_t depth)
    : directory_(directory),
      core_(directory.core()),
      most_victims_(most_victims),
      depth_(depth),
      window_(depth) {}

absl::Status VictimReader::Prepare() {
  const uint32_t slots = most_victims_ * core_.geometry.slots_per_segment;
  LATCHKEY_ASSIGN_OR_RETURN(queue_, core_.device.NewQueue(depth_));
  groups_.reserve(most_victims_);
  while (groups_.size() < most_victims_) {
    FrameGroup* const group = directory_.frames().NewSegmentGroup();
    if (group == nullptr) return absl::ResourceExhaustedError("no frames for the segment cleaner");
    groups_.push_back(group);
  }
  pages_.reserve(slots);
  to_read_.reserve(slots);
  runs_.reserve(slots);
  again_.reserve(2 * slots);
  return absl::OkStatus();
}

std::vector<VictimPage>& VictimReader::Load(std::span<const SegmentId> victims,
                                            const SlotReadCosts& costs) {
  pages_.clear();
  uint32_t first_index = 0;
  for (const SegmentId victim : victims) {
    Collect(victim, first_index);
    first_index += core_.geometry.slots_per_segment;
  }
  CopyFromPool();
  Read(victims, costs);
  return pages_;
}

void VictimReader::Collect(SegmentId victim, uint32_t first_index) {
  for (uint32_t i = 0; i < core_.geometry.slots_per_segment; ++i) {
    const SlotId slot = core_.geometry.SlotAt(victim, i);
    const PageId page = directory_.segments().OwnerOf(slot);
    if (page == kInvalidPageId) continue;
    const LocationWord word = directory_.map().Load(page);
    if (!word.on_device() || word.slot() != slot) continue;
    pages_.push_back({.page = page, .word = word, .index = first_index + i});
  }
}

void VictimReader::CopyFromPool() {
  uint64_t copied = 0;
  for (VictimPage& page : pages_) {
    page.loaded = CopyFromPool(page);
    copied += page.loaded;
  }
  core_.counters.cleaner_pages_copied.fetch_add(copied, std::memory_order_relaxed);
}

// An image is moved as it is on the device.
bool VictimReader::CopyFromPool(const VictimPage& page) const {
  if (page.word.slots() < core_.geometry.slots_per_page) return false;
  std::byte* out = Memory(page.index);
  const bool copied = core_.client.Ask(
      false, [&](PageStoreClient& client) { return client.CopyIfClean(page.page, out); });
  // The pool's copy is the write that the word names only if that write is still the newest one. If
  // the word changes after this check, the installation fails.
  if (!copied || directory_.map().Load(page.page) != page.word) return false;
  SealPage({out, core_.geometry.page_size}, page.page, page.word.sequence(), core_.database_id);
  return true;
}

void VictimReader::Read(std::span<const SegmentId> victims, const SlotReadCosts& costs) {
  const uint32_t per_segment = core_.geometry.pages_per_segment();
  to_read_.clear();
  uint64_t pages = 0;
  for (const VictimPage& page : pages_) {
    if (page.loaded || directory_.map().Load(page.page) != page.word) continue;
    AddBlocks(page, to_read_);
    ++pages;
  }
  core_.counters.cleaner_page_reads.fetch_add(pages, std::memory_order_relaxed);
  PlanReads(to_read_, per_segment, costs, runs_);
  ReadRuns(victims);
  if (!again_.empty()) {
    constexpr SlotReadCosts kOneByOne{.first_ns = 0, .next_ns = 1};
    to_read_.swap(again_);
    std::sort(to_read_.begin(), to_read_.end());
    to_read_.erase(std::unique(to_read_.begin(), to_read_.end()), to_read_.end());
    PlanReads(to_read_, per_segment, kOneByOne, runs_);
    ReadRuns(victims);
  }
  for (VictimPage& page : pages_) {
    if (page.was_read) CheckRead(page);
  }
}

// The first block of a page, and the one behind its last.
std::pair<uint32_t, uint32_t> VictimReader::BlocksOf(const VictimPage& page) const {
  const uint32_t per_block = core_.geometry.slots_per_page;
  return {page.index / per_block, (page.index + page.word.slots() + per_block - 1) / per_block};
}

// Adds the blocks of a page. REQUIRES: those of the pages before it are added.
void VictimReader::AddBlocks(const VictimPage& page, std::vector<uint32_t>& blocks) const {
  const auto [first, end] = BlocksOf(page);
  for (uint32_t block = first; block < end; ++block) {
    if (blocks.empty() || blocks.back() < block) blocks.push_back(block);
  }
}

void VictimReader::ReadRuns(std::span<const SegmentId> victims) {
  const uint32_t page_size = core_.geometry.page_size;
  const uint32_t per_segment = core_.geometry.pages_per_segment();
  again_.clear();
  size_t next = 0;
  window_.Run(
      *queue_,
      [&](TaggedRequest<ReadRun>& request) {
        if (next == runs_.size()) return false;
        request.tag = runs_[next++];
        request.op = IoRequest::Op::kRead;
        request.io_class = IoClass::kSegmentRead;
        const uint32_t victim = request.tag.first / per_segment;
        const uint64_t first = uint64_t{request.tag.first % per_segment} * page_size;
        request.offset = core_.geometry.OffsetOf(victims[victim]) + first;
        request.length = request.tag.count * page_size;
        request.buffer = groups_[victim]->memory.data() + first;
        return true;
      },
      [&](const IoRequest& request, const ReadRun& run) { EndRead(run, request.status); });
}

// A run may cross pages that were copied from the pool or not collected. What it brings of a copied
// page is the same write.
void VictimReader::EndRead(const ReadRun& run, const absl::Status& status) {
  const auto ends_before = [this](const VictimPage& page, uint32_t block) {
    return BlocksOf(page).second <= block;
  };
  auto page = std::lower_bound(pages_.begin(), pages_.end(), run.first, ends_before);
  for (; page != pages_.end(); ++page) {
    const auto [first, end] = BlocksOf(*page);
    if (first >= run.first + run.count) break;
    page->was_read = true;
    page->loaded = false;
    if (status.ok()) continue;
    if (run.count == 1) {
      page->error = status;
    } else {
      for (uint32_t block = first; block < end; ++block) again_.push_back(block);
    }
  }
}

void VictimReader::CheckRead(VictimPage& page) {
  absl::Status proof = page.error;
  if (proof.ok()) {
    proof = CatchOutOfMemory([&] {
      return directory_.ProveSlots(page.page, page.word, {Memory(page.index), BytesOf(page)});
    });
  }
  page.loaded = proof.ok();
  if (proof.ok() || directory_.map().Load(page.page) != page.word) return;
  if (IsOutOfMemory(proof)) return;
  directory_.segments().Bar(core_.geometry.SegmentOf(page.word.slot()));
  CatchOutOfMemory([&] {
    LogTo(core_.log_sink, LogLevel::kError,
          fmt::format("segment cleaning left page {} in place: {}", Raw(page.page),
                      std::string(proof.message())));
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace latchkey
