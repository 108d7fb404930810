#include "engine/option_names.h"

#include <cstddef>

namespace latchkey {
namespace {

constexpr NamedValue<Durability> kDurabilities[] = {
    {{"none", "durable when the database is closed", {}}, Durability::kNone},
    {{"group", "logged, durable a bounded time after a commit", {}}, Durability::kGroup},
    {{"commit", "logged, durable before a commit returns", {}}, Durability::kCommit},
};

constexpr NamedValue<TornWriteProtection> kProtections[] = {
    {{"doublewrite", "pages go to an area first", {}}, TornWriteProtection::kDoublewrite},
    {{"images", "the log holds pages as before their first change", {}},
     TornWriteProtection::kImages},
    {{"none", "the device tears no page", {}}, TornWriteProtection::kNone},
};

constexpr NamedValue<Isolation> kIsolations[] = {
    {{"snapshot", "one snapshot; write skew is possible", {}}, Isolation::kSnapshot},
    {{"serializable", "as if the transactions ran one after another", {}},
     Isolation::kSerializable},
};

template <typename Value, size_t N>
constexpr bool AreInOrder(const NamedValue<Value> (&values)[N]) {
  for (size_t i = 0; i < N; ++i) {
    if (static_cast<size_t>(values[i].value) != i) return false;
  }
  return true;
}
static_assert(AreInOrder(kDurabilities) && AreInOrder(kProtections) && AreInOrder(kIsolations));

}  // namespace

const Registry<NamedValue<Durability>>& Durabilities() {
  static constexpr Registry<NamedValue<Durability>> registry("durability", kDurabilities);
  return registry;
}

std::string_view NameOf(Durability durability) {
  return kDurabilities[static_cast<size_t>(durability)].description.name;
}

const Registry<NamedValue<TornWriteProtection>>& TornWriteProtections() {
  static constexpr Registry<NamedValue<TornWriteProtection>> registry("torn-write protection",
                                                                      kProtections);
  return registry;
}

std::string_view NameOf(TornWriteProtection protection) {
  return kProtections[static_cast<size_t>(protection)].description.name;
}

const Registry<NamedValue<Isolation>>& Isolations() {
  static constexpr Registry<NamedValue<Isolation>> registry("isolation", kIsolations);
  return registry;
}

std::string_view NameOf(Isolation isolation) {
  return kIsolations[static_cast<size_t>(isolation)].description.name;
}

}  // namespace latchkey
