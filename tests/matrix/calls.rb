# Sends the requests from standard input with Net::HTTP, on one connection for each server, and prints the statuses of the responses.
require "base64"
require "net/http"
require "stringio"

connections = Hash.new { |known, at| known[at] = Net::HTTP.start(*at) }
$stdin.each_line(chomp: true) do |line|
  method, url, named, content = line.split("\t", -1)
  uri = URI(url)
  request = Net::HTTPGenericRequest.new(method, !content.empty?, true, uri.request_uri)
  named.split("|").each { |header| request[header[/[^:]+/]] = header[/:(.*)/, 1] }
  body = Base64.decode64(content)
  if ARGV.any? && !content.empty?
    request["Transfer-Encoding"] = "chunked"
    request.body_stream = StringIO.new(body)
  elsif !content.empty?
    request.body = body
  end
  puts connections[[uri.host, uri.port]].request(request).code
end
connections.each_value(&:finish)
