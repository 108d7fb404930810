#include "tools/contention/charging_replacement.h"

#include <atomic>
#include <utility>

#include "storage/base/check.h"

namespace latchkey {
namespace {

// A registry's factory is a plain function: it finds its arguments here.
std::atomic<ChargingReplacement*> the_charging{nullptr};

ReplacementInfo WithFactory(ReplacementInfo info, decltype(ReplacementInfo::make) make) {
  info.make = make;
  return info;
}

}  // namespace

class ChargingReplacement::Algorithm final : public ReplacementAlgorithm {
 public:
  Algorithm(ChargingReplacement& owner, const ReplacementConfig& config,
            std::unique_ptr<ReplacementAlgorithm> inner)
      : ReplacementAlgorithm(config),
        owner_(owner),
        charger_(owner.runtime_),
        inner_(std::move(inner)) {}

  void OnHit(FrameId frame) override {
    Charge(owner_.costs_.hit, owner_.costs_.moved, owner_.costs_.moved_in_batch);
    inner_->OnHit(frame);
  }
  void PrefetchForHit(FrameId frame, PageId page) const override {
    inner_->PrefetchForHit(frame, page);
  }
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override {
    Charge(owner_.costs_.load / 2, owner_.costs_.moved, 0);
    inner_->OnLoad(frame, page, kind);
  }
  void OnFirstUse(FrameId frame) override {
    Charge(owner_.costs_.hit, owner_.costs_.moved, owner_.costs_.moved_in_batch);
    inner_->OnFirstUse(frame);
  }
  bool notes_first_use() const override { return inner_->notes_first_use(); }
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override {
    Charge(owner_.costs_.load / 2, owner_.costs_.moved_load, 0);
    return inner_->Victim(incoming, evictable);
  }
  void Reinstate(FrameId frame) override { inner_->Reinstate(frame); }
  void OnRemove(FrameId frame) override { inner_->OnRemove(frame); }
  size_t PeekColdest(std::span<FrameId> out) const override { return inner_->PeekColdest(out); }
  void Resize(size_t frames) override { inner_->Resize(frames); }
  size_t size() const override { return inner_->size(); }
  std::optional<uint8_t> most_counted_hits() const override { return inner_->most_counted_hits(); }
  bool marks_free_hits() const override { return inner_->marks_free_hits(); }

 private:
  // `moved` more after a call of another actor, otherwise `in_batch` more.
  void Charge(double cost, double moved, double in_batch) {
    if (!owner_.started_) return;
    const uint32_t actor = owner_.runtime_.ActorIndex();
    const bool is_moved = std::exchange(last_actor_, actor) != actor;
    charger_.Charge(cost + (is_moved ? moved : in_batch));
  }

  ChargingReplacement& owner_;
  Charger charger_;
  uint32_t last_actor_ = UINT32_MAX;
  const std::unique_ptr<ReplacementAlgorithm> inner_;
};

ChargingReplacement::ChargingReplacement(Runtime& runtime, const ReplacementChoice& inner,
                                         const CallCosts& costs)
    : runtime_(runtime),
      inner_(inner),
      costs_(costs),
      info_(WithFactory(inner.entry(), &Make)),
      registry_("replacement algorithm", std::span(&info_, 1)),
      choice_(registry_.Named(inner.ToString())) {
  ChargingReplacement* const other = the_charging.exchange(this);
  LATCHKEY_CHECK(other == nullptr);
}

ChargingReplacement::~ChargingReplacement() { the_charging.store(nullptr); }

std::unique_ptr<ReplacementAlgorithm> ChargingReplacement::Make(
    const ReplacementConfig& config, std::span<const double> parameters) {
  ChargingReplacement& owner = *the_charging.load();
  return std::make_unique<Algorithm>(owner, config, owner.inner_.entry().make(config, parameters));
}

}  // namespace latchkey
