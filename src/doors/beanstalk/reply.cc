// SPDX-License-Identifier: Apache-2.0
#include "doors/beanstalk/reply.h"

#include <charconv>

namespace weir::doors::beanstalk {
namespace {

constexpr std::string_view kEnd = "\r\n";

void append_digits(std::string& out, std::uint64_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end.ptr);
}

}  // namespace

std::string_view word(Reply reply) {
  switch (reply) {
    case Reply::inserted:
      return "INSERTED";
    case Reply::buried_new:
    case Reply::buried:
      return "BURIED";
    case Reply::using_tube:
      return "USING";
    case Reply::reserved:
      return "RESERVED";
    case Reply::deadline_soon:
      return "DEADLINE_SOON";
    case Reply::timed_out:
      return "TIMED_OUT";
    case Reply::deleted:
      return "DELETED";
    case Reply::released:
      return "RELEASED";
    case Reply::touched:
      return "TOUCHED";
    case Reply::watching:
      return "WATCHING";
    case Reply::not_ignored:
      return "NOT_IGNORED";
    case Reply::found:
      return "FOUND";
    case Reply::kicked_count:
    case Reply::kicked:
      return "KICKED";
    case Reply::ok:
      return "OK";
    case Reply::paused:
      return "PAUSED";
    case Reply::not_found:
      return "NOT_FOUND";
    case Reply::expected_crlf:
      return "EXPECTED_CRLF";
    case Reply::job_too_big:
      return "JOB_TOO_BIG";
    case Reply::draining:
      return "DRAINING";
    case Reply::bad_format:
      return "BAD_FORMAT";
    case Reply::unknown_command:
      return "UNKNOWN_COMMAND";
    case Reply::out_of_memory:
      return "OUT_OF_MEMORY";
    case Reply::internal_error:
      return "INTERNAL_ERROR";
  }
  return "INTERNAL_ERROR";
}

void append_word(std::string& out, Reply reply) { out.append(word(reply)).append(kEnd); }

void append_number(std::string& out, Reply reply, std::uint64_t number) {
  out.append(word(reply)).push_back(' ');
  append_digits(out, number);
  out.append(kEnd);
}

void append_name(std::string& out, Reply reply, std::string_view name) {
  out.append(word(reply)).append(" ").append(name).append(kEnd);
}

void append_job(std::string& out, Reply reply, std::uint64_t id, std::string_view body) {
  out.append(word(reply)).push_back(' ');
  append_digits(out, id);
  out.push_back(' ');
  append_digits(out, body.size());
  out.append(kEnd).append(body).append(kEnd);
}

void append_text(std::string& out, std::string_view text) {
  out.append(word(Reply::ok)).push_back(' ');
  append_digits(out, text.size());
  out.append(kEnd).append(text).append(kEnd);
}

std::string yaml_list(const std::vector<std::string_view>& items) {
  std::string text = "---\n";
  for (const std::string_view item : items) text.append("- ").append(item).append("\n");
  return text;
}

}  // namespace weir::doors::beanstalk
