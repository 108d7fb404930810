// The values of Options::durability and Options::torn_write_protection by the names that command
// lines and reports use.
#pragma once

#include <string_view>

#include "engine/latchkey.h"
#include "storage/base/registry.h"

namespace latchkey {

/// One value of an option, by its name. `entry().value` of a parsed choice is the value.
template <typename Value>
struct NamedValue {
  ChoiceDescription description;
  Value value;
};

/// none, group, commit: in the order of the values.
const Registry<NamedValue<Durability>>& Durabilities();
std::string_view NameOf(Durability durability);

/// doublewrite, images, none: in the order of the values.
const Registry<NamedValue<TornWriteProtection>>& TornWriteProtections();
std::string_view NameOf(TornWriteProtection protection);

}  // namespace latchkey
