#include "engine/log/engine_log.h"

#include "storage/base/check.h"

namespace latchkey {

EngineLog::EngineLog(Runtime& runtime, Log& log, std::function<void(PageId)> return_page,
                     const EngineLogOptions& options)
    : log_(log),
      health_(log, options.page_status),
      accounts_(log, health_, options.page_size, options.rely_on_images != nullptr),
      active_(runtime, log),
      chains_(runtime),
      frees_under_way_(runtime, *this),
      frees_(runtime, log, health_, std::move(return_page)),
      images_(log, {.page_size = options.page_size,
                    .image_space = accounts_.image_space(),
                    .rely_on_images = options.rely_on_images,
                    .redo_has_images = options.redo_has_images}),
      changes_(log, health_, accounts_, active_, images_),
      pages_({.log = log,
              .health = health_,
              .accounts = accounts_,
              .active = active_,
              .frees_under_way = frees_under_way_,
              .chains = chains_},
             options.page_size, /*wants_images=*/images_.are_logged()),
      checkpoints_(log, health_, active_, frees_under_way_, chains_, images_),
      flusher_(runtime, health_, frees_, options.group_delay),
      durability_(log, health_, frees_, flusher_, options.wait_for_commits, options.waits),
      ends_(log, health_, accounts_, active_, flusher_) {}

std::unique_ptr<EngineLog> EngineLog::Start(Runtime& runtime, Log& log,
                                            std::function<void(PageId)> return_page,
                                            const EngineLogOptions& options) {
  std::unique_ptr<EngineLog> engine_log(
      new EngineLog(runtime, log, std::move(return_page), options));
  if (!options.wait_for_commits) engine_log->flusher_.Start();
  return engine_log;
}

EngineLog::~EngineLog() = default;

// ---- LogSpaces: each names its log from its reservation, or its first record, until it ends.

absl::Status EngineLog::Reserve(size_t pages, bool must_not_fail, LogSpace* space) {
  LATCHKEY_CHECK(space->log_ == nullptr);
  space->log_ = this;
  return accounts_.ReserveImages(*space, pages, must_not_fail);
}

absl::Status EngineLog::ReserveSystemChange(LogSpace* space) {
  LATCHKEY_CHECK(space->log_ == nullptr);
  space->log_ = this;
  return accounts_.ReserveSystemChange(*space);
}

void EngineLog::Finish(LogSpace& space) {
  frees_under_way_.Leave(space);
  accounts_.Release(space);
  space.log_ = nullptr;
}

void EngineLog::Adopt(LogTxn& txn, TxnId id, Lsn first, Lsn last) {
  accounts_.BeginUnknownUndo(txn);
  active_.Adopt(txn, id, first, last);
}

}  // namespace latchkey
