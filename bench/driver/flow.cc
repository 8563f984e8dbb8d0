// SPDX-License-Identifier: Apache-2.0
// Counting, payloads and the report of a run.
#include "driver/flow.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

namespace weir::bench {
namespace {

constexpr std::size_t kNumberDigits = 16;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Flow::Flow(Options options)
    : options_(std::move(options)),
      put_target_(options_.has_producer() ? options_.jobs : 0),
      claim_target_(options_.has_consumer() ? options_.jobs : 0),
      backlog_max_(options_.backlog_max()),
      before_max_(static_cast<std::int64_t>(options_.waiting_before())),
      next_put_(options_.before),
      put_end_(options_.before + put_target_),
      ledger_(put_end_, options_.before),
      filler_(options_.payload_bytes - kNumberDigits, 'x') {
  if (options_.has_producer()) before_max_ = std::min(before_max_, backlog_max_);
}

std::uint64_t Flow::take_claims(std::uint64_t wanted, bool may_wait) {
  const std::uint64_t left = claim_target_ - claims_issued_;
  const auto known =
      static_cast<std::uint64_t>(std::max<std::int64_t>(waiting(), may_wait ? 1 : 0));
  const std::uint64_t taken = std::min({wanted, left, known});
  claims_issued_ += taken;
  return taken;
}

void Flow::append_payload(std::string& out, std::uint64_t number) const {
  char digits[kNumberDigits];
  for (std::size_t i = 0; i < kNumberDigits; ++i)
    digits[kNumberDigits - 1 - i] = "0123456789abcdef"[(number >> (4 * i)) & 15];
  out.append(digits, kNumberDigits);
  out.append(filler_);
}

std::uint64_t Flow::number_of(std::string_view payload) const {
  if (payload.size() != options_.payload_bytes)
    die(fmt::format("a job came with {} bytes instead of {}", payload.size(),
                    options_.payload_bytes));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kNumberDigits; ++i) {
    const char c = payload[i];
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) die("a job came without its number");
    number = number << 4 | static_cast<std::uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return number;
}

void Flow::start() {
  start_us_ = clock_.boot_us();
  start_cpu_s_ = cpu_seconds();
  now_us_ = 0;
}

std::string Flow::counts() const {
  return fmt::format("{} of {} put, {} claimed and {} acked of {}", put_count_, put_target_,
                     claimed_count_, acked_count_, claim_target_);
}

void Flow::broken(const char* what, std::uint64_t number) const {
  die(fmt::format("job {}: {} ({})", number, what, counts()));
}

void Flow::stop() {
  seconds_ = static_cast<double>(clock_.boot_us() - start_us_) / 1e6;
  cpu_s_ = cpu_seconds() - start_cpu_s_;
}

void Flow::report() {
  const std::uint64_t put = ledger_.count_put() - options_.before;
  const std::uint64_t claimed = ledger_.count_claimed();
  const std::uint64_t acked = ledger_.count_acked();
  if (put != put_target_ || claimed != claim_target_ || acked != claim_target_)
    die(fmt::format("the marks say {} put, {} claimed, {} acked; the answers {}", put, claimed,
                    acked, counts()));
  const std::string line = fmt::format(
      R"({{"jobs":{},"seconds":{:.4f},"jobs_per_s":{:.0f},"put":{},"claimed":{},"acked":{},)"
      R"("put_p50_us":{},"put_p99_us":{},"put_to_ack_p50_us":{},"put_to_ack_p99_us":{},)"
      R"("driver_cpu_us_per_job":{:.3f}}})",
      options_.jobs, seconds_, static_cast<double>(options_.jobs) / seconds_, put, claimed, acked,
      put_us_.percentile_us(0.5), put_us_.percentile_us(0.99), put_to_ack_us_.percentile_us(0.5),
      put_to_ack_us_.percentile_us(0.99), cpu_s_ * 1e6 / static_cast<double>(options_.jobs));
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace weir::bench
