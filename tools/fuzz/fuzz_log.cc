// T3: the log. Input: one byte that chooses a form, then
//   0 record: the bytes of one log record, which are decoded
//   1 stream: the blocks of a log's device, after sound headers. The checksums of all groups are
//     recomputed; then the log is opened, its end is found and all records are read
//   2 redo: records (two bytes of length each, then the bytes), appended to a sound log, analysed
//     and redone on an empty store
#include <absl/functional/function_ref.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/btree/node.h"
#include "engine/log/log_analysis.h"
#include "engine/log/log_record.h"
#include "engine/log/redo.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/testing/map_page_store.h"
#include "storage/wal/log.h"
#include "storage/wal/log_format.h"
#include "tools/fuzz/fuzz_input.h"
#include "tools/fuzz/fuzz_reseal.h"
#include "tools/fuzz/fuzz_target.h"

namespace latchkey {

const char* const kFuzzTarget = "log";
uint64_t fuzz_accepted = 0;

namespace {

constexpr uint32_t kPage = 4096;
constexpr uint64_t kId = 0x1234;
constexpr uint32_t kSegment = 8 << 10, kBlock = 512;
enum Form : uint8_t { kRecord, kStream, kRedo, kForms };

LogOptions OptionsOfLog() {
  return {.database_id = kId,
          .segment_bytes = kSegment,
          .initial_bytes = 64 << 10,
          .max_bytes = 1 << 20,
          .buffer_bytes = 64 << 10};
}

// ---- Records, in the engine's format.

using Bytes = std::vector<std::byte>;

Bytes ChangeRecord(std::string_view key, RecordState now, std::string_view value) {
  RecordChange change;
  change.tree = TreeId{1};
  change.page = PageId{0};
  change.key = key;
  change.now = now;
  change.now_bytes = value;
  change.before = RecordState::kValue;
  change.before_bytes = "before";
  const ChangeEncoding encoding(LogRecordType::kChange, change);
  Bytes bytes(encoding.size());
  encoding.Encode({.type = LogRecordType::kChange, .txn = TxnId{7}, .previous = Lsn{64}}, 0,
                  bytes.data());
  return bytes;
}

Bytes ImagesRecord() {
  AlignedBuffer page(kPage);
  NodeEditor leaf(page.data(), kPage);
  leaf.Init(0, Fences{});
  leaf.Insert(0, "key", "value", 0);
  const PageImage images[] = {ImageOf(PageId{0}, page.span()), ImageOf(PageId{2}, page.span())};
  const PageId freed[] = {PageId{3}};
  Bytes bytes(ImagesRecordSize(images, 1));
  EncodeImages({.type = LogRecordType::kImages}, images, freed, bytes.data());
  return bytes;
}

constexpr PageId kParent{6};

// Of an inner page with page 0 as its only child.
Bytes ParentRecord() {
  AlignedBuffer page(kPage);
  NodeEditor parent(page.data(), kPage);
  parent.Init(1, Fences{});
  parent.SetRightmost(PageId{0});
  const PageImage image = ImageOf(kParent, page.span());
  Bytes bytes(ImagesRecordSize({&image, 1}, 0));
  EncodeImages({.type = LogRecordType::kImages}, {&image, 1}, {}, bytes.data());
  return bytes;
}

// Of page 0, behind its record.
Bytes SplitRecord() {
  AlignedBuffer page(kPage);
  NodeEditor(page.data(), kPage).Init(0, Fences{});
  const PageSplit split = {
      .page = PageId{0}, .parent = kParent, .page_lsn = 0, .parent_lsn = 0, .separator = "l"};
  const PageImage right = ImageOf(PageId{7}, page.span());
  Bytes bytes(SplitRecordSize(split, right));
  EncodeSplit({.type = LogRecordType::kSplit}, split, right, bytes.data());
  return bytes;
}

std::vector<Bytes> EveryRecord() {
  const PageId pages[] = {PageId{4}, PageId{5}};
  const ActiveTransaction active[] = {{.id = TxnId{7}, .first = Lsn{64}, .last = Lsn{64}}};
  const OverflowChain chains[] = {{.first_page = PageId{5}, .size = 100}};
  const auto header = [](LogRecordType type) {
    return LogRecordHeader{.type = type, .txn = TxnId{7}, .previous = Lsn{64}};
  };
  std::vector<Bytes> records = {ImagesRecord(), ChangeRecord("key", RecordState::kValue, "now"),
                                ChangeRecord("other", RecordState::kGhost, ""), ParentRecord(),
                                SplitRecord()};
  EncodeAllocation(header(LogRecordType::kAllocation), pages,
                   records.emplace_back(AllocationRecordSize(2)).data());
  EncodeFree(header(LogRecordType::kFree), PageId{4}, pages,
             records.emplace_back(FreeRecordSize(2)).data());
  EncodeCheckpoint({.as_of = Lsn{64}, .next_txn = TxnId{9}}, active, chains,
                   records.emplace_back(CheckpointRecordSize(1, 1)).data());
  EncodeDropTree(header(LogRecordType::kDropTree), TreeId{1}, PageId{0}, "tree",
                 records.emplace_back(DropTreeRecordSize(4)).data());
  EncodeEnd(header(LogRecordType::kCommit), records.emplace_back(kEndRecordSize).data());
  return records;
}

// ---- Running them.

void DecodeOne(FuzzInput& input) {
  const std::string_view bytes = input.TakeBytes(input.size());
  LogRecord record;
  const auto span = std::as_bytes(std::span(bytes.data(), bytes.size()));
  if (!DecodeLogRecord(span, &record).ok()) return;
  ++fuzz_accepted;
  AlignedBuffer page(kMaxPageSize);
  for (const PageImage& image : record.images) {
    ExpandImage(image, record.page_size, Lsn{9}, page.data());
  }
  LogAnalysis analysis;
  analysis.Add(Lsn{64}, record);
  analysis.FreePages();
  analysis.UnneededChains();
}

std::unique_ptr<Log> NewLog(CrashRecorder& recorder) {
  auto log = CreateLog(ThreadRuntime(), recorder.Open(0), OptionsOfLog());
  LATCHKEY_CHECK(log.ok());
  LATCHKEY_CHECK((*log)->StartWriting().ok());
  return *std::move(log);
}

void AppendMade(Log& log, size_t size, absl::FunctionRef<Bytes(Lsn)> make) {
  if (!log.Reserve(log.RecordSpace(size)).ok()) return;
  log.Append(size, [&](Lsn lsn, std::byte* out) { std::memcpy(out, make(lsn).data(), size); });
}

void Append(Log& log, const Bytes& record) {
  AppendMade(log, record.size(), [&](Lsn) { return record; });
}

std::unique_ptr<BufferPool> NewPool(PageStore& store) {
  auto pool =
      BufferPool::Create(ThreadRuntime(), store, MakePlainFixPolicy(ThreadRuntime(), 64), 64, 64);
  LATCHKEY_CHECK(pool.ok());
  return *std::move(pool);
}

absl::Status AnalyseAndRedo(Log& log) {
  LogAnalysis analysis;
  LogRecord record;
  LATCHKEY_RETURN_IF_ERROR(log.ForEach(Lsn{0}, [&](const LogRecordView& view) {
    const absl::Status decoded = DecodeLogRecord(view.bytes, &record);
    if (decoded.ok()) analysis.Add(view.lsn, record);
    return decoded;
  }));
  analysis.Losers();
  analysis.UnfinishedDrops();
  analysis.UnneededChains();
  MapPageStore store(ThreadRuntime(), kPage);
  const std::unique_ptr<BufferPool> pool = NewPool(store);
  Redo redo(*pool, analysis, log.end());
  return redo.Run(log, Lsn{0});
}

/// The bytes of a record. A change or split that names no LSN of its page gets the newest one.
class PageLsns {
 public:
  Bytes Complete(std::string_view record, Lsn lsn) {
    const auto* begin = reinterpret_cast<const std::byte*>(record.data());
    Bytes bytes(begin, begin + record.size());
    if (!DecodeLogRecord(bytes, &record_).ok()) return bytes;
    for (const PageImage& image : record_.images) newest_[Raw(image.page)] = lsn;
    if (record_.header.type == LogRecordType::kSplit) {
      const PageSplit& split = record_.split;
      Set(split.page, split.page_lsn, lsn, bytes.data() + kLogRecordSplitLsn);
      Set(split.parent, split.parent_lsn, lsn, bytes.data() + kLogRecordSplitLsn + 4);
    }
    const bool is_change = record_.header.type == LogRecordType::kChange ||
                           record_.header.type == LogRecordType::kCompensation ||
                           record_.header.type == LogRecordType::kBlindPut;
    if (is_change) {
      Set(record_.change.page, record_.change.page_lsn, lsn, bytes.data() + kLogRecordPageLsn);
    }
    return bytes;
  }

