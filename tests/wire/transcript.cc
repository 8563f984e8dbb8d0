// SPDX-License-Identifier: Apache-2.0
#include "wire/transcript.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "base/time.h"

namespace weir::wire {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = ++i < text.size() ? text[i] : ' ';
    static constexpr std::string_view kLetters = "rnt0\\";
    static constexpr std::string_view kBytes("\r\n\t\0\\", 5);
    const std::size_t at = kLetters.find(c);
    if (at != std::string_view::npos) {
      out += kBytes[at];
    } else if (c == 'x' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
               hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      return failure(ErrorCode::invalid_argument, "unknown escape");
    }
  }
  return out;
}

class Reader {
 public:
  explicit Reader(std::string name) { transcript_.name = std::move(name); }

  Result<void> add(std::string_view line, int number) {
    if (line.empty() || line.starts_with('#')) {
      is_block_open_ = false;
      return {};
    }
    if (line.starts_with('@')) return add_directive(line, number);
    const bool is_client = line.starts_with('C');
    const bool is_text = line.size() >= 2 && (is_client || line.starts_with('S'));
    if (!is_text || (line[1] != ':' && line[1] != '>'))
      return bad(number, "expected C: C> S: S> or @");
    std::string_view text = line.substr(2);
    if (text.starts_with(' ')) text.remove_prefix(1);
    Step step{.kind = is_client ? Step::Kind::send : Step::Kind::expect, .line = number};
    if (line[1] == '>') {
      const auto raw = unescape(text);
      if (!raw) return bad(number, raw.error().detail);
      step.is_raw = true;
      step.lines.push_back(*raw);
      is_block_open_ = false;
      transcript_.steps.push_back(std::move(step));
      return {};
    }
    if (is_block_open_ && transcript_.steps.back().kind == step.kind) {
      transcript_.steps.back().lines.emplace_back(text);
      return {};
    }
    step.is_http = is_http_;
    step.lines.emplace_back(text);
    transcript_.steps.push_back(std::move(step));
    is_block_open_ = is_http_;  // otherwise each line stands for itself
    return {};
  }
  Transcript take() { return std::move(transcript_); }

 private:
  Result<void> add_directive(std::string_view line, int number) {
    is_block_open_ = false;
    Step step{.kind = Step::Kind::close, .line = number};
    if (line == "@http") {
      is_http_ = true;
      return {};
    }
    if (line.starts_with("@advance ")) {
      const auto duration = parse_duration_ms(line.substr(9));
      if (!duration) return bad(number, duration.error().detail);
      step.kind = Step::Kind::advance;
      step.advance_ms = *duration;
    } else if (line == "@closed") {
      step.kind = Step::Kind::expect_closed;
    } else if (line != "@close") {
      return bad(number, "unknown directive");
    }
    transcript_.steps.push_back(std::move(step));
    return {};
  }
  Failure bad(int number, const std::string& what) const {
    return failure(ErrorCode::invalid_argument,
                   transcript_.name + ":" + std::to_string(number) + ": " + what);
  }

  Transcript transcript_;
  bool is_http_ = false;
  bool is_block_open_ = false;
};

}  // namespace

Result<Transcript> parse_transcript(std::string name, std::string_view text) {
  Reader reader(std::move(name));
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    WEIR_TRY(reader.add(text.substr(0, end), ++number));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return reader.take();
}

Result<Transcript> read_transcript(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(ErrorCode::not_found, "cannot read " + path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_transcript(path.substr(path.rfind('/') + 1), text);
}

}  // namespace weir::wire
