// SPDX-License-Identifier: Apache-2.0
// What commands share when they talk to a server: a client from the session's options, fields out
// of answers, errors into exit codes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command.h"
#include "client/client.h"

namespace weir::cli {

std::unique_ptr<client::Client> make_client(const Session& session);

// A JSON value as people read it: strings decoded, null and absent as "", everything else as it
// stands.
std::string plain(std::string_view value);
// The same of a field of an object. A dot goes into an inner object: "counts.pending".
std::string field(std::string_view json, std::string_view path);
// The same of every element of a list field.
std::string joined(std::string_view json, std::string_view name, std::string_view separator);

// Prints the error (as a problem object with --json) and gives the exit code of its kind.
int report(Session& session, const Error& error);
// A mistake on the command line that parsing could not see.
int usage(Session& session, std::string_view problem);

// Prints the server's JSON unchanged, on one line.
void print_json(Session& session, std::string_view json);

// Reads DATA of the command line: the text itself, "@file", or "-" for stdin. Errors: not_found.
Result<std::string> read_data(Session& session, const std::string& data);

}  // namespace weir::cli
