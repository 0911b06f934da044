<?php
// Makes the calls in given.json with the client of openapi-generator, and prints the answers and samples that the client read.
error_reporting(E_ALL & ~E_DEPRECATED);
require "/usr/share/php/GuzzleHttp/autoload.php";
spl_autoload_register(function ($class) {
    $file = "client/lib/" . str_replace(["OpenAPI\\Client\\", "\\"], ["", "/"], $class) . ".php";
    if (is_file($file)) require $file;
});
use OpenAPI\Client\Configuration;
use OpenAPI\Client\ObjectSerializer;

function read($model, $value) { return ObjectSerializer::deserialize($value, "\\OpenAPI\\Client\\Model\\$model"); }
function plain($value) { return json_decode(json_encode(ObjectSerializer::sanitizeForSerialization($value))); }

$given = json_decode(file_get_contents("given.json"));
$configuration = Configuration::getDefaultConfiguration();
$configuration->setHost($given->url)->setApiKey("Api-Key", $given->key)->setUserAgent($given->agent);
$configuration->setBooleanFormatForQueryString(Configuration::BOOLEAN_FORMAT_STRING); // otherwise PHP writes 0 and 1
$apis = array_map(fn($file) => "OpenAPI\\Client\\Api\\" . basename($file, ".php"), glob("client/lib/Api/*.php"));
$read = ["answers" => [], "samples" => []];
foreach ($given->calls as $call) {
    $arguments = (array) $call->snake;
    if ($call->body) $arguments[$call->operation] = read($call->model, $call->body);
    foreach ($apis as $api) {
        if (!method_exists($api, $call->camel)) continue;
        $read["answers"][] = plain((new $api())->{$call->camel}(...$arguments));
    }
}
foreach ($given->samples as [$model, $value]) {
    $object = read($model, $value);
    if ($problems = $object->listInvalidProperties()) throw new Exception("$model: " . implode(", ", $problems));
    $read["samples"][] = plain($object);
}
echo json_encode($read);
