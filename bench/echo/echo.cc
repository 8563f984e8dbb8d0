// SPDX-License-Identifier: Apache-2.0
// The least an HTTP server can do with the libraries that weir's door uses: Asio reads, llhttp
// parses, the body goes back. One thread. What weir's door is measured against.
//
//   echo            listens on a free loopback port and prints it
#include <fmt/format.h>
#include <llhttp.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <memory>
#include <string>

namespace weir::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// One keep-alive connection; lives as long as an operation of it is pending.
class EchoSession : public std::enable_shared_from_this<EchoSession> {
 public:
  explicit EchoSession(tcp::socket socket) : socket_(std::move(socket)) {
    llhttp_settings_init(&settings_);
    settings_.on_body = [](llhttp_t* parser, const char* at, std::size_t size) {
      static_cast<EchoSession*>(parser->data)->body_.append(at, size);
      return 0;
    };
    settings_.on_message_complete = [](llhttp_t* parser) {
      static_cast<EchoSession*>(parser->data)->answer();
      return 0;
    };
    llhttp_init(&parser_, HTTP_REQUEST, &settings_);
    parser_.data = this;
  }

  void read() {
    socket_.async_read_some(asio::buffer(in_),
                            [self = shared_from_this()](const auto& error, std::size_t got) {
                              if (error) return;
                              if (llhttp_execute(&self->parser_, self->in_.data(), got) != HPE_OK)
                                return;
                              self->out_.empty() ? self->read() : self->write();
                            });
  }

 private:
  void answer() {
    out_ += fmt::format(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        body_.size(), body_);
    body_.clear();
  }

  void write() {
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](const auto& error, std::size_t) {
                        if (error) return;
                        self->out_.clear();
                        self->read();
                      });
  }

  tcp::socket socket_;
  llhttp_settings_t settings_{};
  llhttp_t parser_{};
  std::array<char, 65536> in_{};
  std::string body_, out_;
};

void accept_next(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](const auto& error, tcp::socket socket) {
    if (!error) {
      socket.set_option(tcp::no_delay(true));
      std::make_shared<EchoSession>(std::move(socket))->read();
    }
    accept_next(acceptor);
  });
}

}  // namespace
}  // namespace weir::bench

int main() {
  boost::asio::io_context context(1);
  const boost::asio::ip::tcp::endpoint anywhere(boost::asio::ip::address_v4::loopback(), 0);
  boost::asio::ip::tcp::acceptor acceptor(context, anywhere);
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  weir::bench::accept_next(acceptor);
  context.run();
}
