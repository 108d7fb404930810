// The techniques that campaigns draw: one item for every member of every list. So the campaigns
// test a new layout or policy as soon as it is in its list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/options.h"
#include "storage/base/rng.h"

namespace latchkey {

/// Layouts, some with page compression: lfs/lz4.
const std::vector<std::string>& LayoutItems();
void SetLayout(const std::string& item, Techniques* techniques);
/// The item of layout and page compression.
std::string LayoutItemOf(const Techniques& techniques);
const std::vector<std::string>& SegmentCleaningItems();
const std::vector<std::string>& ReplacementItems();
/// Items with parameters that fit a pool of 16 frames.
const std::vector<std::string>& SynchronizationItems();
const std::vector<std::string>& FixItems();
const std::vector<std::string>& PageInItems();
const std::vector<std::string>& CleanerItems();
const std::vector<std::string>& CleaningScopeItems();
const std::vector<std::string>& VictimItems();

/// Bytes of a segment for pages up to 16 KiB: a power of two, or none.
uint32_t AnySegmentSize(Rng& rng);

/// Whether the synchronisation scheme runs the replacement algorithm. REQUIRES: items of the lists.
bool IsPolicy(const std::string& replacement, const std::string& synchronization);
/// Whether readers can fix pages in this mode under the synchronisation scheme. REQUIRES: items.
bool IsFixMode(const std::string& fix, const std::string& synchronization);
/// Replaces the fix mode by the default if the scheme does not have it.
void MakeFixMode(std::string* fix, const std::string& synchronization);
/// Replaces the replacement algorithm by one that the scheme runs, if it does not run that one.
void MakePolicy(std::string* replacement, const std::string& synchronization);
/// A change buffer of `bytes`, if the other options allow one.
void TryChangeBuffer(uint64_t bytes, Options* options);
/// TryChangeBuffer of a part of the cache, for half of all numbers.
void SetChangeBuffer(uint64_t number, Options* options);

}  // namespace latchkey
