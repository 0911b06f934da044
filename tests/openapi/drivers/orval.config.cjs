// Generate functions that call fetch with the base URL in given.json.
const { join } = require("node:path");
const { readFileSync } = require("node:fs");

const { url } = JSON.parse(readFileSync("given.json", "utf8"));
const here = (name) => join(process.cwd(), name);
module.exports = { api: { input: here("openapi.json"), output: { target: here("orval.ts"), client: "fetch", baseUrl: url } } };
