#include "engine/log/log_record.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/btree/node.h"
#include "engine/log/page_lsn.h"
#include "storage/base/check.h"
#include "storage/base/racy_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr size_t kImageEntrySize = 16;
constexpr size_t kIdSize = 4;
constexpr uint8_t kDifference = 8;
constexpr uint8_t kFrom = 1, kTo = 2;  // of kDeleteRange
constexpr uint8_t kOldChange = 1, kOldCompensation = 2;

struct HeaderBytes {
  uint8_t type;
  uint8_t states;
  uint16_t key_size;
  uint32_t number;  // tree id, or number of ids that the body lists
  uint64_t txn;
  uint64_t previous;
};
static_assert(sizeof(HeaderBytes) == kLogRecordHeaderSize);

struct ChangeBytes {
  uint32_t page;
  uint16_t now_size;
  uint16_t before_size;
  uint32_t page_lsn;
};
struct ImagesBytes {
  uint32_t page_size;
  uint32_t zero;
};
struct ImageBytes {
  uint32_t page;
  uint32_t hole_begin;
  uint32_t hole_end;
  uint8_t page_type;
  uint8_t zero[3];
};
struct SplitBytes {
  uint32_t page_size;
  ImageBytes right;
  uint32_t page;
  uint32_t parent;
  uint32_t page_lsn;
  uint32_t parent_lsn;
  uint32_t fence_prefix;
};
struct CheckpointBytes {
  uint64_t as_of;
  uint64_t next_txn;
  uint32_t chains;
  uint16_t part;
  uint16_t parts;
};
struct TransactionBytes {
  uint64_t id, first, last;
};
static_assert(sizeof(ChangeBytes) == 12 && sizeof(ImagesBytes) == 8 &&
              sizeof(CheckpointBytes) == 24 && sizeof(SplitBytes) == 40);
static_assert(sizeof(ImageBytes) == kImageEntrySize && sizeof(TransactionBytes) == 24);

// ---- Encoding

class Writer {
 public:
  explicit Writer(std::byte* to) : to_(to) {}
  template <typename T>
  void Put(const T& value) {
    std::memcpy(to_, &value, sizeof(value));
    to_ += sizeof(value);
  }
  void Bytes(const void* from, size_t size) {
    if (size == 0) return;
    std::memcpy(to_, from, size);
    to_ += size;
  }
  void Bytes(std::string_view bytes) { Bytes(bytes.data(), bytes.size()); }
  void Header(const LogRecordHeader& header, uint8_t states, size_t key_size, uint32_t number) {
    Put(HeaderBytes{.type = static_cast<uint8_t>(header.type),
                    .states = states,
                    .key_size = static_cast<uint16_t>(key_size),
                    .number = number,
                    .txn = Raw(header.txn),
                    .previous = Raw(header.previous)});
  }
  void Ids(std::span<const PageId> pages) {
    for (const PageId page : pages) Put(static_cast<uint32_t>(Raw(page)));
  }
  void Content(const PageImage& image) {
    Bytes(image.bytes.data() + kPageHeaderSize, image.hole_begin - kPageHeaderSize);
    Bytes(image.bytes.data() + image.hole_end, image.bytes.size() - image.hole_end);
  }

 private:
  std::byte* to_;
};

// ---- Decoding

