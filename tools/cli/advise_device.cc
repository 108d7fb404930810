#include "tools/cli/advise_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "layout/geometry.h"
#include "storage/base/status_macros.h"
#include "tools/cli/device_flags.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/model_plan.h"
#include "tools/cli/settings.h"
#include "tools/layout_model/measured_costs.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {
namespace {

// Sizes among which the store chooses, when --segment-size=auto.
constexpr uint64_t kLeastAutoSegment = 128 << 10, kMostAutoSegment = 4 << 20;
// Requests of a load are in so many bytes at most.
constexpr uint64_t kMostSpan = uint64_t{1} << 30, kMostFlashSpan = 64 * kMiB;
// The model's unit of ratio: the time in which a page of a segment is written.
constexpr double kNanosOfRatio = 40'000;

std::string DiskOf(const AdviseFlags& flags, const AdvisedDeviceQuestion& question) {
  if (flags.disk != "auto") return flags.disk;
  return question.eta ? fmt::format("ratio:eta={:.4g}", std::clamp(*question.eta, 0.01, 1e6))
                      : "atlas10k";
}

bool IsArray(const std::string& disk) {
  const DeviceInfo* const info = Devices().Find(std::string_view(disk).substr(0, disk.find(':')));
  return info != nullptr && info->array;
}

// The flags of the verb model.
FlagTexts ModelTexts(const AdviseFlags& flags, const AdvisedDeviceQuestion& question) {
  FlagTexts texts = {{"page-size", question.page_sizes},
                     {"segment-size", flags.segment_size},
                     {"space-utilization", "0.8"},
                     {"protection", question.doublewrite ? "doublewrite" : "none"}};
  const std::string disk = DiskOf(flags, question);
  if (!flags.measure.empty()) {
    texts["measure"] = flags.measure;
    if (flags.disk != "auto") texts["disk"] = flags.disk;
  } else {
    texts["disk"] = disk;
    if (IsArray(disk)) texts["megabyte"] = "decimal";  // as the simulated devices
  }
  if (flags.disks != "auto") texts["disks"] = flags.disks;
  if (flags.raid != "auto") texts["raid"] = flags.raid;
  return texts;
}

absl::Status CheckOneDevice(const AdviseFlags& flags) {
  for (const auto& [flag, text] :
       {std::pair("disk", &flags.disk), std::pair("disks", &flags.disks),
        std::pair("raid", &flags.raid), std::pair("measure", &flags.measure),
        std::pair("segment-size", &flags.segment_size)}) {
    if (text->find(',') == std::string::npos) continue;
    return InvalidArgument("--{}={}: the advice is for one device; give one value", flag, *text);
  }
  if (!flags.measure.empty() && flags.disk != "auto") {
    return InvalidArgument("--disk={} would be ignored: --measure is the disk", flags.disk);
  }
  return absl::OkStatus();
}

absl::Status FillCosts(ModelPlan& plan) {
  if (!plan.measure.empty()) {
    LATCHKEY_ASSIGN_OR_RETURN(const SegmentCosts measured,
                              MeasureCosts(plan.measure, plan.question));
    plan.model.costs = measured.costs;
    plan.row["segment_bytes"] = measured.segment_bytes;
  } else if (!plan.in_ns) {
    PageCosts& costs = plan.model.costs;
    for (double PageCosts::*cost :
         {&PageCosts::page_write_ns, &PageCosts::segment_write_ns, &PageCosts::segment_read_ns,
          &PageCosts::page_read_ns, &PageCosts::slot_read_ns, &PageCosts::protection_ns}) {
      costs.*cost *= kNanosOfRatio;
    }
  }
  return absl::OkStatus();
}

// With a segment that the store takes.
DevicePages PagesOf(const ModelPlan& plan, bool flash) {
  const DevicePages pages{.page_bytes = plan.question.page_bytes,
                          .segment_bytes = plan.row.at("segment_bytes").get<uint64_t>(),
                          .costs = plan.model.costs};
  if (plan.question.segment_bytes != 0) return pages;
  const uint64_t least = std::max(kLeastAutoSegment, uint64_t{kMinSlots} * pages.page_bytes);
  const uint64_t wanted =
      flash ? least
            : std::clamp<uint64_t>(std::bit_floor(pages.segment_bytes), least, kMostAutoSegment);
  return wanted == pages.segment_bytes ? pages : WithSegments(pages, wanted);
}

}  // namespace

