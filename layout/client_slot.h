// The place where a segment store keeps its client, so that the client can be detached while other
// threads ask it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "storage/base/check.h"
#include "storage/page_store_client.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safe. Ask takes no lock.
class ClientSlot {
 public:
  explicit ClientSlot(Runtime& runtime) : runtime_(runtime) {}

  /// REQUIRES: no client is attached.
  void Attach(PageStoreClient& client) {
    LATCHKEY_CHECK(client_.exchange(&client, std::memory_order_seq_cst) == nullptr);
  }
  /// On return no thread asks the client, and none will.
  void Detach() {
    client_.store(nullptr, std::memory_order_seq_cst);
    Backoff backoff(runtime_);
    while (asking_.load(std::memory_order_seq_cst) > 0) backoff.Pause();
  }
  /// The client's answer `ask(client)`, or `otherwise` without a client.
  template <typename Answer, typename Question>
  Answer Ask(Answer otherwise, Question&& ask) const {
    const Asking asking(asking_);
    PageStoreClient* client = client_.load(std::memory_order_seq_cst);
    return client == nullptr ? std::move(otherwise) : ask(*client);
  }

 private:
  // Counts before the pointer is loaded: Detach either clears the pointer first, or sees the count.
  class Asking {
   public:
    explicit Asking(std::atomic<uint32_t>& count) : count_(count) {
      count_.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Asking() { count_.fetch_sub(1, std::memory_order_seq_cst); }
    Asking(const Asking&) = delete;

   private:
    std::atomic<uint32_t>& count_;
  };

  Runtime& runtime_;
  std::atomic<PageStoreClient*> client_{nullptr};
  mutable std::atomic<uint32_t> asking_{0};
};

}  // namespace latchkey
