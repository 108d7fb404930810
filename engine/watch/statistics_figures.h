// The figures of the database's parts, as the public Statistics names them.
#pragma once

#include <cstdint>

#include "bufferpool/buffer_pool.h"
#include "engine/latchkey.h"
#include "engine/txn/version_store.h"
#include "storage/device/block_device.h"
#include "storage/page_store.h"

namespace latchkey {

/// Each sets the members of `*s` that are figures of this part.
void CopyFigures(const BufferPoolStats& pool, Statistics* s);
void CopyFigures(const VersionStoreStats& versions, Statistics* s);
void CopyFigures(const PageStoreStats& store, Statistics* s);
void CopyFigures(const DeviceStats& device, Statistics* s);

}  // namespace latchkey
