#include "storage/device/aio_contexts.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace latchkey {

class AioContexts::Hold {
 public:
  explicit Hold(AioContexts& contexts)
      : contexts_(contexts), holds_(!contexts.held_.exchange(true, std::memory_order_acquire)) {
    if (!holds_ || contexts_.owner_ == getpid()) return;
    contexts_.kept_.clear();  // a child has none of its parent's contexts
    contexts_.owner_ = getpid();
  }
  ~Hold() {
    if (holds_) contexts_.held_.store(false, std::memory_order_release);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return holds_; }

 private:
  AioContexts& contexts_;
  const bool holds_;
};

AioContexts::~AioContexts() {
  for (const Kept& kept : GiveUpKept()) kernel_.Destroy(kept.context, kept.depth);
}

int AioContexts::Setup(int depth, io_context_t* context) {
  if (TakeKept(depth, context)) return 0;
  const int result = kernel_.Setup(depth, context);
  if (result != -EAGAIN) return result;
  const std::vector<Kept> given_up = GiveUpKept();
  for (const Kept& kept : given_up) kernel_.Destroy(kept.context, kept.depth);
  return given_up.empty() ? result : kernel_.Setup(depth, context);
}

void AioContexts::Destroy(io_context_t context, int depth) {
  if (!Keep(context, depth)) kernel_.Destroy(context, depth);
}

bool AioContexts::TakeKept(int depth, io_context_t* context) {
  const Hold hold(*this);
  if (!hold) return false;
  const auto found = std::ranges::find(kept_, depth, &Kept::depth);
  if (found == kept_.end()) return false;
  *context = found->context;
  *found = kept_.back();
  kept_.pop_back();
  return true;
}

bool AioContexts::Keep(io_context_t context, int depth) {
  const Hold hold(*this);
  if (!hold || kept_.size() == kMostKept) return false;
  kept_.push_back({context, depth});
  return true;
}

std::vector<AioContexts::Kept> AioContexts::GiveUpKept() {
  const Hold hold(*this);
  std::vector<Kept> given_up;
  if (hold) given_up = kept_;  // kept_ keeps its memory
  if (hold) kept_.clear();
  return given_up;
}

}  // namespace latchkey
