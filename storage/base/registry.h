// The lists of the tree: replacement algorithms, synchronisation schemes, cleaning controllers,
// layouts, segment cleaning policies, devices, KV backends. Each is one constant array of entries
// and one Registry over it. Help texts, error messages, conformance tests and campaigns read the
// same Registry, so a new member is one file and one line.
//
//   struct LayoutInfo {                        // an entry
//     ChoiceDescription description;           // required
//     std::unique_ptr<Separator> (*make)(Runtime&, std::span<const double> parameters);
//   };
//   constexpr LayoutInfo kLayouts[] = {...};
//   const Registry<LayoutInfo>& Layouts() {
//     static constexpr Registry<LayoutInfo> registry("layout", kLayouts);
//     return registry;
//   }
//
// Text is parsed once, at the border. Inside, code passes a Choice.
//
// Thread-safety: immutable.
#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/choice_grammar.h"
#include "storage/base/status_macros.h"

namespace latchkey {

/// A member of a registry with a value for each of its parameters, such as `2q:kin=0.25:kout=0.5`.
template <typename Entry>
class Choice {
 public:
  std::string_view name() const { return entry_->description.name; }
  /// The item with every parameter spelled out.
  std::string ToString() const { return FormatChoice(entry_->description, values_); }
  const Entry& entry() const { return *entry_; }
  /// The values of the parameters, in the order of the description.
  std::span<const double> values() const { return values_; }
  /// Calls the entry's factory with `arguments` and the parameters' values.
  template <typename... Arguments>
  auto Make(Arguments&&... arguments) const {
    return entry_->make(std::forward<Arguments>(arguments)..., std::span<const double>(values_));
  }

 private:
  template <typename>
  friend class Registry;
  Choice(const Entry* entry, std::vector<double> values)
      : entry_(entry), values_(std::move(values)) {}

  const Entry* entry_;
  std::vector<double> values_;
};

template <typename Entry>
class Registry {
 public:
  /// Error messages begin with `kind` ("replacement algorithm"). REQUIRES: `entries` outlives the
  /// registry.
  constexpr Registry(std::string_view kind, std::span<const Entry> entries)
      : kind_(kind), entries_(entries) {}

  std::string_view kind() const { return kind_; }
  /// The entries, in the order in which help texts and error messages name them.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Entry& entry : entries_) names.emplace_back(entry.description.name);
    return names;
  }

  /// The entry of that bare name; nullptr when there is none.
  const Entry* Find(std::string_view name) const {
    for (const Entry& entry : entries_) {
      if (entry.description.name == name) return &entry;
    }
    return nullptr;
  }

  /// InvalidArgument for unknown names, parameters and values: see ParseChoice.
  absl::StatusOr<Choice<Entry>> Parse(std::string_view item) const {
    std::vector<const ChoiceDescription*> known;
    for (const Entry& entry : entries_) known.push_back(&entry.description);
    LATCHKEY_ASSIGN_OR_RETURN(ParsedChoice parsed, ParseChoice(item, kind_, known));
    return Choice<Entry>(&entries_[parsed.index], std::move(parsed.values));
  }
  /// As Parse, for items written in the code itself. REQUIRES: `item` is valid.
  Choice<Entry> Named(std::string_view item) const {
    absl::StatusOr<Choice<Entry>> choice = Parse(item);
    LATCHKEY_CHECK(choice.ok());
    return *std::move(choice);
  }

 private:
  std::string_view kind_;
  std::span<const Entry> entries_;
};

}  // namespace latchkey
