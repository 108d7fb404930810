#include "engine/txn/version_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/txn/version_table.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr size_t kBlockBytes = 16 << 10;  // with the header; one large version takes more
constexpr size_t kAlignment = AlignedBuffer::kAlignment;
constexpr size_t kFilterWords = 8;  // the bits of a key lie in one cache line
constexpr uint32_t kFilterProbes = 5;

struct BlockHeader {
  uint64_t checksum;  // of the bytes behind this field
  uint32_t bytes;     // of the versions
  uint32_t zero;
};

struct VersionHeader {
  CommitTs ts;
  uint32_t tree;
  uint32_t old_size;
  uint16_t key_size;
  uint8_t state;
  uint8_t flags;
  uint32_t zero;
};
static_assert(sizeof(VersionHeader) == 24);
constexpr uint8_t kLockOnly = 1, kLeavesGhost = 2;

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t ChecksumOf(const std::byte* block, size_t bytes) {
  return Hash64(block + sizeof(uint64_t), sizeof(BlockHeader) - sizeof(uint64_t) + bytes);
}

// Reads the version at offset `at` of a block and returns its end.
size_t Decode(const std::byte* block, size_t at, SettlingVersion* version) {
  VersionHeader header;
  std::memcpy(&header, block + at, sizeof(header));
  const char* bytes = reinterpret_cast<const char*>(block) + at + sizeof(header);
  *version = {.tree = TreeId{header.tree},
              .ts = header.ts,
              .key = {bytes, header.key_size},
              .state = static_cast<RecordState>(header.state),
              .old = {bytes + header.key_size, header.old_size},
              .lock_only = (header.flags & kLockOnly) != 0,
              .leaves_ghost = (header.flags & kLeavesGhost) != 0};
  return at + sizeof(header) + header.key_size + header.old_size;
}

std::atomic<uint64_t> next_run{1};

}  // namespace

// ---- The file

SpillFile::SpillFile(Runtime& runtime, std::unique_ptr<BlockDevice> device, uint64_t most_bytes)
    : device_(std::move(device)),
      most_bytes_(most_bytes / kExtentBytes * kExtentBytes),
      mutex_(runtime) {}

absl::StatusOr<uint64_t> SpillFile::Take() {
  MutexLock lock(mutex_);
  if (free_.empty()) {
    const uint64_t grown = std::min(most_bytes_, size_ + kGrowthBytes);
    if (grown <= size_) {
      return absl::ResourceExhaustedError("the spill file has its full size");
    }
    LATCHKEY_RETURN_IF_ERROR(Resize(grown, size_));
  }
  const uint64_t extent = free_.back();
  if (!LATCHKEY_CANARY("spill-extent-given-twice") || used_bytes_ % (2 * kExtentBytes) != 0) {
    free_.pop_back();
  }
  used_bytes_.fetch_add(kExtentBytes, std::memory_order_relaxed);
  return extent;
}

void SpillFile::GiveBack(const std::vector<uint64_t>& extents) {
  if (extents.empty()) return;
  MutexLock lock(mutex_);
  free_.insert(free_.end(), extents.begin(), extents.end());  // its memory is taken
  used_bytes_.fetch_sub(extents.size() * kExtentBytes, std::memory_order_relaxed);
}

void SpillFile::Shrink() {
  MutexLock lock(mutex_);
  const uint64_t kept = usable() ? kGrowthBytes : 0;
  if (bytes() != 0 || size_ <= kept) return;
  Resize(kept, 0).IgnoreError();  // the space stays, and can be taken again
}

absl::Status SpillFile::Resize(uint64_t bytes, uint64_t first_free) {
  free_.reserve(bytes / kExtentBytes);
  LATCHKEY_RETURN_IF_ERROR(device_->Resize(bytes));
  size_ = bytes;
  free_.clear();
  for (uint64_t at = bytes; at > first_free; at -= kExtentBytes) free_.push_back(at - kExtentBytes);
  return absl::OkStatus();
}