absl::Status Bad(std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss, "not a log record of this database: {}", what);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <typename T>
  [[nodiscard]] bool Get(T* value) {
    if (rest_.size() < sizeof(T)) return false;
    std::memcpy(value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return true;
  }
  [[nodiscard]] bool Text(size_t size, std::string_view* text) {
    std::span<const std::byte> bytes;
    if (!Span(size, &bytes)) return false;
    *text = {reinterpret_cast<const char*>(bytes.data()), size};
    return true;
  }
  [[nodiscard]] bool Span(size_t size, std::span<const std::byte>* bytes) {
    if (rest_.size() < size) return false;
    *bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return true;
  }
  [[nodiscard]] bool Ids(size_t count, std::vector<PageId>* pages) {
    if (rest_.size() / kIdSize < count) return false;
    pages->reserve(count);
    for (size_t i = 0; i < count; ++i) {
      uint32_t id = 0;
      if (!Get(&id)) return false;
      pages->push_back(PageId{id});
    }
    return true;
  }
  [[nodiscard]] bool Packed(uint64_t* value) {
    *value = 0;
    for (uint32_t shift = 0; shift < 35; shift += 7) {
      uint8_t byte = 0;
      if (!Get(&byte)) return false;
      *value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return true;
    }
    return false;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
};

bool IsState(uint8_t state) { return state <= static_cast<uint8_t>(RecordState::kOverflow); }
bool BytesFit(RecordState state, size_t size) {
  if (state == RecordState::kOverflow) return size == kOverflowReferenceSize;
  return HasValue(state) || size == 0;
}

absl::Status DecodeDifference(ChangeBytes sizes, Reader& in, RecordChange* change) {
  change->is_difference = true;
  change->difference = {.bytes = {}, .before_size = sizes.before_size, .now_size = sizes.now_size};
  const bool whole = in.Text(in.left(), &change->difference.bytes);
  if (!whole || change->now != RecordState::kValue || change->before != RecordState::kValue ||
      !IsSound(change->difference)) {
    return Bad("a difference that is none between two values");
  }
  return absl::OkStatus();
}

absl::Status DecodeChange(const HeaderBytes& header, Reader& in, LogRecord* record) {
  RecordChange& change = record->change = {};
  const uint8_t now = header.states & 7;
  const uint8_t before = header.states >> 4;
  ChangeBytes sizes;
  if (!IsState(now) || !IsState(before) || header.key_size > kMaxNodeKeySize || !in.Get(&sizes)) {
    return Bad("a change with impossible states or key");
  }
  change.tree = TreeId{header.number};
  change.page = PageId{sizes.page};
  change.page_lsn = sizes.page_lsn;
  change.now = static_cast<RecordState>(now);
  change.before = static_cast<RecordState>(before);
  if (!BytesFit(change.now, sizes.now_size) || !BytesFit(change.before, sizes.before_size)) {
    return Bad("a change with bytes that its states have not");
  }
  if (sizes.now_size > kMaxPageSize / 4 || sizes.before_size > kMaxPageSize / 4) {
    return Bad("a change with a value that no leaf holds");
  }
  if (record->header.type == LogRecordType::kCompensation && !in.Get(&change.undone_from)) {
    return Bad("a compensation that is cut off");
  }
  if (!in.Text(header.key_size, &change.key)) return Bad("a change that is cut off");
  if ((header.states & kDifference) != 0) return DecodeDifference(sizes, in, &change);
  if (!in.Text(sizes.now_size, &change.now_bytes) ||
      !in.Text(sizes.before_size, &change.before_bytes)) {
    return Bad("a change that is cut off");
  }
  return absl::OkStatus();
}

absl::Status AddImageEntry(const ImageBytes& image, LogRecord* record) {
  if (image.hole_begin < kPageHeaderSize || image.hole_begin > image.hole_end ||
      image.hole_end > record->page_size) {
    return Bad("an image with an impossible hole");
  }
  record->images.push_back({.page = PageId{image.page},
                            .bytes = {},
                            .hole_begin = image.hole_begin,
                            .hole_end = image.hole_end,
                            .page_type = image.page_type});
  return absl::OkStatus();
}

absl::Status DecodeImageEntries(size_t count, Reader& in, LogRecord* record) {
  for (size_t i = 0; i < count; ++i) {
    ImageBytes image;
    if (!in.Get(&image)) return Bad("images that are cut off");
    LATCHKEY_RETURN_IF_ERROR(AddImageEntry(image, record));
  }
  return absl::OkStatus();
}

absl::Status DecodeImageContents(Reader& in, LogRecord* record) {
  for (PageImage& image : record->images) {
    const size_t size = image.hole_begin - kPageHeaderSize + record->page_size - image.hole_end;
    if (!in.Span(size, &image.bytes)) return Bad("an image that is cut off");
  }
  return absl::OkStatus();
}

absl::Status DecodeImages(const HeaderBytes& header, Reader& in, LogRecord* record) {
  ImagesBytes body;
  if (!in.Get(&body) || !IsValidPageSize(body.page_size)) {
    return Bad("images of an impossible page size");
  }
  record->page_size = body.page_size;
  const auto kind = static_cast<ImagesKind>(header.states);
  if (kind > ImagesKind::kDetach) return Bad("images of an unknown kind");
  record->ends_transaction = kind == ImagesKind::kEnd;
  LATCHKEY_RETURN_IF_ERROR(DecodeImageEntries(header.key_size, in, record));
  std::vector<PageId>& ids = kind == ImagesKind::kDetach ? record->detached : record->pages;
  if (!in.Ids(header.number, &ids)) return Bad("freed pages that are cut off");
  return DecodeImageContents(in, record);
}

absl::Status DecodeSplit(const HeaderBytes& header, Reader& in, LogRecord* record) {
  SplitBytes body;
  if (!in.Get(&body) || !IsValidPageSize(body.page_size)) {
    return Bad("a split of pages of an impossible size");
  }
  record->page_size = body.page_size;
  LATCHKEY_RETURN_IF_ERROR(AddImageEntry(body.right, record));
  PageSplit& split = record->split = {.page = PageId{body.page},
                                      .parent = PageId{body.parent},
                                      .page_lsn = body.page_lsn,
                                      .parent_lsn = body.parent_lsn,
                                      .fence_prefix = body.fence_prefix,
                                      .separator = {}};
  if (header.key_size > kMaxNodeKeySize || split.fence_prefix > header.key_size ||
      !in.Text(header.key_size, &split.separator)) {
    return Bad("a split with an impossible separator");
  }
  return DecodeImageContents(in, record);
}

absl::Status DecodeFree(const HeaderBytes& header, Reader& in, LogRecord* record) {
  uint64_t chain = 0;
  if (!in.Get(&chain) || !in.Ids(header.number, &record->pages)) {
    return Bad("freed pages that are cut off");
  }
  if (chain >= kMaxPageIds && chain != Raw(kInvalidPageId)) return Bad("an impossible chain");
  record->chain = PageId{chain};
  return absl::OkStatus();
}

absl::Status DecodeCheckpoint(const HeaderBytes& header, Reader& in, LogRecord* record) {
  CheckpointBytes body;
  if (!in.Get(&body) || body.part >= body.parts) return Bad("an impossible checkpoint");
  record->checkpoint = {.as_of = Lsn{body.as_of},
                        .next_txn = TxnId{body.next_txn},
                        .part = body.part,
                        .parts = body.parts};
  for (uint32_t i = 0; i < header.number; ++i) {
    TransactionBytes bytes;
    if (!in.Get(&bytes)) return Bad("a checkpoint that is cut off");
    record->transactions.push_back({TxnId{bytes.id}, Lsn{bytes.first}, Lsn{bytes.last}});
  }
  for (uint32_t i = 0; i < body.chains; ++i) {
    OverflowChain chain;
    if (!in.Get(&chain)) return Bad("a checkpoint that is cut off");
    if (Raw(chain.first_page) >= kMaxPageIds) return Bad("an impossible chain");
    record->chains.push_back(chain);
  }
  return absl::OkStatus();
}

absl::Status DecodeDropTree(const HeaderBytes& header, Reader& in, LogRecord* record) {
  uint64_t root = 0;
  if (!in.Get(&root) || root >= kMaxPageIds || !in.Text(header.key_size, &record->name)) {
    return Bad("an impossible drop of a tree");
  }
  record->tree = TreeId{header.number};
  record->root = PageId{root};
  return absl::OkStatus();
}

absl::Status DecodeDeleteRange(const HeaderBytes& header, Reader& in, LogRecord* record) {
  std::string_view from, to;
  const bool has_from = (header.states & kFrom) != 0, has_to = (header.states & kTo) != 0;
  if (header.states > (kFrom | kTo) || !in.Text(header.key_size, &from) ||
      !in.Text(in.left(), &to) || from.size() > kMaxNodeKeySize || to.size() > kMaxNodeKeySize ||
      (!has_from && !from.empty()) || (!has_to && !to.empty())) {
    return Bad("an impossible range");
  }
  record->range = {.tree = TreeId{header.number}, .from = std::nullopt, .to = std::nullopt};
  if (has_from) record->range.from = from;
  if (has_to) record->range.to = to;
  return absl::OkStatus();
}

absl::Status DecodeFreeSorted(const HeaderBytes& header, Reader& in, LogRecord* record) {
  if (header.number > in.left()) return Bad("freed pages that are cut off");
  record->pages.reserve(header.number);
  uint64_t page = 0;
  for (uint32_t i = 0; i < header.number; ++i) {
    uint64_t step = 0;
    if (!in.Packed(&step)) return Bad("freed pages that are cut off");
    page += step;
    if (page >= kMaxPageIds || (i > 0 && step == 0)) return Bad("freed pages that do not ascend");
    record->pages.push_back(PageId{page});
  }
  return absl::OkStatus();
}

absl::Status DecodeBody(const HeaderBytes& header, Reader& in, LogRecord* record) {
  if (header.type == kOldChange || header.type == kOldCompensation) {
    return Bad(
        "a change in an earlier format; open the database with the version that wrote it, "
        "and close it");
  }
  switch (record->header.type) {
    case LogRecordType::kChange:
    case LogRecordType::kCompensation:
    case LogRecordType::kBlindPut:
      return DecodeChange(header, in, record);
    case LogRecordType::kImages:
      return DecodeImages(header, in, record);
    case LogRecordType::kSplit:
      return DecodeSplit(header, in, record);
    case LogRecordType::kAllocation:
      return in.Ids(header.number, &record->pages) ? absl::OkStatus()
                                                   : Bad("allocated pages that are cut off");
    case LogRecordType::kFree:
      return DecodeFree(header, in, record);
    case LogRecordType::kCommit:
    case LogRecordType::kEnd:
      return absl::OkStatus();
    case LogRecordType::kCheckpoint:
      return DecodeCheckpoint(header, in, record);
    case LogRecordType::kDropTree:
      return DecodeDropTree(header, in, record);
    case LogRecordType::kDeleteRange:
      return DecodeDeleteRange(header, in, record);
    case LogRecordType::kFreeSorted:
      return DecodeFreeSorted(header, in, record);
  }
  return Bad("an unknown type, perhaps of a newer version");
}

}  // namespace

