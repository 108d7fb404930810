#include "tools/contention/query_access.h"

#include <algorithm>
#include <array>
#include <vector>

#include "storage/base/hash.h"
#include "tpcc-lite/bench/zipf.h"

namespace latchkey {
namespace {

struct PageRange {
  uint64_t first = 0;
  uint64_t count = 1;
  uint64_t Of(uint64_t row, uint64_t rows) const {  // rows lie in the order of their numbers
    return first + row * count / rows;
  }
};

// Divides the pages of a database in proportion to sizes in bytes.
class PageDivider {
 public:
  PageDivider(uint64_t pages, double bytes) : pages_(pages), bytes_(bytes) {}
  /// At least one page; in a small database it may be another range's, too.
  PageRange Next(double bytes) {
    const uint64_t first = std::min(Boundary(), pages_ - 1);
    taken_ += bytes;
    const uint64_t end = std::clamp(Boundary(), first + 1, pages_);
    return {.first = first, .count = end - first};
  }

 private:
  uint64_t Boundary() const {
    return static_cast<uint64_t>(taken_ / bytes_ * static_cast<double>(pages_));
  }
  const uint64_t pages_;
  const double bytes_;
  double taken_ = 0;
};

constexpr double kEntryBytes = 24;  // of an index: key, address, header, a leaf 70 % full
constexpr uint64_t kFanout = 300;   // of an index page

// A table with a B+tree over its row numbers.
struct Table {
  uint64_t rows = 1;
  PageRange heap, leaves, inner;

  static constexpr double Bytes(uint64_t rows, double row_bytes) {
    return static_cast<double>(rows) * (row_bytes + kEntryBytes * (1 + 1.0 / kFanout));
  }
  Table(PageDivider& divider, uint64_t rows_of_table, double row_bytes) : rows(rows_of_table) {
    const auto count = static_cast<double>(rows);
    heap = divider.Next(count * row_bytes);
    leaves = divider.Next(count * kEntryBytes);
    inner = divider.Next(count * kEntryBytes / kFanout);
  }

  void ReadIndex(uint64_t row, std::vector<uint64_t>* reads) const {
    reads->push_back(inner.first);  // the root
    if (inner.count > 1) reads->push_back(inner.first + 1 + row * (inner.count - 1) / rows);
    reads->push_back(leaves.Of(row, rows));
  }
  void ReadRow(uint64_t row, std::vector<uint64_t>* reads) const {
    ReadIndex(row, reads);
    reads->push_back(heap.Of(row, rows));
  }
};

// Draws one piece of work after the other, and gives its reads one by one.
class PieceByPiece : public AccessStream {
 public:
  explicit PieceByPiece(const AccessPatternConfig& config) : rng_(config.MakeRng()) {}
  uint64_t Next() final {
    while (next_ == reads_.size()) {
      reads_.clear();
      next_ = 0;
      Draw(&reads_);
    }
    return reads_[next_++];
  }

 protected:
  virtual void Draw(std::vector<uint64_t>* reads) = 0;
  Rng rng_;