absl::Status SpillFile::Read(uint64_t offset, std::span<std::byte> out) {
  return device_->Read(offset, out, IoClass::kMeta);
}

absl::Status SpillFile::Write(uint64_t offset, std::span<const std::byte> data) {
  absl::Status written = device_->Write(offset, data, IoClass::kMeta);
  if (!written.ok()) failed_.store(true, std::memory_order_relaxed);
  return written;
}

SpilledBlock* SpilledBlocks::Of(uint64_t run) {
  for (const auto& block : blocks_) {
    if (block->run == run) return block.get();
  }
  if (blocks_.size() < kMostBlocks) {
    blocks_.push_back(std::make_unique<SpilledBlock>());
    return blocks_.back().get();
  }
  next_ = (next_ + 1) % kMostBlocks;
  return blocks_[next_].get();
}

uint64_t SpilledBlocks::reads() const {
  uint64_t reads = 0;
  for (const auto& block : blocks_) reads += block->reads;
  return reads;
}

// ---- A run

VersionRun::VersionRun(std::shared_ptr<SpillFile> file)
    : file_(std::move(file)), id_(next_run.fetch_add(1, std::memory_order_relaxed)) {}

VersionRun::~VersionRun() { file_->GiveBack(extents_); }

size_t VersionRun::bytes() const {
  return sizeof(*this) + filter_.capacity() * sizeof(uint64_t) +
         fences_.capacity() * sizeof(Fence) + key_bytes_ + extents_.capacity() * sizeof(uint64_t);
}

namespace {

// The filter bits of a hash: one line, and kFilterProbes bits in it.
size_t FilterLine(uint64_t hash, size_t words) { return (hash >> 32) % (words / kFilterWords); }

template <typename Visit>
void VisitFilterBits(uint64_t hash, Visit visit) {
  uint64_t bits = MixHash(hash);
  for (uint32_t i = 0; i < kFilterProbes; ++i, bits >>= 9) {
    visit((bits & 511) / 64, uint64_t{1} << (bits & 63));
  }
}

}  // namespace

bool VersionRun::MayContain(uint64_t hash) const {
  const uint64_t* line = &filter_[FilterLine(hash, filter_.size()) * kFilterWords];
  bool all = true;
  VisitFilterBits(hash, [&](size_t word, uint64_t bit) { all &= (line[word] & bit) != 0; });
  return all;
}

absl::Status VersionRun::ReadBlock(size_t index, SpilledBlock* block) const {
  if (block->run == id_ && block->index == index) return absl::OkStatus();
  const Fence& fence = fences_[index];
  block->run = 0;
  ++block->reads;
  if (block->buffer.size() < fence.length) block->buffer = AlignedBuffer(fence.length);
  std::byte* data = block->buffer.data();
  LATCHKEY_RETURN_IF_ERROR(file_->Read(fence.offset, {data, fence.length}));
  BlockHeader header;
  std::memcpy(&header, data, sizeof(header));
  if (header.bytes > fence.length - sizeof(header) ||
      header.checksum != ChecksumOf(data, header.bytes)) {
    return absl::DataLossError("a block of the spill file does not hold what was written to it");
  }
  block->run = id_;
  block->index = index;
  return absl::OkStatus();
}

