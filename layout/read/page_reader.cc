#include "layout/read/page_reader.h"

#include <algorithm>
#include <utility>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/io_window.h"

namespace latchkey {
namespace {

constexpr uint32_t kReadQueueDepth = 128;

absl::Status NeverWritten(PageId id) {
  return MakeStatus(absl::StatusCode::kNotFound, "page {} was never written", Raw(id));
}

}  // namespace

absl::Status PageReader::Read(PageId id, std::byte* out) {
  LATCHKEY_RETURN_IF_ERROR(directory_.CheckAllocated(id));
  core_.counters.page_reads.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    const LocationWord word = directory_.map().Load(id);
    if (word.in_memory()) {
      if (directory_.frames().CopyOut(directory_.map(), id, word, out)) return absl::OkStatus();
      continue;
    }
    if (!word.on_device()) return NeverWritten(id);
    const absl::Status status = ReadFromDevice(id, word, out);
    // An error counts only if the page's word is still the same.
    if (status.ok() || directory_.map().Load(id) == word) return status;
  }
}

// Reads up to twice, for two reasons: a device error is retried once; and a page that moved away
// and back to the same slot during the read has the same word, but reads as damaged the first time.
absl::Status PageReader::ReadFromDevice(PageId id, LocationWord word, std::byte* out) {
  const StoreGeometry& geometry = core_.geometry;
  Buffers::Object buffer = BufferFor(word);
  const std::span<std::byte> blocks(buffer != nullptr ? buffer->data() : out,
                                    geometry.BlockBytes(word.slot(), word.slots()));
  const uint64_t offset = geometry.OffsetOf(geometry.BlockOf(word.slot()));
  absl::Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    status = core_.device.Read(offset, blocks, IoClass::kPageRead);
    if (status.ok()) status = directory_.ProveBlocks(id, word, blocks, out);
    if (status.ok() || absl::IsAborted(status)) break;
  }
  buffers_.Return(std::move(buffer));
  return status;
}

// A page that lies in one block is read where it is wanted: nullptr.
PageReader::Buffers::Object PageReader::BufferFor(LocationWord word) {
  const uint32_t bytes = core_.geometry.BlockBytes(word.slot(), word.slots());
  if (bytes == core_.geometry.page_size) return nullptr;
  Buffers::Object buffer = buffers_.Take();
  return buffer != nullptr ? std::move(buffer) : std::make_unique<AlignedBuffer>(bytes);
}

std::unique_ptr<IoQueue> PageReader::TakeQueue() {
  {
    MutexLock lock(mutex_);
    if (!queues_.empty()) {
      auto queue = std::move(queues_.back());
      queues_.pop_back();
      return queue;
    }
  }
  auto queue = core_.device.NewQueue(kReadQueueDepth);
  return queue.ok() ? *std::move(queue) : nullptr;
}

void PageReader::ReturnQueue(std::unique_ptr<IoQueue> queue) {
  MutexLock lock(mutex_);
  queues_.push_back(std::move(queue));
}

void PageReader::ReadAll(std::span<PageRead> reads) {
  std::unique_ptr<IoQueue> queue = reads.size() > 1 ? TakeQueue() : nullptr;
  if (queue == nullptr) {
    for (PageRead& read : reads) read.status = Read(read.id, read.out);
    return;
  }
  struct Reading {
    PageRead* read = nullptr;
    LocationWord word;
    Buffers::Object buffer;
  };
  IoWindow<Reading> window(std::min<size_t>(reads.size(), kReadQueueDepth));
  // From here on nothing throws: the buffers must live while reads are in flight into them.
  const auto read_singly = [&](PageRead& read) {
    read.status = CatchOutOfMemory([&] { return Read(read.id, read.out); });
  };
  size_t next = 0;
  window.Run(
      *queue,
      [&](TaggedRequest<Reading>& request) {
        while (next < reads.size()) {
          PageRead& read = reads[next++];
          read.status = CatchOutOfMemory([&] { return directory_.CheckAllocated(read.id); });
          if (!read.status.ok()) continue;
          const LocationWord word = directory_.map().Load(read.id);
          if (!word.on_device()) {  // from memory, or never written
            read_singly(read);
            continue;
          }
          Buffers::Object buffer;
          read.status = CatchOutOfMemory([&] {
            buffer = BufferFor(word);
            return absl::OkStatus();
          });
          if (!read.status.ok()) continue;
          request.tag = {&read, word, std::move(buffer)};
          request.op = IoRequest::Op::kRead;
          request.io_class = IoClass::kPageRead;
          request.offset = core_.geometry.OffsetOf(core_.geometry.BlockOf(word.slot()));
          request.length = core_.geometry.BlockBytes(word.slot(), word.slots());
          request.buffer = request.tag.buffer != nullptr ? request.tag.buffer->data() : read.out;
          return true;
        }
        return false;
      },
      [&](const IoRequest& request, Reading& reading) {
        PageRead& read = *reading.read;
        read.status = request.status;
        if (read.status.ok()) {
          read.status = CatchOutOfMemory([&] {
            return directory_.ProveBlocks(read.id, reading.word, {request.buffer, request.length},
                                          read.out);
          });
        }
        buffers_.Return(std::move(reading.buffer));
        if (read.status.ok()) {
          core_.counters.page_reads.fetch_add(1, std::memory_order_relaxed);
        } else {
          read_singly(read);  // the page has moved meanwhile, or it is damaged
        }
      });
  try {
    ReturnQueue(std::move(queue));
  } catch (const std::bad_alloc&) {  // the next batch makes another one
  }
}

}  // namespace latchkey
