<?php
// Sends the requests from standard input with PHP's HTTP stream wrapper, and prints the statuses of the responses.
while (($line = fgets(STDIN)) !== false) {
    [$method, $url, $named, $content] = explode("\t", rtrim($line, "\n"));
    $headers = array_map(fn ($header) => preg_replace("/:/", ": ", $header, 1), explode("|", $named));
    $options = ["method" => $method, "header" => $headers, "ignore_errors" => true, "protocol_version" => 1.1];
    if ($content !== "") {
        $options["content"] = base64_decode($content);
    }
    file_get_contents($url, false, stream_context_create(["http" => $options]));
    echo explode(" ", $http_response_header[0])[1], "\n";
}