absl::Status VersionRun::VisitWrites(uint64_t hash, TreeId tree, std::string_view key,
                                     SpilledBlocks* blocks,
                                     absl::FunctionRef<void(const SettlingVersion&)> visit) const {
  if (!MayContain(hash)) return absl::OkStatus();
  SpilledBlock* last = blocks->Of(id_);
  const auto before = [](const Fence& fence, const std::pair<TreeId, std::string_view>& wanted) {
    return std::pair<TreeId, std::string_view>(fence.tree, fence.key) < wanted;
  };
  // A key's versions may begin at the end of the block before the first block that begins with the
  // key.
  const std::pair<TreeId, std::string_view> wanted(tree, key);
  size_t index = static_cast<size_t>(
      std::lower_bound(fences_.begin(), fences_.end(), wanted, before) - fences_.begin());
  if (index > 0) --index;
  for (; index < fences_.size(); ++index) {
    if (wanted < std::pair<TreeId, std::string_view>(fences_[index].tree, fences_[index].key)) {
      break;
    }
    LATCHKEY_RETURN_IF_ERROR(ReadBlock(index, last));
    BlockHeader header;
    std::memcpy(&header, last->buffer.data(), sizeof(header));
    const size_t end = sizeof(header) + header.bytes;
    SettlingVersion version;
    for (size_t at = sizeof(header); at < end;) {
      at = Decode(last->buffer.data(), at, &version);
      if (version.tree == tree && version.key == key && !version.lock_only) visit(version);
    }
  }
  return absl::OkStatus();
}

absl::Status VersionRun::Find(uint64_t hash, TreeId tree, std::string_view key, CommitTs read_ts,
                              CommitTs commit_ts, SpilledBlocks* blocks, Oldest* oldest,
                              std::string* old) const {
  return VisitWrites(hash, tree, key, blocks, [&](const SettlingVersion& version) {
    const CommitTs ts = commit_ts != 0 ? commit_ts : version.ts;
    // Versions of one transaction have equal timestamps; the last of them in the run is the oldest.
    if (ts <= read_ts || ts > oldest->ts) return;
    *oldest = {.ts = ts, .state = version.state, .found = true};
    old->assign(version.old);
  });
}

absl::StatusOr<VersionRun::Write> VersionRun::NewestWrite(uint64_t hash, TreeId tree,
                                                          std::string_view key,
                                                          SpilledBlocks* blocks) const {
  Write newest;
  LATCHKEY_RETURN_IF_ERROR(
      VisitWrites(hash, tree, key, blocks, [&](const SettlingVersion& version) {
        if (newest.ts == 0) newest = {.ts = version.ts, .before = version.state};
      }));
  return newest;
}

// ---- Writing

RunBuilder::RunBuilder(std::shared_ptr<SpillFile> file, uint64_t versions, uint32_t filter_bits,
                       uint32_t level)
    : run_(new VersionRun(std::move(file))), extent_(SpillFile::kExtentBytes) {
  run_->level_ = level;
  run_->filter_.resize((versions * filter_bits / 512 + 1) * kFilterWords);
}

absl::Status RunBuilder::BeginExtent() {
  run_->extents_.reserve(run_->extents_.size() + 1);
  LATCHKEY_ASSIGN_OR_RETURN(extent_offset_, run_->file_->Take());
  run_->extents_.push_back(extent_offset_);
  has_extent_ = true;
  return absl::OkStatus();
}

absl::Status RunBuilder::WriteExtent() {
  if (!has_extent_) return absl::OkStatus();
  has_extent_ = false;
  const size_t written = std::exchange(written_, 0);
  return run_->file_->Write(extent_offset_, extent_.span().first(written));
}

absl::Status RunBuilder::CloseBlock() {
  if (block_bytes_ == 0) return absl::OkStatus();
  if (!has_extent_) LATCHKEY_RETURN_IF_ERROR(BeginExtent());
  const size_t used = sizeof(BlockHeader) + block_bytes_, length = RoundUp(used);
  std::byte* const block = extent_.data() + written_;
  std::memset(block + used, 0, length - used);
  BlockHeader header{.checksum = 0, .bytes = static_cast<uint32_t>(block_bytes_), .zero = 0};
  std::memcpy(block, &header, sizeof(header));
  header.checksum = ChecksumOf(block, block_bytes_);
  std::memcpy(block, &header, sizeof(header));
  run_->fences_.back().offset = extent_offset_ + written_;
  run_->fences_.back().length = static_cast<uint32_t>(length);
  written_ += length;
  block_bytes_ = 0;
  return absl::OkStatus();
}

