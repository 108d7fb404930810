#include "engine/watch/statistics_figures.h"

namespace latchkey {

void CopyFigures(const BufferPoolStats& pool, Statistics* s) {
  s->fixes = pool.fixes;
  s->hits = pool.hits;
  s->misses = pool.misses;
  s->leaf_fixes = pool.leaf_fixes;
  s->inner_fixes = pool.inner_fixes;
  s->scouting_fixes = pool.scouting_fixes;
  s->wasted_reads = pool.wasted_reads;
  s->demand_reads = pool.demand_reads;
  s->ahead_reads = pool.ahead_reads;
  s->redo_reads = pool.redo_reads;
  s->change_reads = pool.change_reads;
  s->new_pages = pool.new_pages;
  s->failed_page_ins = pool.failed_page_ins;
  s->sync_page_writes = pool.sync_page_writes;
  s->async_page_writes = pool.async_page_writes;
  s->frames = pool.frames;
  s->free_frames = pool.free_frames;
  s->dirty_frames = pool.dirty_frames;
  s->policy_lock_acquisitions = pool.policy.lock_acquisitions;
  s->policy_lock_contentions = pool.policy.contentions;
}

void CopyFigures(const VersionStoreStats& versions, Statistics* s) {
  s->commits = versions.commits;
  s->rollbacks = versions.rollbacks;
  s->conflicts = versions.conflicts;
  s->deadlocks = versions.deadlocks;
  s->serialization_failures = versions.serializable_refused;
  s->snapshots_too_old = versions.snapshots_expired;
  s->versions = versions.versions;
  s->version_bytes = versions.version_bytes;
  s->version_bytes_bound = versions.bound_bytes;
  s->version_bytes_spilled = versions.spilled_bytes;
  s->oldest_snapshot_age = versions.oldest_snapshot_age;
}

void CopyFigures(const PageStoreStats& store, Statistics* s) {
  s->page_reads = store.page_reads;
  s->user_page_writes = store.user_page_writes;
  s->in_place_page_writes = store.in_place_page_writes;
  s->hole_page_writes = store.hole_page_writes;
  s->appended_page_writes = store.appended_page_writes;
  s->cleaner_page_writes = store.cleaner_page_writes;
  s->plugged_page_writes = store.plugged_page_writes;
  s->emptied_slots = store.emptied_slots;
  s->emptied_live_pages = store.emptied_live_pages;
  s->protection_bytes = store.protection_bytes;
  s->protection_syncs = store.protection_syncs;
  s->protection_sync_s = static_cast<double>(store.protection_sync_ns) / kNanosPerSecond;
  s->cleaned_segments = store.cleaned_segments;
  s->plugged_segments = store.plugged_segments;
  s->live_bytes = store.live_bytes;
  s->file_bytes = store.file_bytes;
  s->space_utilization = store.space_utilization;
  s->effective_space_utilization = store.effective_space_utilization;
  s->min_space_utilization = store.min_space_utilization;
  s->max_space_utilization = store.max_space_utilization;
  s->capacities_written = store.capacities_written;
  s->write_cost = store.write_cost;
  s->segment_io_efficiency = store.segment_io_efficiency;
  s->cleaning_utilization = store.cleaning_utilization;
  s->hot_page_proportion = store.hot_page_proportion;
  s->write_amplification = store.write_amplification;
}

void CopyFigures(const DeviceStats& device, Statistics* s) {
  for (size_t c = 0; c < kIoClasses; ++c) {
    const IoClassStats& by = device.by_class[c];
    const auto io_class = static_cast<IoClass>(c);
    if (io_class == IoClass::kProbeRead || io_class == IoClass::kProbeWrite) continue;
    const bool is_read = IsRead(io_class);
    (is_read ? s->reads : s->writes) += by.requests;
    (is_read ? s->bytes_read : s->bytes_written) += by.bytes;
  }
  const auto copy = [&](IoClass c, double* busy_s, uint64_t* requests, uint64_t* bytes) {
    *busy_s += static_cast<double>(device.of(c).busy) / kNanosPerSecond;
    *requests += device.of(c).requests;
    if (bytes != nullptr) *bytes += device.of(c).bytes;
  };
  copy(IoClass::kPageRead, &s->page_read_busy_s, &s->page_read_requests, &s->page_read_bytes);
  for (const IoClass c : {IoClass::kPageWrite, IoClass::kPlugWrite}) {
    copy(c, &s->page_write_busy_s, &s->page_write_requests, &s->page_write_bytes);
  }
  copy(IoClass::kSegmentRead, &s->segment_read_busy_s, &s->segment_reads, &s->segment_read_bytes);
  for (const IoClass c : {IoClass::kSegmentWrite, IoClass::kSegmentPartWrite}) {
    copy(c, &s->segment_write_busy_s, &s->segment_writes, &s->segment_write_bytes);
  }
  copy(IoClass::kProtection, &s->protection_busy_s, &s->protection_writes, nullptr);
  copy(IoClass::kMeta, &s->meta_busy_s, &s->meta_requests, &s->meta_bytes);
  for (const IoClass c : {IoClass::kProbeRead, IoClass::kProbeWrite}) {
    copy(c, &s->probe_busy_s, &s->probe_requests, &s->probe_bytes);
  }
  s->syncs = device.syncs;
  s->device_busy_s = static_cast<double>(device.busy) / kNanosPerSecond;
  s->mean_reads_in_flight = device.mean_depth;
}

}  // namespace latchkey
