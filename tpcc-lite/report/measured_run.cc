#include "tpcc-lite/report/measured_run.h"

#include <algorithm>
#include <utility>

#include "engine/option_names.h"
#include "tpcc-lite/report/environment.h"

namespace latchkey {
namespace {

Json Share(uint64_t part, uint64_t whole) {
  if (whole == 0) return nullptr;
  return static_cast<double>(part) / static_cast<double>(whole);
}

// The pool's page I/O between two statistics.
struct PageIo {
  PageIo(const Statistics& from, const Statistics& to)
      : reads(to.demand_reads + to.ahead_reads + to.change_reads - from.demand_reads -
              from.ahead_reads - from.change_reads),
        sync_writes(to.sync_page_writes - from.sync_page_writes),
        async_writes(to.async_page_writes - from.async_page_writes) {}

  /// Thesis 4.4, w_o: the quantity that the self-tuning controller holds at its target.
  Json SyncWriteShare() const { return Share(sync_writes, sync_writes + async_writes + reads); }

  uint64_t reads, sync_writes, async_writes;
};

Json BufferToJson(const KvStatistics& begin, const KvStatistics& end) {
  Json block = NullFields({"hit_ratio", "sync_write_proportion", "sync_write_share_of_io",
                           "dirty_proportion", "cleaner_outstanding", "locks_per_million",
                           "contentions_per_million", "fixes", "leaf_fixes", "inner_fixes",
                           "scouting_fixes", "demand_reads", "ahead_reads", "wasted_reads",
                           "change_reads", "change_buffer_puts", "new_pages", "failed_page_ins"});
  block["hit_ratio"] = OrNull(end.hit_ratio);
  if (!begin.latchkey || !end.latchkey) return block;
  const Statistics& from = *begin.latchkey;
  const Statistics& to = *end.latchkey;
  const uint64_t hits = to.hits - from.hits;
  const uint64_t misses = to.misses - from.misses;
  const PageIo io(from, to);
  block["hit_ratio"] = Share(hits, hits + misses);
  // BP-Wrapper IV: lock requests of the fix policy, and those that slept, per million fixes.
  const uint64_t locks = to.policy_lock_acquisitions - from.policy_lock_acquisitions;
  const uint64_t contentions = to.policy_lock_contentions - from.policy_lock_contentions;
  block["locks_per_million"] = Share(1'000'000 * locks, hits + misses);
  block["contentions_per_million"] = Share(1'000'000 * contentions, hits + misses);
  block["fixes"] = to.fixes - from.fixes;
  block["leaf_fixes"] = to.leaf_fixes - from.leaf_fixes;
  block["inner_fixes"] = to.inner_fixes - from.inner_fixes;
  block["scouting_fixes"] = to.scouting_fixes - from.scouting_fixes;
  block["demand_reads"] = to.demand_reads - from.demand_reads;
  block["ahead_reads"] = to.ahead_reads - from.ahead_reads;
  block["wasted_reads"] = to.wasted_reads - from.wasted_reads;
  block["change_reads"] = to.change_reads - from.change_reads;
  block["change_buffer_puts"] = to.change_buffer_puts - from.change_buffer_puts;
  block["failed_page_ins"] = to.failed_page_ins - from.failed_page_ins;
  block["new_pages"] = to.new_pages - from.new_pages;
  block["sync_write_proportion"] = Share(io.sync_writes, io.sync_writes + io.async_writes);
  block["sync_write_share_of_io"] = io.SyncWriteShare();
  block["dirty_proportion"] = Share(to.dirty_frames, to.frames);
  block["cleaner_outstanding"] = to.cleaner_outstanding;
  return block;
}

// The pool's figures between two statistics; null where the engine is another one.
Json BufferSampleToJson(const KvStatistics& begin, const KvStatistics& end) {
  Json block = NullFields({"sync_write_share_of_io", "cleaner_outstanding", "dirty_frames",
                           "clean_frames", "free_frames", "page_reads", "sync_page_writes",
                           "async_page_writes", "longest_frame_wait_ms"});
  if (!begin.latchkey || !end.latchkey) return block;
  const Statistics& from = *begin.latchkey;
  const Statistics& to = *end.latchkey;
  const PageIo io(from, to);
  const uint64_t used = to.frames - std::min(to.frames, to.free_frames);
  block["sync_write_share_of_io"] = io.SyncWriteShare();
  block["cleaner_outstanding"] = to.cleaner_outstanding;
  block["dirty_frames"] = to.dirty_frames;
  block["clean_frames"] = used - std::min(used, to.dirty_frames);
  block["free_frames"] = to.free_frames;
  block["page_reads"] = io.reads;
  block["sync_page_writes"] = io.sync_writes;
  block["async_page_writes"] = io.async_writes;
  block["longest_frame_wait_ms"] = static_cast<double>(to.longest_frame_wait_ns) / kNanosPerMilli;
  return block;
}

Json Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? Json(nullptr) : Json(static_cast<double>(part) / static_cast<double>(whole));
}

Json LayoutToJson(const EngineSettings& settings, const KvStatistics& begin,
                  const KvStatistics& end) {
  Json block = NullFields(
      {"write_cost", "segment_io_efficiency", "cleaning_utilization", "hot_page_proportion",
       "write_amplification", "effective_space_utilization", "min_space_utilization",
       "max_space_utilization", "capacities_written", "pages_in_place", "pages_into_holes",
       "pages_appended", "pages_moved", "pages_plugged", "protection_bytes", "protection_syncs",
       "mean_segment_write_bytes", "busy_s", "steady"});
  if (!begin.latchkey || !end.latchkey) return block;
  const Statistics& from = *begin.latchkey;
  const Statistics& to = *end.latchkey;
  block["write_cost"] = OrNull(to.write_cost);
  block["segment_io_efficiency"] = OrNull(to.segment_io_efficiency);
  block["cleaning_utilization"] =
      Ratio(to.emptied_live_pages - from.emptied_live_pages, to.emptied_slots - from.emptied_slots);
  block["hot_page_proportion"] = OrNull(to.hot_page_proportion);
  block["write_amplification"] = OrNull(to.write_amplification);
  block["effective_space_utilization"] = to.effective_space_utilization;
  block["min_space_utilization"] = to.min_space_utilization;
  block["max_space_utilization"] = to.max_space_utilization;
  block["capacities_written"] = to.capacities_written - from.capacities_written;
  const uint64_t holes = to.hole_page_writes - from.hole_page_writes;
  const uint64_t plugged = to.plugged_page_writes - from.plugged_page_writes;
  block["pages_in_place"] = to.in_place_page_writes - from.in_place_page_writes - holes;
  block["pages_into_holes"] = holes;
  block["pages_appended"] = to.appended_page_writes - from.appended_page_writes;
  block["pages_moved"] = to.cleaner_page_writes - from.cleaner_page_writes - plugged;
  block["pages_plugged"] = plugged;
  block["protection_bytes"] = to.protection_bytes - from.protection_bytes;
  block["protection_syncs"] = to.protection_syncs - from.protection_syncs;
  block["mean_segment_write_bytes"] = Ratio(to.segment_write_bytes - from.segment_write_bytes,
                                            to.segment_writes - from.segment_writes);
  block["busy_s"] = {
      {"page_read", to.page_read_busy_s - from.page_read_busy_s},
      {"page_write", to.page_write_busy_s - from.page_write_busy_s},
      {"segment_read", to.segment_read_busy_s - from.segment_read_busy_s},
      {"segment_write", to.segment_write_busy_s - from.segment_write_busy_s},
      {"protection", to.protection_busy_s - from.protection_busy_s},
      {"protection_sync", to.protection_sync_s - from.protection_sync_s},
      {"meta", to.meta_busy_s - from.meta_busy_s},
  };
  // In an appending layout cleaning costs nothing until the free segments have been filled once.
  block["steady"] = settings.kv.techniques.layout == "overwrite" || from.capacities_written >= 1;
  return block;
}

Json Difference(const std::optional<uint64_t>& begin, const std::optional<uint64_t>& end) {
  if (!begin.has_value() || !end.has_value()) return nullptr;
  return end.value_or(0) - begin.value_or(0);
}

Json IoToJson(const EngineSettings& settings, const KvStatistics& begin, const KvStatistics& end) {
  Json block = {{"reads", Difference(begin.reads, end.reads)},
                {"writes", Difference(begin.writes, end.writes)},
                {"bytes_read", Difference(begin.bytes_read, end.bytes_read)},
                {"bytes_written", Difference(begin.bytes_written, end.bytes_written)},
                {"user_bytes_written", nullptr},
                {"mean_reads_in_flight", nullptr},
                {"device_busy_s", nullptr},
                {"device_write_amplification", nullptr}};
  if (begin.medium && end.medium) {
    const std::optional<double> of_flash = FlashAmplification(*begin.medium, *end.medium);
    if (of_flash) block["device_write_amplification"] = *of_flash;
  }
  if (!begin.latchkey || !end.latchkey) return block;
  const Statistics& from = *begin.latchkey;
  const Statistics& to = *end.latchkey;
  block["reads"] = to.reads - from.reads;
  block["writes"] = to.writes - from.writes;
  block["bytes_read"] = to.bytes_read - from.bytes_read;
  block["bytes_written"] = to.bytes_written - from.bytes_written;
  block["user_bytes_written"] =
      (to.user_page_writes - from.user_page_writes) * settings.kv.page_size;
  block["mean_reads_in_flight"] = to.mean_reads_in_flight;
  block["device_busy_s"] = to.device_busy_s - from.device_busy_s;
  return block;
}

Json LogToJson(const KvStatistics& begin, const KvStatistics& end) {
  Json block = NullFields({"record_bytes", "bytes_written", "syncs", "file_bytes", "checkpoints"});
  if (!begin.latchkey || !end.latchkey || !begin.latchkey->log || !end.latchkey->log) return block;
  const Statistics::Log& from = *begin.latchkey->log;
  const Statistics::Log& to = *end.latchkey->log;
  block["record_bytes"] = to.record_bytes - from.record_bytes;
  block["bytes_written"] = to.group_bytes - from.group_bytes;
  block["syncs"] = to.syncs - from.syncs;
  block["file_bytes"] = to.file_bytes;
  block["checkpoints"] = to.checkpoints - from.checkpoints;
  return block;
}

/// Latchkey's option, or the protection of a rival. "none" if the durability promises nothing about
/// crashes.
std::string TornWriteProtectionOfRow(const EngineSettings& settings) {
  if (settings.kv.durability == Durability::kNone) return "none";
  return std::string(settings.traits.techniques ? NameOf(settings.kv.torn_write_protection)
                                                : settings.traits.torn_write_protection);
}

Json HeldSnapshotsToJson(const std::optional<HeldSnapshotResult>& held) {
  if (!held) return NullFields({"scans", "rows_per_scan", "ended_early"});
  return {{"scans", held->scans},
          {"rows_per_scan", held->scans > 0 ? Json(held->rows_per_scan) : Json()},
          {"ended_early", held->ended_early.empty() ? Json() : Json(held->ended_early)}};
}

Json BackupsToJson(const std::optional<BackupBesideResult>& backups) {
  if (!backups) return NullFields({"finished", "bytes", "mb_per_s"});
  return {{"finished", backups->finished},
          {"bytes", backups->bytes},
          {"mb_per_s", backups->finished > 0
                           ? Json(static_cast<double>(backups->bytes) / 1e6 / backups->seconds)
                           : Json()}};
}

Json SpaceToJson(const KvStatistics& end) {
  if (end.latchkey) {
    return {{"live_bytes", end.latchkey->live_bytes}, {"file_bytes", end.latchkey->file_bytes}};
  }
  return {{"live_bytes", OrNull(end.live_bytes)}, {"file_bytes", OrNull(end.file_bytes)}};
}

}  // namespace

