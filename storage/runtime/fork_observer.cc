#include "storage/runtime/fork_observer.h"

#include <pthread.h>

#include <mutex>

#include "storage/base/check.h"

namespace latchkey {

// A fork holds the list's mutex, so that the child never finds it held by a thread that the child
// does not have.
class ForkObserverList {
 public:
  ForkObserverList() {
    LATCHKEY_CHECK(pthread_atfork([] { Get().mutex_.lock(); }, [] { Get().mutex_.unlock(); },
                                  [] {
                                    Get().NotifyAll();
                                    Get().mutex_.unlock();
                                  }) == 0);
  }

  static ForkObserverList& Get() {
    static ForkObserverList* list = new ForkObserverList;  // never destroyed: databases outlive it
    return *list;
  }

  void Add(ForkObserver& observer) {
    std::lock_guard<std::mutex> lock(mutex_);
    observer.is_watched_ = true;
    observer.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &observer;
    first_ = &observer;
  }
  void Remove(ForkObserver& observer) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!observer.is_watched_) return;
    observer.is_watched_ = false;
    if (observer.next_ != nullptr) observer.next_->previous_ = observer.previous_;
    (observer.previous_ != nullptr ? observer.previous_->next_ : first_) = observer.next_;
  }
  void Visit(absl::FunctionRef<void(const ForkObserver&)> visit) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const ForkObserver* at = first_; at != nullptr; at = at->next_) visit(*at);
  }

 private:
  void NotifyAll() {
    for (ForkObserver* at = first_; at != nullptr; at = at->next_) at->OnForkInChild();
  }

  std::mutex mutex_;
  ForkObserver* first_ = nullptr;
};

void ForkObserver::Watch() { ForkObserverList::Get().Add(*this); }
void ForkObserver::Unwatch() { ForkObserverList::Get().Remove(*this); }
void ForkObserver::VisitAll(absl::FunctionRef<void(const ForkObserver&)> visit) {
  ForkObserverList::Get().Visit(visit);
}

}  // namespace latchkey
