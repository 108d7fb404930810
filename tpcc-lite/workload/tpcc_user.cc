#include "tpcc-lite/workload/tpcc_user.h"

#include <memory>

#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status TpccUser::Run(KvBackend& backend) {
  LATCHKEY_ASSIGN_OR_RETURN(auto session, backend.NewSession());
  const auto client = std::make_unique<TpccClient>(*session, options_);
  absl::Status status = Loop(*client);
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

absl::Status TpccUser::Loop(TpccClient& client) {
  uint64_t done = 0;
  Nanos start = runtime_.Now();
  while (!Stopped() && done < quota_) {
    const bool measured = Measuring();
    const TpccTransaction type = inputs_.NextType();
    bool rolled_back = false;
    LATCHKEY_RETURN_IF_ERROR(Execute(client, type, &rolled_back));
    const Nanos end = runtime_.Now();
    // A transaction counts when it began and ended within the measured part.
    if (measured && Measuring()) {
      UserStatistics::Type& counts = statistics_.Of(type);
      UserStatistics::Increment(rolled_back ? counts.rollbacks : counts.commits);
      counts.latency.Record(end - start);
      ++done;
    }
    start = end;
  }
  return absl::OkStatus();
}

template <typename Attempt>
absl::Status TpccUser::Repeat(TpccTransaction type, const Attempt& attempt) {
  absl::Status status = attempt();
  if (!absl::IsAborted(status)) [[likely]]
    return status;
  Backoff backoff(runtime_);
  while (absl::IsAborted(status)) {
    if (Measuring()) UserStatistics::Increment(statistics_.Of(type).aborts);
    if (Stopped()) return absl::CancelledError();
    backoff.Pause();
    status = attempt();
  }
  return status;
}

absl::Status TpccUser::Execute(TpccClient& client, TpccTransaction type, bool* rolled_back) {
  client.NextTransaction();
  switch (type) {
    case TpccTransaction::kNewOrder: {
      const NewOrderInput input = inputs_.NewOrder();
      NewOrderOutput output;
      absl::Status status = Repeat(type, [&] { return client.NewOrder(input, &output); });
      *rolled_back = output.rolled_back;
      if (status.ok() && !output.rolled_back && on_new_order_) {
        on_new_order_(input.warehouse, input.district, output.order);
      }
      return status;
    }
    case TpccTransaction::kPayment: {
      const PaymentInput input = inputs_.Payment();
      PaymentOutput output;
      return Repeat(type, [&] { return client.Payment(input, &output); });
    }
    case TpccTransaction::kOrderStatus: {
      const OrderStatusInput input = inputs_.OrderStatus();
      OrderStatusOutput output;
      return Repeat(type, [&] { return client.OrderStatus(input, &output); });
    }
    case TpccTransaction::kDelivery: {
      const DeliveryInput input = inputs_.Delivery();
      DeliveryOutput output;
      return Repeat(type, [&] { return client.Delivery(input, &output); });
    }
    case TpccTransaction::kStockLevel: {
      const StockLevelInput input = inputs_.StockLevel();
      StockLevelOutput output;
      return Repeat(type, [&] { return client.StockLevel(input, &output); });
    }
  }
  return absl::InternalError("tpcc-lite: no such transaction type");
}

}  // namespace latchkey
