// SPDX-License-Identifier: Apache-2.0
// Drives PostgreSQL as a queue: rows claimed with FOR UPDATE SKIP LOCKED, deleted by their ack, one
// transaction a statement, pipelined. --batch N: N jobs a statement (1).
#include <fmt/format.h>
#include <libpq-fe.h>

#include <array>
#include <deque>

#include "driver/load.h"

namespace weir::bench {
namespace {

constexpr const char* kSetUp =
    "CREATE TABLE IF NOT EXISTS jobs (id bigserial PRIMARY KEY, state smallint NOT NULL DEFAULT 0,"
    " payload text NOT NULL);"
    "CREATE INDEX IF NOT EXISTS jobs_ready ON jobs (id) WHERE state = 0";
constexpr const char* kPut = "INSERT INTO jobs (payload) SELECT unnest($1::text[])";
constexpr const char* kClaim =
    "UPDATE jobs SET state = 1 WHERE id = ANY (ARRAY(SELECT id FROM jobs WHERE state = 0 ORDER BY"
    " id FOR UPDATE SKIP LOCKED LIMIT $1::bigint)) RETURNING id, payload";
constexpr const char* kAck = "DELETE FROM jobs WHERE id = ANY ($1::bigint[])";
// The same for one job without arrays, as a program that takes them one by one would write it.
constexpr const char* kPutOne = "INSERT INTO jobs (payload) VALUES ($1)";
constexpr const char* kClaimOne =
    "UPDATE jobs SET state = 1 WHERE id = (SELECT id FROM jobs WHERE state = 0 ORDER BY id"
    " FOR UPDATE SKIP LOCKED LIMIT $1::bigint) RETURNING id, payload";
constexpr const char* kAckOne = "DELETE FROM jobs WHERE id = $1";

class Postgres final : public Session {
 public:
  Postgres(Flow& flow, Role role, std::size_t index)
      : flow_(flow),
        role_(role),
        is_first_(index == 0),
        batch_(flow.options().batch),
        statements_max_(std::max<std::size_t>(1, flow.options().depth / batch_)) {}
  ~Postgres() override { PQfinish(connection_); }
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  int fd() const override { return PQsocket(connection_); }

  void open() override {
    const std::string where = fmt::format("host={} port={} user=bench dbname=postgres",
                                          flow_.options().host, flow_.options().port);
    connection_ = PQconnectdb(where.c_str());
    if (PQstatus(connection_) != CONNECTION_OK) fail("can't connect");
    if (is_first_) {
      PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);
      check(PQexec(connection_, kSetUp), PGRES_COMMAND_OK);
    }
    const bool is_single = batch_ == 1;
    const std::array<std::pair<const char*, const char*>, 3> statements = {
        {{"put", is_single ? kPutOne : kPut},
         {"claim", is_single ? kClaimOne : kClaim},
         {"ack", is_single ? kAckOne : kAck}}};
    for (const auto& [name, text] : statements)
      check(PQprepare(connection_, name, text, 0, nullptr), PGRES_COMMAND_OK);
    if (PQsetnonblocking(connection_, 1) != 0 || PQenterPipelineMode(connection_) != 1)
      fail("no pipeline");
  }

  void receive() override {
    if (PQconsumeInput(connection_) != 1) fail("can't read");
    while (!flight_.empty() && PQisBusy(connection_) == 0) {
      PGresult* result = PQgetResult(connection_);
      if (result == nullptr) continue;  // between the results of two statements
      switch (PQresultStatus(result)) {
        case PGRES_PIPELINE_SYNC:
          flight_.pop_front();
          break;
        case PGRES_COMMAND_OK:
        case PGRES_TUPLES_OK:
          answered(result);
          break;
        default:
          fail("a statement failed");
      }
      PQclear(result);
    }
  }

  void fill() override {
    while (role_ != Role::producer && flight_.size() < statements_max_) {
      const std::uint64_t wanted = flow_.take_claims(batch_, false);
      if (wanted == 0) break;
      const std::string count = std::to_string(wanted);
      statement(Step::claim, count, std::vector<std::uint64_t>(wanted));
    }
    while (role_ != Role::consumer && flight_.size() < statements_max_ && flow_.has_puts()) put();
  }

  bool flush() override {
    const int left = PQflush(connection_);
    if (left < 0) fail("can't write");
    return left > 0;
  }

 private:
  enum class Step : std::uint8_t { put, claim, ack };
  struct Request {
    Step step = Step::put;
    std::vector<std::uint64_t> numbers;  // of a claim: as many as were wanted
  };

  [[noreturn]] void fail(const char* what) const {
    die(fmt::format("{}: {}", what, PQerrorMessage(connection_)));
  }
  void check(PGresult* result, ExecStatusType expected) {
    if (PQresultStatus(result) != expected) fail("setting up");
    PQclear(result);
  }

  // One statement, one transaction.
  void statement(Step step, const std::string& parameter, std::vector<std::uint64_t> numbers) {
    static constexpr const char* kNames[] = {"put", "claim", "ack"};
    const char* values[] = {parameter.c_str()};
    if (PQsendQueryPrepared(connection_, kNames[static_cast<int>(step)], 1, values, nullptr,
                            nullptr, 0) != 1 ||
        PQpipelineSync(connection_) != 1)
      fail("can't send");
    flight_.push_back({step, std::move(numbers)});
  }

  void put() {
    std::vector<std::uint64_t> numbers;
    std::string payloads = batch_ == 1 ? "" : "{";
    std::uint64_t number = 0;
    while (numbers.size() < batch_ && flow_.take_put(number)) {
      if (!numbers.empty()) payloads += ',';
      flow_.append_payload(payloads, number);
      numbers.push_back(number);
    }
    if (batch_ > 1) payloads += '}';
    statement(Step::put, payloads, std::move(numbers));
  }

  void answered(PGresult* result) {
    const Request& request = flight_.front();
    if (request.step == Step::claim) {
      claimed(result, request.numbers.size());
      return;
    }
    const auto expected = std::to_string(request.numbers.size());
    if (PQcmdTuples(result) != expected)
      die(fmt::format("{} rows instead of {}", PQcmdTuples(result), expected));
    for (const std::uint64_t number : request.numbers)
      request.step == Step::put ? flow_.put_done(number) : flow_.acked(number);
  }

  void claimed(PGresult* result, std::size_t wanted) {
    const auto rows = static_cast<std::size_t>(PQntuples(result));
    flow_.return_claims(wanted - rows);
    if (rows == 0) return;  // others hold what was free
    std::vector<std::uint64_t> numbers;
    std::string ids = batch_ == 1 ? "" : "{";
    for (std::size_t i = 0; i < rows; ++i) {
      const int row = static_cast<int>(i);
      const std::uint64_t number = flow_.number_of(
          {PQgetvalue(result, row, 1), static_cast<std::size_t>(PQgetlength(result, row, 1))});
      flow_.claimed(number);
      numbers.push_back(number);
      if (i > 0) ids += ',';
      ids += PQgetvalue(result, row, 0);
    }
    if (batch_ > 1) ids += '}';
    statement(Step::ack, ids, std::move(numbers));
  }

  Flow& flow_;
  const Role role_;
  const bool is_first_;
  const std::size_t batch_, statements_max_;
  PGconn* connection_ = nullptr;
  std::deque<Request> flight_;
};

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  using weir::bench::Flow, weir::bench::Role;
  std::size_t index = 0;
  return weir::bench::run_load(
      weir::bench::read_options(count, arguments, ""), [&](Flow& flow, Role role) {
        return std::make_unique<weir::bench::Postgres>(flow, role, index++);
      });
}