Json NullFields(std::initializer_list<const char*> names) {
  Json block = Json::object();
  for (const char* name : names) block[name] = nullptr;
  return block;
}

Json LatencyToJson(const std::optional<LatencySummary>& latency) {
  if (!latency) return NullFields({"p50", "p95", "p99", "p99_9", "max"});
  return {{"p50", latency->p50},
          {"p95", latency->p95},
          {"p99", latency->p99},
          {"p99_9", latency->p99_9},
          {"max", latency->max}};
}

Json DescribeSettings(const EngineSettings& settings) {
  const KvOptions& kv = settings.kv;
  const Techniques& techniques = kv.techniques;
  const bool simulated = kv.device.is_simulated();
  const auto technique = [&](Json value) {
    return settings.traits.techniques ? std::move(value) : Json(nullptr);
  };
  return {
      {"engine", settings.engine},
      {"layout", technique(techniques.layout)},
      {"segment_cleaning", technique(techniques.segment_cleaning)},
      {"page_compression",
       settings.traits.compression ? Json(techniques.page_compression) : Json(nullptr)},
      {"segment_size",
       technique(techniques.segment_size == 0 ? Json("auto") : Json(techniques.segment_size))},
      {"replacement", technique(techniques.replacement)},
      {"synchronization", technique(techniques.synchronization)},
      {"fix", technique(techniques.fix)},
      {"page_in", technique(techniques.page_in)},
      {"cleaner", technique(techniques.cleaner)},
      {"cleaners", technique(techniques.cleaners)},
      {"cleaning_scope", technique(techniques.cleaning_scope)},
      {"victims", technique(techniques.victims)},
      {"eviction_batch", technique(techniques.eviction_batch)},
      {"change_buffer_bytes", technique(techniques.change_buffer_bytes)},
      {"device", CanonicalDeviceSpec(kv.device)},
      // Every time and rate of the row is of that clock.
      {"virtual_time", simulated},
      {"cpu_us",
       simulated ? Json(static_cast<double>(kv.cpu_per_operation) / kNanosPerMicro) : Json()},
      {"space_utilization", technique(techniques.space_utilization)},
      {"torn_write_protection", TornWriteProtectionOfRow(settings)},
      {"cache_bytes", settings.traits.cache ? Json(kv.cache_bytes) : Json(nullptr)},
      {"page_size", settings.traits.page_size ? Json(kv.page_size) : Json(nullptr)},
      {"durability", settings.durability},
      {"snapshot", settings.snapshot ? Json(std::string(NameOf(*settings.snapshot))) : Json()},
      {"backup", settings.backup ? Json(*settings.backup ? "full" : "none") : Json()},
  };
}