absl::StatusOr<AdvisedDevice> FindAdvisedDevice(const AdviseFlags& flags,
                                                const AdvisedDeviceQuestion& question) {
  LATCHKEY_RETURN_IF_ERROR(CheckOneDevice(flags));
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<Combination> combinations,
                            ExpandModel(ModelTexts(flags, question)));
  AdvisedDevice device;
  for (const Combination& combination : combinations) {
    LATCHKEY_ASSIGN_OR_RETURN(ModelPlan plan, PlanModel(combination));
    LATCHKEY_RETURN_IF_ERROR(
        ParseSegmentSize(flags.segment_size, plan.question.page_bytes).status());
    LATCHKEY_RETURN_IF_ERROR(FillCosts(plan));
    const bool simulated = plan.measure.empty() && plan.in_ns;
    if (simulated) {
      LATCHKEY_ASSIGN_OR_RETURN(device.simulated, ParseDeviceFlags(combination, "disk"));
    }
    const bool flash = simulated && !device.simulated->is_array();
    DevicePages pages = PagesOf(plan, flash);
    if (simulated) {
      DeviceLoad load = question.load;
      load.span_bytes = std::min(question.data_bytes, flash ? kMostFlashSpan : kMostSpan);
      LATCHKEY_ASSIGN_OR_RETURN(pages, UnderLoad(*device.simulated, pages, load));
    }
    device.page_sizes.push_back(pages);
    device.only_ratios = !plan.in_ns;
    device.name = plan.row.at("disk").get<std::string>();
  }
  if (device.only_ratios && device.page_sizes.size() > 1) {
    return InvalidArgument(
        "--page-size={}: of {} only ratios are known, so page sizes cannot be compared; give one "
        "page size, or a device by --disk or --measure",
        question.page_sizes, device.name);
  }
  if (device.simulated) device.name = CanonicalDeviceSpec(*device.simulated);
  if (flags.measure.empty() && flags.disk == "auto" && question.eta) {
    device.name = fmt::format("the one below the database, eta {:.2f} as its store measured it",
                              *question.eta);
  }
  return device;
}

std::string DescribeDevice(const AdvisedDevice& device, size_t width) {
  std::string text = WrapText("device: " + device.name, width, 2) + '\n';
  const auto add = [&](const std::string& line) {
    text += "  " + WrapText(line, width - 2, 4) + '\n';
  };
  for (const DevicePages& pages : device.page_sizes) {
    const PageCosts& costs = pages.costs;
    add(fmt::format(
        "a page of {} KiB is written in {:.1f} us and read in {:.1f} us, a segment of {} KiB is "
        "written in {:.0f} us: eta {:.2f}",
        pages.page_bytes >> 10, costs.page_write_ns / 1e3, costs.page_read_ns / 1e3,
        pages.segment_bytes >> 10, costs.segment_write_ns * costs.slots_per_segment / 1e3,
        costs.eta()));
  }
  if (device.only_ratios) {
    add("only the ratios of these times are known: a page of a segment counts as 40 us");
  }
  return text;
}

Json JsonOf(const AdvisedDevice& device) {
  Json page_sizes = Json::array();
  for (const DevicePages& pages : device.page_sizes) {
    const PageCosts& costs = pages.costs;
    page_sizes.push_back(
        {{"page_size", pages.page_bytes},
         {"segment_size", pages.segment_bytes},
         {"eta", costs.eta()},
         {"page_write_us", costs.page_write_ns / 1e3},
         {"page_read_us", costs.page_read_ns / 1e3},
         {"segment_write_us", costs.segment_write_ns * costs.slots_per_segment / 1e3},
         {"protection_of_a_page_us", costs.protection_ns / 1e3}});
  }
  return {{"name", device.name}, {"only_ratios", device.only_ratios}, {"page_sizes", page_sizes}};
}

}  // namespace latchkey
