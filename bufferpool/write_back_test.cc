// Write-back of single pages: which ones are handed over, and what that changes.
#include "bufferpool/write_back.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "bufferpool/testing/pool_fixture.h"
#include "bufferpool/testing/pool_parts.h"

namespace latchkey::write_back_test {
namespace {

TEST_CASE("A dirty page is handed over once, and optimistic readers need not restart") {
  PoolParts parts(16);
  const FrameId frame = parts.NewPage();
  const std::unique_ptr<PageWriter> writer = parts.NewWriter();
  CHECK_FALSE(*parts.write_back.TryClean(frame, *writer));
  parts.frames.MarkDirty(frame);
  const PageState before = parts.WordOf(frame).Read();
  CHECK(*parts.write_back.TryClean(frame, *writer));
  CHECK_FALSE(*parts.write_back.TryClean(frame, *writer));
  CHECK(parts.WordOf(frame).Read() == before);
  CHECK(parts.frames.dirty_count() == 0);
  CHECK(parts.write_back.cleaned() == 1);
  std::vector<std::byte> stored(PoolParts::kPageSize);
  CHECK(parts.store.ReadPage(parts.frames.PageOf(frame), stored.data()).ok());
}

TEST_CASE("A cleaner passes over an empty frame and a latched page") {
  PoolParts parts(16);
  const FrameId frame = parts.NewPage();
  const std::unique_ptr<PageWriter> writer = parts.NewWriter();
  CHECK_FALSE(*parts.write_back.TryClean(FrameId{16}, *writer));
  parts.frames.MarkDirty(frame);
  PageWord& word = parts.WordOf(frame);
  REQUIRE(word.TryLatchShared(word.Read()));
  CHECK_FALSE(*parts.write_back.TryClean(frame, *writer));
  word.ReleaseShared();
  CHECK(*parts.write_back.TryClean(frame, *writer));
}

TEST_CASE("A cleaner leaves a page that is ahead of the log, and a checkpoint flushes the log") {
  PoolParts parts(16);
  FakeLog log;
  parts.log.SetLog(&log);
  const FrameId frame = parts.NewPage();
  const std::unique_ptr<PageWriter> writer = parts.NewWriter();
  parts.SetLsn(frame, 100);
  parts.frames.MarkDirty(frame);
  parts.frames.NoteLoggedChange(frame);
  CHECK_FALSE(*parts.write_back.TryClean(frame, *writer));
  CHECK(log.waits == 0);
  CHECK(parts.write_back.WriteDirtyBefore(Lsn{100}, false).ok());
  CHECK(parts.frames.IsDirty(frame));  // changed at 100, not before
  CHECK(parts.write_back.WriteDirtyBefore(Lsn{101}, false).ok());
  CHECK_FALSE(parts.frames.IsDirty(frame));
  CHECK(log.waits == 1);
}

TEST_CASE("A page that the store refuses stays dirty and is not latched") {
  PoolParts parts(16);
  const FrameId frame = parts.NewPage();
  const std::unique_ptr<PageWriter> writer = parts.NewWriter();
  parts.frames.MarkDirty(frame);
  parts.store.fail_writes = true;
  CHECK(absl::IsUnavailable(parts.write_back.TryClean(frame, *writer).status()));
  CHECK(absl::IsUnavailable(parts.write_back.WriteDirtyBefore(Lsn{UINT64_MAX}, false)));
  CHECK(parts.frames.IsDirty(frame));
  CHECK(parts.WordOf(frame).Read().FreeIn(frame));
  CHECK(parts.write_back.cleaned() == 0);
}

}  // namespace
}  // namespace latchkey::write_back_test