// Ends the open block, and the extent, if they have no room for `size` more bytes.
absl::Status RunBuilder::MakeRoomFor(size_t size) {
  const auto most = [&] { return SpillFile::kExtentBytes - written_ - sizeof(BlockHeader); };
  if (block_bytes_ != 0 &&
      block_bytes_ + size > std::min<size_t>(kBlockBytes - sizeof(BlockHeader), most())) {
    LATCHKEY_RETURN_IF_ERROR(CloseBlock());
  }
  if (block_bytes_ == 0 && written_ + sizeof(BlockHeader) + size > SpillFile::kExtentBytes) {
    LATCHKEY_RETURN_IF_ERROR(WriteExtent());
  }
  LATCHKEY_CHECK(block_bytes_ + size <= most());
  return absl::OkStatus();
}

absl::Status RunBuilder::Add(const SettlingVersion& version) {
  const size_t old_size = version.lock_only ? 0 : version.old.size();
  LATCHKEY_RETURN_IF_ERROR(MakeRoomFor(sizeof(VersionHeader) + version.key.size() + old_size));
  if (block_bytes_ == 0) {
    run_->fences_.push_back({.tree = version.tree, .key = std::string(version.key)});
    run_->key_bytes_ += version.key.size();
  }
  const VersionHeader header{
      .ts = version.ts,
      .tree = Raw(version.tree),
      .old_size = static_cast<uint32_t>(old_size),
      .key_size = static_cast<uint16_t>(version.key.size()),
      .state = static_cast<uint8_t>(version.state),
      .flags = static_cast<uint8_t>((version.lock_only ? kLockOnly : 0) |
                                    (version.leaves_ghost ? kLeavesGhost : 0)),
      .zero = 0};
  std::byte* const at = extent_.data() + written_ + sizeof(BlockHeader) + block_bytes_;
  std::memcpy(at, &header, sizeof(header));
  auto* bytes = reinterpret_cast<char*>(at + sizeof(header));
  bytes = std::copy_n(version.key.data(), version.key.size(), bytes);
  std::copy_n(version.old.data(), old_size, bytes);
  block_bytes_ += sizeof(header) + version.key.size() + old_size;
  const uint64_t hash = VersionTable::HashOf(version.tree, version.key);
  uint64_t* line = &run_->filter_[FilterLine(hash, run_->filter_.size()) * kFilterWords];
  VisitFilterBits(hash, [&](size_t word, uint64_t bit) { line[word] |= bit; });
  ++run_->count_;
  run_->newest_ = std::max(run_->newest_, version.ts);
  const bool writes = !version.lock_only;
  run_->has_chores_ |= version.leaves_ghost || (writes && version.state == RecordState::kOverflow);
  run_->has_old_ghosts_ |= version.state == RecordState::kGhost;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<VersionRun>> RunBuilder::Finish() {
  LATCHKEY_RETURN_IF_ERROR(CloseBlock());
  LATCHKEY_RETURN_IF_ERROR(WriteExtent());
  if (run_->count_ == 0) return std::shared_ptr<VersionRun>();
  run_->fences_.shrink_to_fit();
  return std::move(run_);
}

// ---- Reading a whole run

RunScanner::RunScanner(std::shared_ptr<const VersionRun> run) : run_(std::move(run)) {}

absl::StatusOr<bool> RunScanner::Next(SettlingVersion* version) {
  if (at_ == end_) {
    if (next_block_ == run_->fences_.size()) return false;
    LATCHKEY_RETURN_IF_ERROR(run_->ReadBlock(next_block_++, &block_));
    BlockHeader header;
    std::memcpy(&header, block_.buffer.data(), sizeof(header));
    at_ = sizeof(header);
    end_ = at_ + header.bytes;
  }
  at_ = Decode(block_.buffer.data(), at_, version);
  return true;
}

}  // namespace latchkey
