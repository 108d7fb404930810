#include "tools/trace/fix_trace_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "storage/base/status_macros.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/output.h"
#include "tools/trace/fix_trace_format.h"

namespace latchkey {

using namespace fix_trace;

struct FixTraceWriter::Buffer {
  static constexpr size_t kFull = 16 << 10;
  static constexpr size_t kMaxRecord = 2 + 2 * kMaxVarint;

  /// Begins a block.
  void Begin(uint32_t actor) {
    end = PutVarint(bytes.data(), actor);
    page = 0;
    sequence = 0;
    tree = FixRecord::kOtherTree;
    records = 0;
  }
  void Append(const FixEvent& event, uint8_t its_tree, uint64_t its_sequence) {
    const uint8_t type = event.page_type <= kTypeMask ? event.page_type : 0;
    auto bits = static_cast<uint8_t>(static_cast<uint8_t>(event.kind) | type << kTypeShift);
    if (event.missed) bits |= kMissedBit;
    if (its_tree != tree) bits |= kTreeBit;
    *end++ = static_cast<char>(bits);
    if (its_tree != tree) *end++ = static_cast<char>(its_tree);
    end = PutVarint(end, ZigZag(static_cast<int64_t>(Raw(event.page) - page)));
    end = PutVarint(end, its_sequence - sequence);
    page = Raw(event.page);
    sequence = its_sequence + 1;
    tree = its_tree;
    ++records;
  }
  std::string_view content() const {
    return {bytes.data(), static_cast<size_t>(end - bytes.data())};
  }
  bool full() const { return content().size() >= kFull; }

  std::array<char, kFull + kMaxRecord> bytes;
  char* end = nullptr;
  uint64_t page = 0, sequence = 0;  // of the record before; the latter plus 1
  uint64_t records = 0;
  uint8_t tree = FixRecord::kOtherTree;
};

namespace {

std::string HeaderText(const FixTraceHeader& header) {
  Json trees = Json::array();
  for (const TracedTree& tree : header.trees) {
    trees.push_back({{"root", Raw(tree.root)}, {"name", tree.name}, {"secondary", tree.secondary}});
  }
  return Json{{"page_size", header.page_size}, {"trees", trees}, {"settings", header.settings}}
      .dump();
}

}  // namespace

absl::StatusOr<std::unique_ptr<FixTraceWriter>> FixTraceWriter::Create(Runtime& runtime,
                                                                       const std::string& path,
                                                                       const FixTraceHeader& header,
                                                                       uint64_t limit) {
  const std::string text = HeaderText(header);
  if (header.trees.size() > kMaxTracedTrees || text.size() > kMaxContent) {
    return InvalidArgument(
        "a trace has at most {} trees, whose names have at most {} bytes together", kMaxTracedTrees,
        kMaxContent);
  }
  const int file = open(PartialOf(path).c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC,
                        S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  if (file < 0) return FileFailure("create the trace", PartialOf(path), errno);
  std::unique_ptr<FixTraceWriter> writer(new FixTraceWriter(runtime, path, header, limit, file));
  if (pwrite(file, kFixTraceMagic.data(), kFixTraceMagic.size(), 0) !=
      static_cast<ssize_t>(kFixTraceMagic.size())) {
    writer->NoteError(ENOSPC);
  }
  writer->WriteBlock(kHeaderBlock, text);
  const int error = writer->error_.load();
  if (error != 0) return FileFailure("write the trace", path, error);
  return writer;
}

FixTraceWriter::FixTraceWriter(Runtime& runtime, std::string path, const FixTraceHeader& header,
                               uint64_t limit, int file)
    : runtime_(runtime),
      path_(std::move(path)),
      trees_(header.trees),
      limit_(limit),
      file_(file),
      end_(kFixTraceMagic.size()),
      buffers_(Runtime::kMaxActors) {}

FixTraceWriter::~FixTraceWriter() {
  if (file_ < 0) return;
  close(file_);
  std::remove(PartialOf(path_).c_str());
}

uint64_t FixTraceWriter::records() const {
  return std::min(next_.load(std::memory_order_relaxed), limit_);
}

uint8_t FixTraceWriter::NumberOf(PageId tree) const {
  for (size_t i = 0; i < trees_.size(); ++i) {
    if (trees_[i].root == tree) return static_cast<uint8_t>(i);
  }
  return FixRecord::kOtherTree;
}

void FixTraceWriter::NoteError(int errnum) {
  int none = 0;
  error_.compare_exchange_strong(none, errnum);
}

FixTraceWriter::Buffer* FixTraceWriter::BufferOf(uint32_t actor) {
  std::unique_ptr<Buffer>& buffer = buffers_[actor];
  if (buffer == nullptr) {
    buffer.reset(new (std::nothrow) Buffer);
    if (buffer == nullptr) {
      NoteError(ENOMEM);
      return nullptr;
    }
    buffer->Begin(actor);
  }
  return buffer.get();
}

void FixTraceWriter::Record(uint32_t actor, const FixEvent& event) {
  if (error_.load(std::memory_order_relaxed) != 0 || !recording_.TryEnter(actor)) return;
  // Past the limit the counter grows by at most one record an actor.
  Buffer* const buffer =
      next_.load(std::memory_order_relaxed) <= limit_ ? BufferOf(actor) : nullptr;
  if (buffer != nullptr) {
    const uint64_t sequence = next_.fetch_add(1, std::memory_order_relaxed);
    if (sequence < limit_) buffer->Append(event, NumberOf(event.tree), sequence);
    if (buffer->full()) {
      Flush(*buffer);
      buffer->Begin(actor);
    }
  }
  recording_.Leave(actor);
}

void FixTraceWriter::Flush(Buffer& buffer) {
  if (buffer.records > 0) WriteBlock(kFixesBlock, buffer.content());
}

void FixTraceWriter::WriteBlock(uint32_t kind, std::string_view content) {
  const uint64_t position =
      end_.fetch_add(sizeof(BlockHeader) + content.size(), std::memory_order_relaxed);
  BlockHeader header{.kind = kind, .size = static_cast<uint32_t>(content.size()), .checksum = 0};
  header.checksum = ChecksumOf(header, content.data(), position);
  const auto write = [&](const char* bytes, size_t size, uint64_t at) {
    while (size > 0) {
      const ssize_t done = pwrite(file_, bytes, size, static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return NoteError(done == 0 ? ENOSPC : errno);
      bytes += done;
      size -= static_cast<size_t>(done);
      at += static_cast<uint64_t>(done);
    }
  };
  write(reinterpret_cast<const char*>(&header), sizeof(header), position);
  write(content.data(), content.size(), position + sizeof(header));
}

absl::Status FixTraceWriter::Finish(const Json& totals) {
  recording_.Close();
  Backoff backoff(runtime_);
  while (recording_.AnyInside()) backoff.Pause();
  for (const std::unique_ptr<Buffer>& buffer : buffers_) {
    if (buffer != nullptr) Flush(*buffer);
  }
  WriteBlock(kEndBlock,
             Json{{"records", records()}, {"limited", limited()}, {"totals", totals}}.dump());
  if (close(file_) != 0) NoteError(errno);
  file_ = -1;
  if (error_.load() == 0 && std::rename(PartialOf(path_).c_str(), path_.c_str()) != 0) {
    NoteError(errno);
  }
  if (error_.load() == 0) return absl::OkStatus();
  std::remove(PartialOf(path_).c_str());
  return FileFailure("write the trace", path_, error_.load());
}

}  // namespace latchkey