OverflowChain ChainOf(std::string_view reference) {
  OverflowChain chain;
  if (reference.size() == sizeof(chain)) std::memcpy(&chain, reference.data(), sizeof(chain));
  return chain;
}

absl::Status DecodeLogRecord(std::span<const std::byte> bytes, LogRecord* record) {
  record->images.clear();
  record->pages.clear();
  record->detached.clear();
  record->transactions.clear();
  record->chains.clear();
  record->chain = kInvalidPageId;
  Reader in(bytes);
  HeaderBytes header;
  if (!in.Get(&header)) return Bad("it is shorter than a header");
  record->header = {.type = static_cast<LogRecordType>(header.type),
                    .txn = TxnId{header.txn},
                    .previous = Lsn{header.previous}};
  LATCHKEY_RETURN_IF_ERROR(DecodeBody(header, in, record));
  return in.left() == 0 ? absl::OkStatus() : Bad("bytes behind its end");
}

void ExpandImage(const PageImage& image, uint32_t page_size, Lsn lsn, std::byte* page) {
  const size_t front = image.hole_begin - kPageHeaderSize;
  LATCHKEY_CHECK(image.bytes.size() == front + page_size - image.hole_end);
  RacyZero(page, kPageHeaderSize);
  SetPageLsn(page, lsn);
  RacyStore<uint8_t>(page + offsetof(PageHeader, page_type), image.page_type);
  RacyCopyIn(page + kPageHeaderSize, image.bytes.data(), front);
  RacyZero(page + image.hole_begin, image.hole_end - image.hole_begin);
  RacyCopyIn(page + image.hole_end, image.bytes.data() + front, page_size - image.hole_end);
}