 private:
  void Set(PageId page, uint32_t named, Lsn lsn, std::byte* to) {
    Lsn& newest = newest_[Raw(page)];
    const auto page_lsn = static_cast<uint32_t>(Raw(newest));
    if (named == 0) std::memcpy(to, &page_lsn, sizeof(page_lsn));
    newest = lsn;
  }

  LogRecord record_;
  std::map<uint64_t, Lsn> newest_;
};

void RunRedo(FuzzInput& input) {
  CrashRecorder recorder(ThreadRuntime(), {.record = false, .capacity_limit_bytes = 1 << 20});
  recorder.AddDisk("log");
  const std::unique_ptr<Log> log = NewLog(recorder);
  PageLsns page_lsns;
  while (!input.empty()) {
    const auto size = input.Take<uint16_t>();
    const std::string_view bytes = input.TakeBytes(size);
    const bool fits = !bytes.empty() && bytes.size() <= log->max_record_bytes();
    if (fits)
      AppendMade(*log, bytes.size(), [&](Lsn lsn) { return page_lsns.Complete(bytes, lsn); });
  }
  LATCHKEY_CHECK(log->Flush(log->next()).ok());
  fuzz_accepted += AnalyseAndRedo(*log).ok();
}

/// The disk of a log whose groups the engine could have written.
const DiskImage& SoundLog() {
  static const DiskImage kLog = [] {
    CrashRecorder recorder(ThreadRuntime(), {.record = false});
    recorder.AddDisk("log");
    {
      const std::unique_ptr<Log> log = NewLog(recorder);
      for (int i = 0; i < 40; ++i) {
        for (const Bytes& record : EveryRecord()) {
          Append(*log, record);
        }
        LATCHKEY_CHECK(log->Flush(log->next()).ok());
      }
    }
    return recorder.content(0);
  }();
  return kLog;
}

/// The first slot without its header.
constexpr uint64_t kStreamOffset = kLogSegmentsBegin + kBlock;
constexpr size_t kStreamBytes = kSegment - kBlock;

void RunStream(FuzzInput& input) {
  Bytes blocks(kStreamBytes);
  input.Fill(blocks);
  ResealGroups(kId, kBlock, blocks);
  DiskImage disk = SoundLog();
  disk.Write(kStreamOffset, blocks);
  CrashRecorder recorder(ThreadRuntime(), {.record = false, .capacity_limit_bytes = 1 << 20});
  recorder.AddDisk("log", disk);
  const auto log = OpenLog(ThreadRuntime(), recorder.Open(0), OptionsOfLog());
  if (!log.ok() || !(*log)->FindEnd(Lsn{0}, Lsn{0}).ok()) return;
  LogRecord record;
  Bytes again;
  const absl::Status read = (*log)->ForEach(Lsn{0}, [&](const LogRecordView& view) {
    LATCHKEY_CHECK((*log)->Read(view.lsn, &again).ok());
    LATCHKEY_CHECK(std::ranges::equal(again, view.bytes));
    return DecodeLogRecord(view.bytes, &record);
  });
  fuzz_accepted += read.ok();
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  std::string redo(1, static_cast<char>(kRedo));
  for (const Bytes& record : EveryRecord()) {
    const std::string bytes(reinterpret_cast<const char*>(record.data()), record.size());
    seeds.push_back(static_cast<char>(kRecord) + bytes);
    PutValue(static_cast<uint16_t>(bytes.size()), &redo);
    redo += bytes;
  }
  seeds.push_back(redo);
  Bytes blocks(kStreamBytes);
  SoundLog().Read(kStreamOffset, blocks);
  seeds.push_back(static_cast<char>(kStream) +
                  std::string(reinterpret_cast<const char*>(blocks.data()), blocks.size()));
  return seeds;
}

}  // namespace latchkey

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  latchkey::FuzzInput input(data, size);
  switch (input.Take<uint8_t>() % latchkey::kForms) {
    case latchkey::kRecord:
      latchkey::DecodeOne(input);
      break;
    case latchkey::kStream:
      latchkey::RunStream(input);
      break;
    default:
      latchkey::RunRedo(input);
      break;
  }
  return 0;
}
