# Makes the calls in given.json with the client of openapi-generator, and prints the answers and samples that the client read.
require "json"
require "uri"
$LOAD_PATH.unshift "client/lib"
require "openapi_client"

given = JSON.parse(File.read("given.json"))
url = URI(given["url"])
configuration = OpenapiClient::Configuration.new
configuration.scheme, configuration.host, configuration.base_path = url.scheme, "#{url.host}:#{url.port}", url.path
configuration.api_key["Api-Key"] = configuration.api_key["ApiKey"] = given["key"]
client = OpenapiClient::ApiClient.new(configuration)
client.default_headers["User-Agent"] = given["agent"]
apis = OpenapiClient.constants.grep(/.Api$/).map { |name| OpenapiClient.const_get(name).new(client) }
plain = ->(value) { value.is_a?(Array) ? value.map(&plain) : value.respond_to?(:to_hash) ? value.to_hash : value }
read = ->(model, value) { OpenapiClient.const_get(model).build_from_hash(value) }

answers = given["calls"].map do |call|
  values = call["snake"].transform_keys(&:to_sym)
  values[call["operation"].to_sym] = read.(call["model"], call["body"]) if call["body"]
  method = apis.find { |api| api.respond_to?(call["operation"]) }.method(call["operation"])
  named = method.parameters.map(&:last) - [:opts]
  plain.(method.call(*named.map { |name| values[name] }, values.except(*named)))
end
samples = given["samples"].map { |model, value| plain.(read.(model, value)) }
puts JSON.generate({ answers: answers, samples: samples })
