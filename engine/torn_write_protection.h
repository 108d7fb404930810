// The values of Options::torn_write_protection by the names that command lines and reports use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {

/// doublewrite, images, none.
std::vector<std::string> TornWriteProtectionNames();
std::string_view NameOf(TornWriteProtection protection);
/// nullopt: no protection is called so.
std::optional<TornWriteProtection> TornWriteProtectionOf(std::string_view name);

}  // namespace latchkey
