// The parts of a pool without the pool, for tests of single parts: over a page store in memory.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <span>

#include "bufferpool/evictor.h"
#include "bufferpool/miss_gate.h"
#include "bufferpool/page_loader.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "bufferpool/write_back.h"
#include "storage/testing/map_page_store.h"

namespace latchkey {

struct PoolParts {
  static constexpr uint32_t kPageSize = 4096;

  explicit PoolParts(uint32_t count, Runtime& runtime = ThreadRuntime())
      : store(runtime, kPageSize),
        policy(MakePlainFixPolicy(runtime, count)),
        frames(kPageSize, count, count),
        log(frames),
        actors(runtime, kPageSize),
        write_back(runtime, store, table, frames, log),
        evictor(runtime, *policy, table, frames, log, write_back),
        gate(runtime),
        loader(store, *policy, table, frames, log, evictor, gate) {}

  /// A new page, zeroed and clean, not latched, in a frame. Returns the frame.
  FrameId NewPage() {
    const absl::StatusOr<PageId> page = store.AllocatePage();
    REQUIRE(page.ok());
    PageWord& word = table.WordOf(*page);
    REQUIRE(word.TryBeginLoad(word.Read()));
    const absl::StatusOr<FrameId> frame = loader.LoadZeroed(actors.Here(), *page, word);
    REQUIRE(frame.ok());
    word.ReleaseUnmodified();
    return *frame;
  }
  /// The same, but in the store instead of a frame. Returns the page.
  PageId NewStoredPage() {
    const FrameId frame = NewPage();
    const PageId page = frames.PageOf(frame);
    REQUIRE(evictor.TryClaimFrame(frame));
    REQUIRE(write_back.WriteVictims(actors.Here(), std::span(&frame, 1)).ok());
    evictor.Remove(frame, 0);
    policy->ReturnFreeFrame(frame);
    return page;
  }
  PageWord& WordOf(FrameId frame) { return table.WordOf(frames.PageOf(frame)); }
  void SetLsn(FrameId frame, uint64_t lsn) {
    RacyStore<uint64_t>(frames.DataOf(frame) + offsetof(PageHeader, lsn), lsn);
  }
  std::unique_ptr<PageWriter> NewWriter() { return *store.NewWriter(WriteBack::kWriterDepth); }

  MapPageStore store;
  std::unique_ptr<FixPolicy> policy;
  PageTable table;
  BufferFrames frames;
  LogBeforePage log;
  PoolActors actors;
  WriteBack write_back;
  Evictor evictor;
  MissGate gate;
  PageLoader loader;
};

}  // namespace latchkey
