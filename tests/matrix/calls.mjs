// Sends the requests from standard input with fetch, node:http, axios or undici, and prints the statuses of the responses.
import http from "node:http";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const library = createRequire(new URL("../openapi/package.json", import.meta.url));
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const plainly = (method, url, headers, body, chunked) =>
  new Promise((resolve, reject) => {
    const length = body && !chunked ? { "content-length": body.length } : {};
    const request = http.request(url, { method, headers: { ...headers, ...length }, agent }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode));
    });
    request.on("error", reject);
    if (body && chunked) for (const byte of body) request.write(Buffer.of(byte));
    request.end(chunked ? undefined : body);
  });
for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const [method, url, named, content] = line.split("\t");
  const headers = Object.fromEntries(named.split("|").map((one) => [one.slice(0, one.indexOf(":")), one.slice(one.indexOf(":") + 1)]));
  const body = content ? Buffer.from(content, "base64") : undefined;
  const how = process.argv[2];
  if (how === "axios") console.log((await library("axios")({ method, url, headers, data: body, validateStatus: null })).status);
  else if (how === "undici") {
    const answer = await library("undici").request(url, { method, headers, body });
    await answer.body.dump();
    console.log(answer.statusCode);
  } else if (how === "fetch") console.log((await fetch(url, { method, headers, body })).status);
  else console.log(await plainly(method, url, headers, body, how === "chunked"));
}
agent.destroy();
