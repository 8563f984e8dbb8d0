// SPDX-License-Identifier: Apache-2.0
// Plays a transcript to a session and compares.
#include <algorithm>
#include <deque>

#include "base/prng.h"
#include "base/text.h"
#include "wire/http_reply.h"
#include "wire/pattern.h"
#include "wire/transcript.h"

namespace weir::wire {
namespace {

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 2000)) {
    if (c == '\r') {
      out += "\\r";
    } else if (c == '\n') {
      out += "\\n\n";
    } else {
      out += c;
    }
  }
  return text.empty() ? "(nothing)" : out;
}

class Player {
 public:
  Player(const Transcript& transcript, const Session& session, Split split, std::uint64_t seed)
      : transcript_(transcript), session_(session), split_(split), prng_(seed) {}

  std::string run() {
    for (const Step& step : transcript_.steps) {
      std::string difference = run_step(step);
      if (!difference.empty())
        return transcript_.name + ":" + std::to_string(step.line) + ": " + difference;
    }
    flush_input();
    return received_.empty() ? ""
                             : transcript_.name + ": sent at the end without being expected:\n" +
                                   shown(received_);
  }

 private:
  std::string run_step(const Step& step) {
    if (step.kind == Step::Kind::send) {
      // What is expected from before must have been expected before the client goes on.
      if (pending_.empty() && !received_.empty())
        return "sent without being expected:\n" + shown(received_);
      pending_ += text_of(step);
      return "";
    }
    flush_input();
    switch (step.kind) {
      case Step::Kind::send:
        break;
      case Step::Kind::expect:
        return step.is_http && !step.is_raw ? expect_http(step) : expect_text(step);
      case Step::Kind::advance:
        if (!session_.advance) return "this session has no clock";
        received_ += session_.advance(step.advance_ms);
        break;
      case Step::Kind::close:
        if (!session_.close) return "this session cannot be closed";
        received_ += session_.close();
        break;
      case Step::Kind::expect_closed:
        if (!received_.empty()) return "sent without being expected:\n" + shown(received_);
        if (!session_.is_closed || !session_.is_closed()) return "the server has not closed";
        break;
    }
    return "";
  }

  std::string text_of(const Step& step) {
    if (step.is_raw) return fill_in(step.lines.front(), captures_);
    if (!step.is_http) return fill_in(step.lines.front(), captures_) + "\r\n";
    std::string head;
    std::string body;
    bool is_in_body = false;
    for (std::size_t i = 0; i < step.lines.size(); ++i) {
      const std::string line = fill_in(step.lines[i], captures_);
      if (is_in_body) {
        body += (body.empty() ? "" : "\r\n") + line;
      } else {
        is_in_body = line.empty();
        head += line + "\r\n";
      }
    }
    requests_to_head_.push_back(head.starts_with("HEAD "));
    return fill_in(head, {{"len", std::to_string(body.size())}}) + body;
  }

  void flush_input() {
    const std::string input = std::exchange(pending_, {});
    std::string_view rest = input;
    while (!rest.empty()) {
      std::size_t size = rest.size();
      if (split_ == Split::bytes) size = 1;
      // Mostly small pieces: they cut at more places.
      if (split_ == Split::random)
        size = std::min<std::size_t>(size, 1 + prng_.up_to(prng_.one_in(4) ? 200 : 7));
      received_ += session_.feed(rest.substr(0, size));
      rest.remove_prefix(size);
    }
  }

  std::string expect_text(const Step& step) {
    const std::string pattern = step.is_raw ? step.lines.front() : step.lines.front() + "\r\n";
    const std::size_t used = match_prefix(pattern, received_, captures_);
    if (used == std::string_view::npos)
      return "expected\n" + shown(pattern) + "\ngot\n" + shown(received_);
    received_.erase(0, used);
    return "";
  }

  std::string expect_http(const Step& step) {
    const bool to_head = !requests_to_head_.empty() && requests_to_head_.front();
    const auto reply = take_reply(received_, to_head);
    if (!reply) return "expected an HTTP answer, got\n" + shown(received_);
    std::size_t at = 0;
    const auto differs = [&](const std::string& what) {
      return what + "\nin\n" + shown(received_);
    };
    if (!match_pattern(step.lines[at], reply->status_line, captures_))
      return differs("expected " + step.lines[at]);
    for (++at; at < step.lines.size() && !step.lines[at].empty(); ++at) {
      if (!has_header(*reply, step.lines[at]))
        return differs("expected the header " + step.lines[at]);
    }
    if (!reply->status_line.starts_with("HTTP/1.1 1") && !requests_to_head_.empty())
      requests_to_head_.pop_front();
    const bool has_body = at < step.lines.size();
    std::string body;
    for (++at; at < step.lines.size(); ++at) body += (body.empty() ? "" : "\r\n") + step.lines[at];
    if (has_body && !match_pattern(body, reply->body, captures_))
      return differs("expected the body " + body);
    // Without a body in the transcript an answer that goes on leaves its chunks for S> lines.
    received_.erase(0, reply->is_whole || has_body ? reply->all_bytes : reply->head_bytes);
    return "";
  }

  bool has_header(const HttpReply& reply, std::string_view line) {
    const bool must_lack = line.starts_with('!');
    if (must_lack) line.remove_prefix(1);
    const std::size_t colon = line.find(':');
    const std::string name = to_lower(line.substr(0, colon));
    const std::string_view value =
        colon == std::string_view::npos ? "{*}" : trim(line.substr(colon + 1));
    const bool has =
        std::any_of(reply.headers.begin(), reply.headers.end(), [&](const auto& header) {
          return header.first == name && match_pattern(value, header.second, captures_);
        });
    return has != must_lack;
  }

  const Transcript& transcript_;
  const Session& session_;
  const Split split_;
  Prng prng_;
  Captures captures_;
  std::string pending_;   // not yet fed
  std::string received_;  // not yet expected
  std::deque<bool> requests_to_head_;
};

}  // namespace

std::string play(const Transcript& transcript, const Session& session, Split split,
                 std::uint64_t seed) {
  return Player(transcript, session, split, seed).run();
}

std::string play_all_ways(const Transcript& transcript, const SessionFactory& factory,
                          std::uint64_t seed, int random_count) {
  std::string difference = play(transcript, factory(), Split::whole);
  if (!difference.empty()) return "whole: " + difference;
  difference = play(transcript, factory(), Split::bytes);
  if (!difference.empty()) return "byte by byte: " + difference;
  for (int i = 0; i < random_count; ++i) {
    const std::uint64_t own_seed = seed + static_cast<std::uint64_t>(i);
    difference = play(transcript, factory(), Split::random, own_seed);
    if (!difference.empty())
      return "in random pieces of seed " + std::to_string(own_seed) + ": " + difference;
  }
  return "";
}

}  // namespace weir::wire
