<?php
// Reads and writes samples by the models of openapi-generator, and prints what they lose or call invalid.
error_reporting(E_ALL & ~E_DEPRECATED);
if (!function_exists("mb_strlen")) {
    eval('function mb_strlen($text) { return preg_match_all("/./us", $text); }');
}
spl_autoload_register(function ($class) {
    $file = "client/lib/" . str_replace(["OpenAPI\\Client\\", "\\"], ["", "/"], $class) . ".php";
    if (is_file($file)) require $file;
});
use OpenAPI\Client\ObjectSerializer;

function lost($at, $before, $after) {
    if ($before instanceof stdClass) {
        foreach ($before as $name => $value) lost("$at.$name", $value, $after->$name ?? null);
    } elseif (is_array($before)) {
        foreach ($before as $place => $value) lost("{$at}[$place]", $value, $after[$place] ?? null);
    } elseif (is_scalar($before) && substr((string) $before, 0, 19) !== substr(is_scalar($after) ? (string) $after : "", 0, 19)) {
        echo "$at: ", json_encode($before), " became ", json_encode($after), "\n";
    }
}

foreach (json_decode(file_get_contents("samples.json")) as [$model, $value]) {
    $object = ObjectSerializer::deserialize($value, "\\OpenAPI\\Client\\Model\\$model");
    foreach ($object->listInvalidProperties() as $problem) echo "$model: $problem\n";
    lost($model, $value, json_decode(json_encode(ObjectSerializer::sanitizeForSerialization($object))));
}
