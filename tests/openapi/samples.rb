# Reads and writes samples by the models of openapi-generator, and prints what they lose or call invalid.
$LOAD_PATH.unshift "client/lib"
module Typhoeus; end
$LOADED_FEATURES << "typhoeus.rb" # models need no HTTP
require "set"
require "json"
require "date"
require "time"
$stderr = File.open(File::NULL, "w")
require "openapi_client"

def lost(at, before, after)
  case before
  when Hash then before.each { |name, value| lost("#{at}.#{name}", value, after.is_a?(Hash) ? after[name] : nil) }
  when Array then before.each_with_index { |value, place| lost("#{at}[#{place}]", value, after.is_a?(Array) ? after[place] : nil) }
  else
    same = before == after || Time.parse(before.to_s).to_i == Time.parse(after.to_s).to_i rescue false # written without milliseconds
    puts "#{at}: #{before} became #{after}" unless same
  end
end

JSON.parse(File.read("samples.json")).each do |model, value|
  object = OpenapiClient.const_get(model).build_from_hash(value)
  object.list_invalid_properties.each { |problem| puts "#{model}: #{problem}" }
  lost(model, value, JSON.parse(JSON.generate(object.to_hash)))
end
