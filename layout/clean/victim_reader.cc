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
  victims_.reserve(most_victims_);
  pages_.reserve(slots);
  to_read_.reserve(slots);
  runs_.reserve(slots);
  again_.reserve(2 * slots);
  return absl::OkStatus();
}

void VictimReader::Begin(std::span<const SegmentId> victims, const SlotReadCosts& costs) {
  victims_.assign(victims.begin(), victims.end());
  pages_.clear();
  uint32_t first_index = 0;
  for (const SegmentId victim : victims) {
    Collect(victim, first_index);
    first_index += core_.geometry.slots_per_segment;
  }
  CopyFromPool();
  PlanAll(costs);
  is_loading_ = true;
  window_.Start(*queue_, [this](TaggedRequest<ReadRun>& request) { return NextRun(request); });
}

std::vector<VictimPage>& VictimReader::Finish() {
  FinishRuns();
  if (!again_.empty()) {
    constexpr SlotReadCosts kOneByOne{.first_ns = 0, .next_ns = 1};
    to_read_.swap(again_);
    std::sort(to_read_.begin(), to_read_.end());
    to_read_.erase(std::unique(to_read_.begin(), to_read_.end()), to_read_.end());
    Plan(kOneByOne);
    FinishRuns();
  }
  is_loading_ = false;
  // Only now, when the device has counted the requests, too.
  core_.counters.cleaner_page_reads.fetch_add(planned_pages_, std::memory_order_relaxed);
  for (VictimPage& page : pages_) {
    if (page.was_read) CheckRead(page);
  }
  std::erase_if(pages_, [this](const VictimPage& page) {
    return directory_.map().Load(page.page) != page.word;
  });
  return pages_;
}

void VictimReader::Cancel() {
  if (!is_loading_) return;
  window_.Run(
      *queue_, [](TaggedRequest<ReadRun>&) { return false; },
      [](const IoRequest&, const ReadRun&) {});
  is_loading_ = false;
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

void VictimReader::PlanAll(const SlotReadCosts& costs) {
  to_read_.clear();
  planned_pages_ = 0;
  for (const VictimPage& page : pages_) {
    if (page.loaded || directory_.map().Load(page.page) != page.word) continue;
    AddBlocks(page, to_read_);
    ++planned_pages_;
  }
  Plan(costs);
}

// Plans the reads of to_read_.
void VictimReader::Plan(const SlotReadCosts& costs) {
  PlanReads(to_read_, core_.geometry.pages_per_segment(), costs, runs_);
  next_run_ = 0;
  again_.clear();
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

// Fills the request of the next run. False when all have one.
bool VictimReader::NextRun(TaggedRequest<ReadRun>& request) {
  if (next_run_ == runs_.size()) return false;
  const uint32_t page_size = core_.geometry.page_size;
  const uint32_t per_segment = core_.geometry.pages_per_segment();
  request.tag = runs_[next_run_++];
  request.op = IoRequest::Op::kRead;
  request.io_class = IoClass::kSegmentRead;
  const uint32_t victim = request.tag.first / per_segment;
  const uint64_t first = uint64_t{request.tag.first % per_segment} * page_size;
  request.offset = core_.geometry.OffsetOf(victims_[victim]) + first;
  request.length = request.tag.count * page_size;
  request.buffer = groups_[victim]->memory.data() + first;
  return true;
}

void VictimReader::FinishRuns() {
  window_.Run(
      *queue_, [this](TaggedRequest<ReadRun>& request) { return NextRun(request); },
      [this](const IoRequest& request, const ReadRun& run) { EndRead(run, request.status); });
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
