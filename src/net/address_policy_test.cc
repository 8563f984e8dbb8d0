// SPDX-License-Identifier: Apache-2.0
// A corpus of addresses and URLs that reach inside: none may pass. And what must pass.
#include "net/address_policy.h"

#include <netinet/in.h>

#include <cstring>
#include <set>

namespace weir::net {
namespace {

const std::vector<std::string> kInsideAddresses{
    // IPv4: this network, private, CGNAT, loopback, link-local, reserved, documentation,
    // benchmarks, multicast
    "0.0.0.0",
    "0.0.0.1",
    "0.1.2.3",
    "0.255.255.255",
    "10.0.0.0",
    "10.0.0.1",
    "10.1.2.3",
    "10.255.255.255",
    "100.64.0.0",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.0",
    "127.0.0.1",
    "127.0.0.2",
    "127.0.1.1",
    "127.1.1.1",
    "127.255.255.254",
    "127.255.255.255",
    "169.254.0.0",
    "169.254.0.1",
    "169.254.169.253",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.255.255",
    "172.16.0.0",
    "172.16.0.1",
    "172.17.0.1",
    "172.20.10.1",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.0.192",
    "192.0.2.0",
    "192.0.2.1",
    "192.0.2.255",
    "192.88.99.0",
    "192.88.99.1",
    "192.168.0.0",
    "192.168.0.1",
    "192.168.1.1",
    "192.168.122.1",
    "192.168.255.255",
    "198.18.0.0",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.0",
    "198.51.100.7",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.1",
    "203.0.113.255",
    "168.63.129.16",
    "224.0.0.0",
    "224.0.0.1",
    "224.0.0.251",
    "233.252.0.1",
    "239.255.255.250",
    "239.255.255.255",
    "240.0.0.0",
    "240.0.0.1",
    "254.1.2.3",
    "255.255.255.254",
    "255.255.255.255",
    // IPv6: unspecified, loopback, compatible, mapped, translated
    "::",
    "::1",
    "::2",
    "::7f00:1",
    "::127.0.0.1",
    "::10.0.0.1",
    "::8.8.8.8",
    "::ffff:7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:192.168.1.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "0:0:0:0:0:ffff:7f00:1",
    "::FFFF:7F00:0001",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1::10.0.0.1",
    "100::",
    "100::1",
    "100:0:0:1::1",
    "2001::",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",
    "2001:2:0:1::5",
    "2001:3::1",
    "2001:10::1",
    "2001:20::1",
    "2001:2f::1",
    "2001:1ff::1",
    "2001:db8::",
    "2001:db8::1",
    "2001:db8:1234:5678::9",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002::",
    "2002:7f00:1::",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:a9fe:a9fe::1",
    "2002:c0a8:101::1",
    "2002:808:808::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
    "8000::1",
    "a000::1",
    "fc00::",
    "fc00::1",
    "fcff::1",
    "fd00::1",
    "fd00:ec2::254",
    "fd12:3456:789a::1",
    "fdff:ffff::1",
    "fe00::1",
    "fe80::",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "febf::1",
    "fec0::1",
    "feff::1",
    "ff00::",
    "ff01::1",
    "ff02::1",
    "ff02::fb",
    "ff05::2",
    "ff0e::1",
    "ffff::1",
    // no addresses at all: closed
    "",
    " ",
    "127.0.0.1 ",
    " 8.8.8.8",
    "8.8.8",
    "8.8.8.8.8",
    "08.8.8.8",
    "0x8.8.8.8",
    "134744072",
    "8.8.8.256",
    "fe80::1%eth0",
    "2606:4700::1111%1",
    "[2606:4700::1111]",
    "localhost",
    "example.org",
    "::1::",
    "2606:4700",
};

// Hosts that must not be taken for a public one, whatever a resolver or another parser makes of
// them.
const std::vector<std::string> kInsideUrls{
    "http://127.0.0.1/",
    "http://127.0.0.1:80/",
    "http://127.0.0.1:8080/x?y=z",
    "https://127.0.0.1/",
    "HTTP://127.0.0.1/",
    "http://127.0.0.1",
    "http://127.0.0.1?x",
    "http://127.0.0.1#x",
    "http://127.0.0.1./",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.000.000.001/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://00000177.0.0.1/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://0X7F.1/",
    "http://0x7f000001/",
    "http://0x7f000001:80/",
    "http://0x7F.0x0.0x0.0x1/",
    "http://2130706433/",
    "http://2130706433:80/",
    "http://02130706433/",
    "http://017700000001/",
    "http://0x100000000/",
    "http://4294967297/",
    "http://0/",
    "http://0x0/",
    "http://00/",
    "http://0.0/",
    "http://0.0.0.0/",
    "http://0.0.0.0:80/",
    "http://127.0.0.0x1/",
    "http://1.2.3/",
    "http://1.2.3.4.5/",
    "http://256.256.256.256/",
    "http://127.0.0.256/",
    "http://134744072/",
    "http://0x08080808/",
    "http://010.8.8.8/",
    "http://8.8.8.010/",
    "http://8.8.2056/",
    "http://10.0.0.1/",
    "http://10.1/",
    "http://167772161/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://192.168.257/",
    "http://3232235777/",
    "http://169.254.169.254/",
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.43518/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::1]:80/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::]/",
    "http://[::]:80/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::FFFF:7F00:1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[fc00::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[::1/",
    "http://::1/",
    "http://::1]/",
    "http://[]/",
    "http://[127.0.0.1]/",
    "http://[localhost]/",
    "http://[::1]x/",
    "http://[::1].example.org/",
    "http://[::1]@8.8.8.8/",
    "http://[v1.x]/",
    "http://user@127.0.0.1/",
    "http://user:pass@example.org/",
    "http://example.org@127.0.0.1/",
    "http://8.8.8.8@127.0.0.1/",
    "http://8.8.8.8:80@127.0.0.1/",
    "http://@127.0.0.1/",
    "http://:@example.org/",
    "http://127.0.0.1@example.org/",
    "http://example.org#@127.0.0.1@x/../",
    "http://127.0.0.1\\@8.8.8.8/",
    "http://8.8.8.8\\@127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http:/127.0.0.1/",
    "http:127.0.0.1/",
    "http:///127.0.0.1/",
    "http:////127.0.0.1/",
    "http://127.0.0.1.nip.io/",
    "http://localtest.me/",
    "http://localhost/",
    "http://LOCALHOST:80/",
    "http://localhost./",
    "http://metadata.google.internal/",
    "http://rebind.example/",
    "http://xn--localhost-/",
    "//127.0.0.1/",
    "127.0.0.1:80",
    "http//127.0.0.1",
    "http://",
    "http:///",
    "http://?",
    "",
    "http://8.8.8.8 127.0.0.1/",
    "http://127.0.0.1 /",
    " http://8.8.8.8/",
    "http://8.8.8.8/ x",
    "http://8.8.8.8/\r\nX: y",
    "http://8.8.8.8\n/",
    "http://8.8.8.8\t/",
    "http://127.0.0.1%00.example.org/",
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://localhost%2f@x/",
    "http://loc%61lhost/",
    "http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/",  // full-width digits
    "http://127\xe3\x80\x82"
    "0\xe3\x80\x82"
    "0\xe3\x80\x82"
    "1/",                                                  // ideographic full stops
    "http://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1/",  // circled digits
    "http://l\xc2\xad"
    "ocalhost/",
    "http://localho\xc5\xbft/",
    "http://127.0.0.1:0/",
    "http://8.8.8.8:0/",
    "http://8.8.8.8:/",
    "http://8.8.8.8:99999/",
    "http://8.8.8.8:8o/",
    "http://8.8.8.8:-1/",
    "http://8.8.8.8:80:80/",
    "http://8.8.8.8: 80/",
    "http://.localhost/",
    "http://localhost../",
    "http://..127.0.0.1/",
    "http://.../",
    "ftp://8.8.8.8/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_x",
    "dict://127.0.0.1:11211/",
    "ldap://8.8.8.8/",
    "smb://8.8.8.8/",
    "tftp://8.8.8.8/",
    "unix:///run/docker.sock",
    "jar:http://8.8.8.8!/",
    "data:text/plain,x",
    "javascript:alert(1)",
    "ws://8.8.8.8/",
    "httpx://8.8.8.8/",
    "http+unix://x/",
    "http*://8.8.8.8/",
    "http://*/",
    "http://a,b/",
    "http://a;b/",
    "http://a'b/",
    "http://a\"b/",
    "http://<a>/",
    "http://a{b}/",
    "http://a|b/",
    "http://a^b/",
    "http://a`b/",
    "http://$IP/",
    "http://a&b/",
    "http://a!b/",
    "http://a(b)/",
    "http://a+b/",
    "http://a~b/",
    "http://a=b/",
};