 private:
  std::vector<uint64_t> reads_;
  size_t next_ = 0;
};

// Rows and the bytes of a row as TPC-W gives them, for 100,000 items and 2.9 million customers.
constexpr uint64_t kItems = 100'000, kAuthors = kItems / 4;
constexpr uint64_t kCustomers = 2'900'000, kAddresses = 2 * kCustomers;
constexpr uint64_t kOrders = kCustomers * 9 / 10, kOrderLines = 3 * kOrders;
constexpr double kItemBytes = 860, kAuthorBytes = 630, kCustomerBytes = 760, kAddressBytes = 154;
constexpr double kOrderBytes = 220, kOrderLineBytes = 132, kPaymentBytes = 80;

// What an interaction reads.
struct Interaction {
  uint32_t per_10000 = 0;
  uint32_t customers = 0, addresses = 0, orders = 0;
  uint32_t items = 0;
  uint32_t listed_items = 0;   // with their authors; more than one are found by an index
  uint64_t latest_orders = 0;  // their lines are read in sequence
};

constexpr uint32_t kPromotional = 5, kListed = 50, kInCart = 2, kLinesOfOrder = 3;
constexpr Interaction kBrowsingMix[] = {
    {.per_10000 = 2900, .customers = 1, .items = kPromotional},            // Home
    {.per_10000 = 1100, .listed_items = kListed},                          // New Products
    {.per_10000 = 1100, .listed_items = kListed, .latest_orders = 3'333},  // Best Sellers
    {.per_10000 = 2100, .listed_items = 1},                                // Product Detail
    {.per_10000 = 1200, .items = kPromotional},                            // Search Request
    {.per_10000 = 1100, .listed_items = kListed},                          // Search Results
    {.per_10000 = 200, .items = kInCart + kPromotional},                   // Shopping Cart
    {.per_10000 = 82, .customers = 1},                                     // Registration
    {.per_10000 = 75, .customers = 1, .addresses = 1, .items = kInCart},   // Buy Request
    {.per_10000 = 69,
     .customers = 1,
     .addresses = 2,
     .orders = 1,
     .items = kInCart},                 // Buy Confirm
    {.per_10000 = 30, .customers = 1},  // Order Inquiry
    {.per_10000 = 25,
     .customers = 1,
     .addresses = 2,
     .orders = 1,
     .items = kLinesOfOrder},                               // Order Display
    {.per_10000 = 10, .listed_items = 1},                   // Admin Request
    {.per_10000 = 9, .items = 1, .latest_orders = 10'000},  // Admin Confirm
};

constexpr uint32_t SumOfMix() {
  uint32_t sum = 0;
  for (const Interaction& interaction : kBrowsingMix) sum += interaction.per_10000;
  return sum;
}
static_assert(SumOfMix() == 10'000);

class BrowsingMix final : public PieceByPiece {
 public:
  BrowsingMix(const AccessPatternConfig& config, double skew)
      : BrowsingMix(config, skew, PageDivider(config.pages, kBytes)) {}

 private:
  static constexpr double kBytes =
      Table::Bytes(kItems, kItemBytes) + Table::Bytes(kAuthors, kAuthorBytes) +
      Table::Bytes(kCustomers, kCustomerBytes) + Table::Bytes(kAddresses, kAddressBytes) +
      Table::Bytes(kOrders, kOrderBytes) + Table::Bytes(kOrderLines, kOrderLineBytes) +
      Table::Bytes(kOrders, kPaymentBytes);

  BrowsingMix(const AccessPatternConfig& config, double skew, PageDivider divider)
      : PieceByPiece(config),
        items_(divider, kItems, kItemBytes),
        authors_(divider, kAuthors, kAuthorBytes),
        customers_(divider, kCustomers, kCustomerBytes),
        addresses_(divider, kAddresses, kAddressBytes),
        orders_(divider, kOrders, kOrderBytes),
        order_lines_(divider, kOrderLines, kOrderLineBytes),
        payments_(divider, kOrders, kPaymentBytes),
        popularity_(kItems, skew),
        item_of_(kItems, AccessPatternConfig::kPopularSeed) {}

  void Draw(std::vector<uint64_t>* reads) override {
    uint64_t draw = rng_.Below(SumOfMix());
    const Interaction* drawn = kBrowsingMix;
    for (; draw >= drawn->per_10000; ++drawn) draw -= drawn->per_10000;
    for (uint32_t i = 0; i < drawn->customers; ++i) ReadAny(customers_, reads);
    for (uint32_t i = 0; i < drawn->addresses; ++i) ReadAny(addresses_, reads);
    for (uint32_t i = 0; i < drawn->orders; ++i) ReadOrder(reads);
    ReadLatestOrders(drawn->latest_orders, reads);
    for (uint32_t i = 0; i < drawn->items; ++i) items_.ReadRow(DrawItem(), reads);
    ReadList(drawn->listed_items, reads);
  }

  uint64_t DrawItem() { return item_of_(popularity_.Next(rng_)); }

  void ReadAny(const Table& table, std::vector<uint64_t>* reads) {
    table.ReadRow(rng_.Below(table.rows), reads);
  }
  void ReadOrder(std::vector<uint64_t>* reads) {
    const uint64_t order = rng_.Below(kOrders);
    orders_.ReadRow(order, reads);
    payments_.ReadRow(order, reads);
    order_lines_.ReadRow(order * kLinesOfOrder, reads);
  }
  void ReadLatestOrders(uint64_t orders, std::vector<uint64_t>* reads) const {
    if (orders == 0) return;
    const uint64_t row = kOrderLines - orders * kLinesOfOrder;
    order_lines_.ReadIndex(row, reads);
    const uint64_t end = order_lines_.heap.first + order_lines_.heap.count;
    for (uint64_t page = order_lines_.heap.Of(row, kOrderLines); page < end; ++page) {
      reads->push_back(page);
    }
  }
  void ReadList(uint32_t lines, std::vector<uint64_t>* reads) {
    if (lines > 1) items_.ReadIndex(rng_.Below(kItems), reads);
    for (uint32_t i = 0; i < lines; ++i) {
      const uint64_t item = DrawItem();
      items_.ReadRow(item, reads);
      authors_.ReadRow(item % kAuthors, reads);
    }
  }

  const Table items_, authors_, customers_, addresses_, orders_, order_lines_, payments_;
  const ZipfGenerator popularity_;
  const Permutation item_of_;
};

class TableScans final : public AccessStream {
 public:
  TableScans(const AccessPatternConfig& config, uint64_t tables)
      : rng_(config.MakeRng()), pages_(config.pages), tables_(std::min(tables, config.pages)) {
    BeginQuery();
    next_ += rng_.Below(end_ - next_);
  }
  uint64_t Next() override {
    if (next_ == end_) BeginQuery();
    return next_++;
  }

 private:
  void BeginQuery() {
    const uint64_t table = rng_.Below(tables_);
    next_ = pages_ * table / tables_;
    end_ = pages_ * (table + 1) / tables_;
  }

  Rng rng_;
  const uint64_t pages_;
  const uint64_t tables_;
  uint64_t next_ = 0;
  uint64_t end_ = 0;  // of the present query
};

// Rows and the bytes of a row as TPC-H gives them, for one unit of scale.
constexpr uint64_t kJoinCustomers = 150'000, kOrdersOfCustomer = 10, kItemsOfOrder = 4;
constexpr uint64_t kJoinOrders = kJoinCustomers * kOrdersOfCustomer;
constexpr uint64_t kJoinItems = kJoinOrders * kItemsOfOrder;
constexpr double kJoinCustomerBytes = 179, kJoinOrderBytes = 104, kJoinItemBytes = 112;
constexpr uint64_t kSegments = 5;  // the query asks for the customers of one market segment

class IndexJoin final : public PieceByPiece {
 public:
  explicit IndexJoin(const AccessPatternConfig& config)
      : IndexJoin(config, PageDivider(config.pages, kBytes)) {}

 private:
  static constexpr double kBytes = kJoinCustomers * kJoinCustomerBytes +
                                   Table::Bytes(kJoinOrders, kJoinOrderBytes) +
                                   Table::Bytes(kJoinItems, kJoinItemBytes);

  IndexJoin(const AccessPatternConfig& config, PageDivider divider)
      : PieceByPiece(config),
        customers_(divider.Next(kJoinCustomers * kJoinCustomerBytes)),
        orders_(divider, kJoinOrders, kJoinOrderBytes),
        items_(divider, kJoinItems, kJoinItemBytes),
        order_at_(kJoinOrders, AccessPatternConfig::kPopularSeed),
        first_(kJoinCustomers * config.thread / config.threads),
        end_(kJoinCustomers * (config.thread + 1) / config.threads),
        customer_(first_ + rng_.Below(end_ - first_)) {}

  // A customer. The scan reads the page of the customers once.
  void Draw(std::vector<uint64_t>* reads) override {
    const uint64_t page = customers_.Of(customer_, kJoinCustomers);
    if (page != page_) reads->push_back(page);
    page_ = page;
    if (MixHash(customer_) % kSegments == 0) JoinOrders(reads);
    customer_ = customer_ + 1 == end_ ? first_ : customer_ + 1;
  }

  // The index has the orders of a customer side by side; the orders lie in the order of their dates.
  void JoinOrders(std::vector<uint64_t>* reads) const {
    const uint64_t first_order = customer_ * kOrdersOfCustomer;
    orders_.ReadIndex(first_order, reads);
    for (uint64_t i = 0; i < kOrdersOfCustomer; ++i) {
      const uint64_t order = order_at_(first_order + i);
      reads->push_back(orders_.heap.Of(order, kJoinOrders));
      items_.ReadRow(order * kItemsOfOrder, reads);
    }
  }

  const PageRange customers_;
  const Table orders_, items_;
  const Permutation order_at_;
  const uint64_t first_, end_;  // the customers of this thread
  uint64_t customer_;
  uint64_t page_ = UINT64_MAX;
};

}  // namespace

std::unique_ptr<AccessStream> MakeBrowsingMix(const AccessPatternConfig& config, double skew) {
  return std::make_unique<BrowsingMix>(config, skew);
}

std::unique_ptr<AccessStream> MakeTableScans(const AccessPatternConfig& config, uint64_t tables) {
  return std::make_unique<TableScans>(config, tables);
}

std::unique_ptr<AccessStream> MakeIndexJoin(const AccessPatternConfig& config) {
  return std::make_unique<IndexJoin>(config);
}

}  // namespace latchkey
