// SPDX-License-Identifier: Apache-2.0
// The replies of the beanstalkd protocol as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::doors::beanstalk {

enum class Reply : std::uint8_t {
  inserted,    // <id>
  buried_new,  // BURIED <id>
  using_tube,  // <tube>
  reserved,    // <id> <bytes> and the body
  deadline_soon,
  timed_out,
  deleted,
  released,
  buried,
  touched,
  watching,  // <count>
  not_ignored,
  found,         // <id> <bytes> and the body
  kicked_count,  // KICKED <count>
  kicked,
  ok,  // <bytes> and a text
  paused,
  not_found,
  expected_crlf,
  job_too_big,
  draining,
  bad_format,
  unknown_command,
  out_of_memory,
  internal_error,
};

// The word, e.g. "NOT_FOUND".
std::string_view word(Reply reply);

// Each appends one whole reply.
void append_word(std::string& out, Reply reply);
void append_number(std::string& out, Reply reply, std::uint64_t number);
void append_name(std::string& out, Reply reply, std::string_view name);
void append_job(std::string& out, Reply reply, std::uint64_t id, std::string_view body);
void append_text(std::string& out, std::string_view text);  // OK <bytes>

// A YAML list as beanstalkd writes it.
std::string yaml_list(const std::vector<std::string_view>& items);

}  // namespace weir::doors::beanstalk