PageImage ImageOf(PageId id, std::span<const std::byte> page) {
  const auto size = static_cast<uint32_t>(page.size());
  PageImage image{.page = id, .bytes = page, .hole_begin = size, .hole_end = size};
  image.page_type = static_cast<uint8_t>(page[offsetof(PageHeader, page_type)]);
  const auto type = static_cast<PageType>(image.page_type);
  if (type == PageType::kTreeLeaf || type == PageType::kTreeInner) {
    const NodeView node(page.data(), size);
    const uint32_t slots_end = node_format::kSlots + node.count() * node_format::kSlotSize;
    const uint32_t heap_begin = size - RacyLoad<uint16_t>(page.data() + node_format::kHeapSize);
    LATCHKEY_CHECK(slots_end <= heap_begin && heap_begin <= size);
    image.hole_begin = slots_end;
    image.hole_end = heap_begin;
    return image;
  }
  // Pages of other types are filled from the front. Zeros at their end are left out.
  while (image.hole_begin > kPageHeaderSize && page[image.hole_begin - 1] == std::byte{0}) {
    --image.hole_begin;
  }
  return image;
}

bool BytesNow(const RecordChange& change, std::string* value) {
  if (change.is_difference) return ApplyForward(change.difference, value);
  value->assign(change.now_bytes);
  return true;
}

