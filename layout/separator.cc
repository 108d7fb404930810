#include "layout/separator.h"

#include <fmt/ranges.h>

#include <array>

#include "layout/hylog_separator.h"
#include "layout/wolf_separator.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

/// Overwrite and LFS: one answer for every page.
class UniformSeparator final : public Separator {
 public:
  explicit UniformSeparator(Placement placement) : placement_(placement) {}
  bool writes_in_place() const override { return placement_ == Placement::kInPlace; }
  Placement OnWrite(PageId) override { return placement_; }
  Placement OnMove(PageId) const override { return placement_; }
  double hot_page_proportion() const override {
    return placement_ == Placement::kInPlace ? 0.0 : 1.0;
  }

 private:
  const Placement placement_;
};

struct Entry {
  std::string_view name;
  std::unique_ptr<Separator> (*make)(Runtime& runtime);
};

// One line per layout.
constexpr std::array<Entry, 4> kLayouts = {{
    {"overwrite",
     [](Runtime&) -> std::unique_ptr<Separator> {
       return std::make_unique<UniformSeparator>(Placement::kInPlace);
     }},
    {"lfs",
     [](Runtime&) -> std::unique_ptr<Separator> {
       return std::make_unique<UniformSeparator>(Placement::kHot);
     }},
    {"wolf",
     [](Runtime& runtime) -> std::unique_ptr<Separator> {
       return std::make_unique<WolfSeparator>(runtime);
     }},
    {"hylog",
     [](Runtime& runtime) -> std::unique_ptr<Separator> {
       return std::make_unique<HylogSeparator>(runtime);
     }},
}};

}  // namespace

std::vector<std::string> LayoutNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kLayouts) names.emplace_back(entry.name);
  return names;
}

absl::StatusOr<std::unique_ptr<Separator>> NewSeparator(std::string_view layout, Runtime& runtime) {
  for (const Entry& entry : kLayouts) {
    if (entry.name == layout) return entry.make(runtime);
  }
  return InvalidArgument("unknown layout \"{}\": use one of {}", layout,
                         fmt::join(LayoutNames(), ", "));
}

}  // namespace latchkey