void AddStatistics(const MeasuredRun& run, Json& row) {
  static const auto* const nothing = new KvStatistics();
  const bool measured = run.begin && run.end;
  const KvStatistics& from = measured ? *run.begin : *nothing;
  const KvStatistics& to = measured ? *run.end : *nothing;
  row["buffer"] = BufferToJson(from, to);
  row["layout_stats"] = LayoutToJson(run.settings, from, to);
  row["io"] = IoToJson(run.settings, from, to);
  row["log"] = LogToJson(from, to);
  row["space"] = SpaceToJson(run.end ? *run.end : *nothing);
}

void AddBufferSamples(const MeasuredRun& run, Json& samples) {
  const KvStatistics nothing;
  const KvStatistics* from = run.begin ? &*run.begin : &nothing;
  for (size_t i = 0; i < samples.size(); ++i) {
    const KvStatistics* to = i < run.samples.size() ? &run.samples[i] : &nothing;
    samples[i]["buffer"] = BufferSampleToJson(*from, *to);
    from = to;
  }
}

void AddOutcome(const MeasuredRun& run, bool interrupted, Json& row) {
  row["engine_name"] = run.backend_name.empty() ? Json(nullptr) : Json(run.backend_name);
  row["held_snapshots"] = HeldSnapshotsToJson(run.snapshots);
  row["backups"] = BackupsToJson(run.backups);
  row["interrupted"] = interrupted;
  row["error"] = run.error.empty() ? Json(nullptr) : Json(run.error);
  row["warnings"] = run.warnings;
}