bool BytesBefore(const RecordChange& change, std::string* value) {
  if (change.is_difference) return ApplyBackward(change.difference, value);
  value->assign(change.before_bytes);
  return true;
}

ChangeEncoding::ChangeEncoding(LogRecordType type, const RecordChange& change)
    : type_(type), change_(change) {
  size_t values = change.now_bytes.size() + change.before_bytes.size();
  if (type == LogRecordType::kChange && change.now == RecordState::kValue &&
      change.before == RecordState::kValue) {
    difference_.emplace(change.before_bytes, change.now_bytes);
    if (difference_->size() < values) {
      values = difference_->size();
    } else {
      difference_.reset();
    }
  }
  size_ = (type == LogRecordType::kCompensation ? kLogCompensationOverhead : kLogChangeOverhead) +
          change.key.size() + values;
}

void ChangeEncoding::Encode(const LogRecordHeader& header, uint32_t page_lsn, std::byte* to) const {
  std::byte* const end = to + size_;
  Writer out(to);
  const auto states =
      static_cast<uint8_t>(static_cast<uint8_t>(change_.now) | (difference_ ? kDifference : 0) |
                           static_cast<uint8_t>(change_.before) << 4);
  out.Header(header, states, change_.key.size(), Raw(change_.tree));
  out.Put(ChangeBytes{.page = static_cast<uint32_t>(Raw(change_.page)),
                      .now_size = static_cast<uint16_t>(change_.now_bytes.size()),
                      .before_size = static_cast<uint16_t>(change_.before_bytes.size()),
                      .page_lsn = page_lsn});
  if (type_ == LogRecordType::kCompensation) out.Put(Raw(change_.undone_from));
  out.Bytes(change_.key);
  if (difference_) {
    difference_->Encode(end - difference_->size());
  } else {
    out.Bytes(change_.now_bytes);
    out.Bytes(change_.before_bytes);
  }
}

namespace {

size_t ContentSize(const PageImage& image) {
  return image.hole_begin - kPageHeaderSize + image.bytes.size() - image.hole_end;
}

ImageBytes EntryOf(const PageImage& image) {
  return {.page = static_cast<uint32_t>(Raw(image.page)),
          .hole_begin = image.hole_begin,
          .hole_end = image.hole_end,
          .page_type = image.page_type,
          .zero = {}};
}

}  // namespace

size_t ImagesRecordSize(std::span<const PageImage> images, size_t ids) {
  size_t size = kLogRecordHeaderSize + sizeof(ImagesBytes) + kIdSize * ids;
  for (const PageImage& image : images) size += kImageEntrySize + ContentSize(image);
  return size;
}

void EncodeImages(const LogRecordHeader& header, std::span<const PageImage> images,
                  std::span<const PageId> ids, std::byte* to, ImagesKind kind) {
  Writer out(to);
  out.Header(header, static_cast<uint8_t>(kind), images.size(), static_cast<uint32_t>(ids.size()));
  const size_t page_size = images.empty() ? kMinPageSize : images.front().bytes.size();
  out.Put(ImagesBytes{.page_size = static_cast<uint32_t>(page_size), .zero = 0});
  for (const PageImage& image : images) out.Put(EntryOf(image));
  out.Ids(ids);
  for (const PageImage& image : images) out.Content(image);
}