TEST(AddressPolicy, no_address_of_the_corpus_is_public) {
  for (const std::string& address : kInsideAddresses)
    EXPECT_FALSE(is_public_address(address)) << address;
}

TEST(AddressPolicy, the_corpus_is_large_and_has_no_doubles) {
  std::set<std::string> all(kInsideAddresses.begin(), kInsideAddresses.end());
  all.insert(kInsideUrls.begin(), kInsideUrls.end());
  EXPECT_EQ(all.size(),
            kInsideAddresses.size() + kInsideUrls.size() - (all.count("") > 0 ? 1U : 0U));
  EXPECT_GE(all.size(), 300U);
}

// Through the whole client, with a resolver that would lead any name that gets so far to the
// loopback.
TEST(AddressPolicy, no_url_of_the_corpus_is_called) {
  HttpClient client([](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; });
  for (const std::string& url : kInsideUrls) {
    const auto result =
        client.call({.url = url, .timeout_ms = 1'000, .addresses = AddressPolicy::public_only});
    ASSERT_FALSE(result) << url;
    EXPECT_TRUE(result.error().code == ErrorCode::permission_denied ||
                result.error().code == ErrorCode::invalid_argument)
        << url << ": " << result.error().detail;
  }
  for (const std::string& address : kInsideAddresses) {
    const bool is_v6 = address.find(':') != std::string::npos;
    const std::string url = "http://" + (is_v6 ? "[" + address + "]" : address) + "/";
    const auto result =
        client.call({.url = url, .timeout_ms = 1'000, .addresses = AddressPolicy::public_only});
    ASSERT_FALSE(result) << url;
    EXPECT_NE(result.error().code, ErrorCode::unavailable) << url;
  }
}

TEST(AddressPolicy, public_addresses_pass) {
  for (const char* address : {"1.1.1.1",
                              "8.8.8.8",
                              "9.255.255.255",
                              "11.0.0.0",
                              "100.63.255.255",
                              "100.128.0.0",
                              "126.255.255.255",
                              "128.0.0.0",
                              "169.253.255.255",
                              "169.255.0.0",
                              "172.15.255.255",
                              "172.32.0.0",
                              "191.255.255.255",
                              "192.0.1.0",
                              "192.167.1.1",
                              "192.169.0.0",
                              "198.17.255.255",
                              "198.20.0.0",
                              "203.0.112.255",
                              "203.0.114.0",
                              "223.255.255.255",
                              "2001:200::1",
                              "2001:4860:4860::8888",
                              "2003::1",
                              "2606:4700:4700::1111",
                              "2a00:1450::1",
                              "3ffe::1"}) {
    EXPECT_TRUE(is_public_address(address)) << address;
  }
}

TEST(AddressPolicy, hosts_are_taken_apart) {
  const auto name = parse_target("https://Hooks.Example.org/path?x=1");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->host, "hooks.example.org");
  EXPECT_EQ(name->port, 443);
  EXPECT_FALSE(name->is_address);
  const auto v6 = parse_target("http://[2606:4700::1111]:8080");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "2606:4700::1111");
  EXPECT_EQ(v6->port, 8080);
  EXPECT_TRUE(v6->is_address);
  EXPECT_TRUE(parse_target("http://xn--bcher-kva.example/"));
  EXPECT_TRUE(parse_target("http://a_b.internal:1/"));
  EXPECT_TRUE(parse_target("http://1and1.com/"));
}

TEST(AddressPolicy, loopback_passes_only_when_it_is_literal_in_the_url) {
  const auto policy = AddressPolicy::literal_loopback;
  for (const char* url :
       {"http://127.0.0.1/", "http://127.8.9.10:99/", "http://[::1]/", "http://localhost:80/"}) {
    const auto target = parse_target(url);
    ASSERT_TRUE(target) << url;
    EXPECT_TRUE(may_connect(policy, *target, "127.0.0.1")) << url;
    EXPECT_TRUE(may_connect(policy, *target, "::1")) << url;
    EXPECT_FALSE(may_connect(policy, *target, "10.0.0.1")) << url;
    EXPECT_FALSE(may_connect(policy, *target, "8.8.8.8")) << url;
    EXPECT_FALSE(may_connect(policy, *target, "::ffff:127.0.0.1")) << url;
    EXPECT_FALSE(may_connect(AddressPolicy::public_only, *target, "127.0.0.1")) << url;
  }
  for (const char* url :
       {"http://127.0.0.1.nip.io/", "http://localhost.example.org/", "http://localhost./",
        "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/", "http://[::]/", "http://mylocalhost/"}) {
    const auto target = parse_target(url);
    ASSERT_TRUE(target) << url;
    EXPECT_FALSE(may_connect(policy, *target, "127.0.0.1")) << url;
    EXPECT_FALSE(may_connect(policy, *target, "::1")) << url;
  }
}

TEST(AddressPolicy, one_inside_address_among_public_ones_closes_the_name) {
  const auto target = parse_target("http://rebind.example/");
  ASSERT_TRUE(target);
  EXPECT_TRUE(check_addresses(AddressPolicy::public_only, *target, {"8.8.8.8", "1.1.1.1"}));
  EXPECT_FALSE(check_addresses(AddressPolicy::public_only, *target, {"8.8.8.8", "10.0.0.1"}));
  EXPECT_FALSE(check_addresses(AddressPolicy::public_only, *target, {"10.0.0.1", "8.8.8.8"}));
  EXPECT_FALSE(check_addresses(AddressPolicy::public_only, *target, {}));
}

TEST(AddressPolicy, socket_addresses_of_other_families_are_refused) {
  sockaddr other{};
  other.sa_family = AF_UNIX;
  EXPECT_FALSE(may_connect(AddressPolicy::public_only, UrlTarget{}, other));
}

}  // namespace
}  // namespace weir::net
