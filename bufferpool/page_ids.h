// The ids of pages: which ones the pool takes from the store, and when it gives them back.
//
// With a write-ahead log the store must keep a freed page until its free is durable, because
// recovery may need it. The engine's log, as FreedPages, keeps the ids until then.
//
// Thread-safety: every function may be called from all actors at once, except SetFreedPages.
#pragma once

#include <absl/status/statusor.h>

#include "storage/base/ids.h"
#include "storage/page_store.h"

namespace latchkey {

/// Keeps the ids of freed pages until the log record of the free is durable. Before that, the store
/// must not overwrite the old page. Implemented by the engine's log.
class FreedPages {
 public:
  virtual ~FreedPages() = default;
  /// Keeps the id of `page`, which has left its frame, and passes it to BufferPool::ReturnPageId
  /// once everything logged so far is durable. Called with latches held: must not call the pool.
  /// False when there is no memory to keep the id. Everything logged so far is then durable already
  /// (or the store is read-only), and the pool gives the page to the store at once.
  virtual bool Defer(PageId page) = 0;
  /// Called when the store is full: makes the log durable and returns the ids that wait. False when
  /// none waited. The caller may hold latches.
  virtual bool ReturnAll() = 0;
};

class PageIds {
 public:
  explicit PageIds(PageStore& store) : store_(store) {}

  /// From now on freed ids go to `freed_pages`. nullptr: at once to the store.
  void SetFreedPages(FreedPages* freed_pages) { freed_pages_ = freed_pages; }

  /// A new id below kMaxPageIds. ResourceExhausted when the store is full, or all ids are in use.
  absl::StatusOr<PageId> Allocate();
  /// Gives back the id of a page that was freed. Called while the page's word is latched: otherwise
  /// a reader with a stale id could load the old page before the store knows that it is free. With
  /// a log such a load is possible, and harmless, until Return.
  void GiveUp(PageId page);
  /// Gives `page` to the store now: an id that was never used, or one that FreedPages kept.
  void Return(PageId page) { store_.FreePage(page); }

 private:
  PageStore& store_;
  FreedPages* freed_pages_ = nullptr;
};

}  // namespace latchkey