size_t SplitRecordSize(const PageSplit& split, const PageImage& right) {
  return kLogRecordHeaderSize + sizeof(SplitBytes) + split.separator.size() + ContentSize(right);
}

void EncodeSplit(const LogRecordHeader& header, const PageSplit& split, const PageImage& right,
                 std::byte* to) {
  Writer out(to);
  out.Header(header, 0, split.separator.size(), 0);
  out.Put(SplitBytes{.page_size = static_cast<uint32_t>(right.bytes.size()),
                     .right = EntryOf(right),
                     .page = static_cast<uint32_t>(Raw(split.page)),
                     .parent = static_cast<uint32_t>(Raw(split.parent)),
                     .page_lsn = split.page_lsn,
                     .parent_lsn = split.parent_lsn,
                     .fence_prefix = split.fence_prefix});
  out.Bytes(split.separator);
  out.Content(right);
}

void EncodeAllocation(const LogRecordHeader& header, std::span<const PageId> pages, std::byte* to) {
  Writer out(to);
  out.Header(header, 0, 0, static_cast<uint32_t>(pages.size()));
  out.Ids(pages);
}

void EncodeFree(const LogRecordHeader& header, PageId chain, std::span<const PageId> pages,
                std::byte* to) {
  Writer out(to);
  out.Header(header, 0, 0, static_cast<uint32_t>(pages.size()));
  out.Put(Raw(chain));
  out.Ids(pages);
}

void EncodeEnd(const LogRecordHeader& header, std::byte* to) { Writer(to).Header(header, 0, 0, 0); }

void EncodeCheckpoint(const CheckpointPart& part, std::span<const ActiveTransaction> transactions,
                      std::span<const OverflowChain> chains, std::byte* to) {
  Writer out(to);
  out.Header({.type = LogRecordType::kCheckpoint}, 0, 0,
             static_cast<uint32_t>(transactions.size()));
  out.Put(CheckpointBytes{.as_of = Raw(part.as_of),
                          .next_txn = Raw(part.next_txn),
                          .chains = static_cast<uint32_t>(chains.size()),
                          .part = part.part,
                          .parts = part.parts});
  for (const ActiveTransaction& txn : transactions) {
    out.Put(TransactionBytes{Raw(txn.id), Raw(txn.first), Raw(txn.last)});
  }
  for (const OverflowChain& chain : chains) out.Put(chain);
}

void EncodeDropTree(const LogRecordHeader& header, TreeId tree, PageId root, std::string_view name,
                    std::byte* to) {
  Writer out(to);
  out.Header(header, 0, name.size(), Raw(tree));
  out.Put(Raw(root));
  out.Bytes(name);
}

size_t DeleteRangeRecordSize(const LoggedRange& range) {
  return kLogRecordHeaderSize + range.from.value_or("").size() + range.to.value_or("").size();
}

void EncodeDeleteRange(const LogRecordHeader& header, const LoggedRange& range, std::byte* to) {
  Writer out(to);
  const auto states = static_cast<uint8_t>((range.from ? kFrom : 0) | (range.to ? kTo : 0));
  out.Header(header, states, range.from.value_or("").size(), Raw(range.tree));
  out.Bytes(range.from.value_or(""));
  out.Bytes(range.to.value_or(""));
}

size_t FreeSortedRecordSize(std::span<const PageId> pages) {
  size_t size = kLogRecordHeaderSize;
  uint64_t last = 0;
  for (const PageId page : pages) {
    for (uint64_t step = Raw(page) - std::exchange(last, Raw(page)); step >= 128; step >>= 7)
      ++size;
    ++size;
  }
  return size;
}

void EncodeFreeSorted(const LogRecordHeader& header, std::span<const PageId> pages, std::byte* to) {
  Writer out(to);
  out.Header(header, 0, 0, static_cast<uint32_t>(pages.size()));
  uint64_t last = 0;
  for (const PageId page : pages) {
    uint64_t step = Raw(page) - std::exchange(last, Raw(page));
    for (; step >= 128; step >>= 7) out.Put(static_cast<uint8_t>(128 | (step & 127)));
    out.Put(static_cast<uint8_t>(step));
  }
}

}  // namespace latchkey
