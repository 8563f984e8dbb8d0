// SPDX-License-Identifier: Apache-2.0
// The shape of a run: who may put and claim when, and what has been proved so far. Every protocol's
// session asks the flow before a request and tells it of each answer.
//
// A claim is given out for a job that is known to wait (its put was answered), or to a connection
// that has nothing else in flight and may wait in the server. So no ack is ever queued behind a
// claim that waits, in protocols that answer strictly in order.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "driver/histogram.h"
#include "driver/ledger.h"
#include "driver/options.h"

namespace weir::bench {

// One thread.
class Flow {
 public:
  explicit Flow(Options options);

  const Options& options() const { return options_; }

  // The clock is read once per readable connection, not once a job.
  void read_clock() { now_us_ = static_cast<std::uint32_t>(clock_.boot_us() - start_us_); }
  std::uint32_t now_us() const { return now_us_; }

  // --- producers
  // Takes the next number to put; false when all are taken, or when so many wait that more would
  // only measure how long the queue is.
  bool take_put(std::uint64_t& number) {
    if (!has_puts()) return false;
    number = next_put_++;
    if (!ledger_.sent(number, now_us_)) broken("sent twice", number);
    return true;
  }
  void put_done(std::uint64_t number) {
    if (!ledger_.put(number)) broken("put twice", number);
    put_us_.add(now_us_ - ledger_.sent_us(number));
    ++put_count_;
  }

  // --- consumers
  // Takes up to `wanted` claims; `may_wait` allows one for which no job is known to wait.
  std::uint64_t take_claims(std::uint64_t wanted, bool may_wait);
  // Gives back claims that were answered without a job.
  void return_claims(std::uint64_t count) { claims_issued_ -= count; }
  void claimed(std::uint64_t number) {
    if (!ledger_.claimed(number)) broken("claimed twice or never put", number);
    ++claimed_count_;
  }
  void acked(std::uint64_t number) {
    if (!ledger_.acked(number)) broken("acked twice or never claimed", number);
    if (number >= options_.before) put_to_ack_us_.add(now_us_ - ledger_.sent_us(number));
    ++acked_count_;
  }
  // Whether somebody who had nothing to do could now put or claim.
  bool has_work() const { return has_puts() || has_claims(); }
  bool has_puts() const {
    return next_put_ != put_end_ &&
           static_cast<std::int64_t>(next_put_ - options_.before - acked_count_) < backlog_max_;
  }
  // Whether a job that a server pushed may be acked now; see `waiting`.
  bool may_ack() const {
    return static_cast<std::int64_t>(acked_count_ - put_count_) < before_max_ + backlog_max_;
  }
  bool has_claims() const { return claims_issued_ < claim_target_ && waiting() > 0; }

  bool is_finished() const { return put_count_ == put_target_ && acked_count_ == claim_target_; }
  // A number that grows with every answer; a run where it stands still is stuck.
  std::uint64_t progress() const { return put_count_ + claimed_count_ + acked_count_; }

  // --- payloads: 16 hexadecimal digits of the number, then filler.
  void append_payload(std::string& out, std::uint64_t number) const;
  // The number in a payload; ends the run when it is not one of ours.
  std::uint64_t number_of(std::string_view payload) const;

  void start();
  void stop();
  // Checks the marks one by one and prints the result as one JSON line.
  void report();

  [[noreturn]] void broken(const char* what, std::uint64_t number) const;
  std::string counts() const;

 private:
  // Jobs that wait for a claim, as far as answers say. Of those that were put before, at most a
  // backlog counts while others are put: a run deep in a queue keeps its consumers beside its
  // producers.
  std::int64_t waiting() const {
    return static_cast<std::int64_t>(put_count_ - claims_issued_) + before_max_;
  }

  Options options_;
  SystemClock clock_;
  std::uint64_t put_target_, claim_target_;
  std::int64_t backlog_max_, before_max_;
  std::uint64_t next_put_, put_end_;
  Ledger ledger_;
  Histogram put_us_, put_to_ack_us_;
  std::string filler_;
  std::int64_t start_us_ = 0;
  std::uint32_t now_us_ = 0;
  double start_cpu_s_ = 0, seconds_ = 0, cpu_s_ = 0;
  std::uint64_t put_count_ = 0, claims_issued_ = 0, claimed_count_ = 0, acked_count_ = 0;
};

}  // namespace weir::bench
