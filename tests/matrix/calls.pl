# Sends the requests from standard input with HTTP::Tiny on one connection, and prints the statuses of the responses.
use strict;
use warnings;
use HTTP::Tiny;
use MIME::Base64;

my $client = HTTP::Tiny->new(keep_alive => 1);
while (my $line = <STDIN>) {
    chomp $line;
    my ($method, $url, $named, $content) = split /\t/, $line, -1;
    my %headers = map { split /:/, $_, 2 } split /\|/, $named;
    my $body = decode_base64($content);
    my $sent = 0;
    my $part = @ARGV ? sub { return $sent < length $body ? substr($body, $sent++, 1) : undef } : $body;
    my %options = (headers => \%headers, length $body ? (content => $part) : ());
    print $client->request($method, $url, \%options)->{status}, "\n";
}
