#include "engine/log/pending_chains.h"

namespace latchkey {

PendingChains::Node PendingChains::Prepare(OverflowChain chain) {
  std::map<uint64_t, PendingChain> made;
  made.emplace(Raw(chain.first_page), PendingChain{chain, TxnId{0}});
  return made.extract(made.begin());
}

void PendingChains::Add(TxnId by, Node prepared) {
  prepared.mapped().by = by;
  SpinLatchGuard guard(latch_, runtime_);
  auto entered = chains_.insert(std::move(prepared));
  if (!entered.inserted) entered.position->second = entered.node.mapped();
}

void PendingChains::AddCommitted(OverflowChain chain) {
  SpinLatchGuard guard(latch_, runtime_);
  chains_.insert_or_assign(Raw(chain.first_page), PendingChain{chain, TxnId{0}});
}

void PendingChains::Forget(OverflowChain chain) {
  SpinLatchGuard guard(latch_, runtime_);
  chains_.erase(Raw(chain.first_page));
}

PendingChains::Node PendingChains::Extract(PageId first_page) {
  SpinLatchGuard guard(latch_, runtime_);
  return chains_.extract(Raw(first_page));
}

std::vector<PendingChain> PendingChains::List() const {
  SpinLatchGuard guard(latch_, runtime_);
  std::vector<PendingChain> all;
  all.reserve(chains_.size());
  for (const auto& [page, chain] : chains_) all.push_back(chain);
  return all;
}

}  // namespace latchkey
