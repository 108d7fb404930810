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
  absl::Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::span<std::byte> page(out, core_.geometry.page_size);
    status = core_.device.Read(core_.geometry.OffsetOf(word.slot()), page, IoClass::kPageRead);
    if (status.ok()) status = directory_.Prove(id, word, page);
    if (status.ok() || absl::IsAborted(status)) break;
  }
  return status;
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
          request.tag = {&read, word};
          request.op = IoRequest::Op::kRead;
          request.io_class = IoClass::kPageRead;
          request.offset = core_.geometry.OffsetOf(word.slot());
          request.length = core_.geometry.page_size;
          request.buffer = read.out;
          return true;
        }
        return false;
      },
      [&](const IoRequest& request, const Reading& reading) {
        PageRead& read = *reading.read;
        read.status = request.status;
        if (read.status.ok()) {
          read.status = CatchOutOfMemory([&] {
            return directory_.Prove(read.id, reading.word, {read.out, core_.geometry.page_size});
          });
        }
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