std::vector<Column> SettingsColumns() {
  using enum ColumnFormat;
  return {
      {"engine", "/engine", kText, true},
      {"layout", "/layout", kText, true},
      {"utilisation", "/space_utilization", kText, true},
      {"segment cleaning", "/segment_cleaning", kText, true},
      {"compression", "/page_compression", kText, true},
      {"segment size", "/segment_size", kBytes, true},
      {"replacement", "/replacement", kText, true},
      {"synchronization", "/synchronization", kText, true},
      {"fix", "/fix", kText, true},
      {"page-in", "/page_in", kText, true},
      {"cleaner", "/cleaner", kText, true},
      {"cleaners", "/cleaners", kCount, true},
      {"cleaning scope", "/cleaning_scope", kText, true},
      {"victims", "/victims", kText, true},
      {"eviction batch", "/eviction_batch", kCount, true},
      {"change buffer", "/change_buffer_bytes", kBytes, true},
      {"device", "/device", kText, true},
      {"all in virtual time, us of work an operation", "/cpu_us", kText, true},
      {"page", "/page_size", kBytes, true},
      {"cache", "/cache_bytes", kBytes, true},
      {"durability", "/durability", kText, true},
      {"torn-write protection", "/torn_write_protection", kText, true},
      {"snapshot beside", "/snapshot", kText, true},
      {"backup beside", "/backup", kText, true},
  };
}

std::vector<Column> ColumnsWith(std::vector<std::vector<Column>> own) {
  std::vector<Column> all = SettingsColumns();
  for (std::vector<Column>& group : own) {
    all.insert(all.end(), std::make_move_iterator(group.begin()),
               std::make_move_iterator(group.end()));
  }
  all.push_back({"error", "/error", ColumnFormat::kText});
  return all;
}

Json MakeDocument(std::string_view schema, const std::string& path, std::span<const Json> results) {
  return {{"schema", std::string(schema)},
          {"build", DescribeBuild()},
          {"host", DescribeHost(path)},
          {"results", std::vector<Json>(results.begin(), results.end())}};
}

}  // namespace latchkey
