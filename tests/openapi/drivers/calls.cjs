// Makes the calls in given.json with a generated TypeScript client, and prints the answers and samples that the client read.
const { readFileSync } = require("node:fs");
const given = JSON.parse(readFileSync("given.json", "utf8"));
const headers = { "Api-Key": given.key, "User-Agent": given.agent };
const path = (call) => Object.fromEntries(call.path_names.map((name) => [name, call.parameters[name]]));

const clients = {
  "typescript-fetch"() {
    const client = require("./out/client/index.js");
    const configuration = new client.Configuration({ basePath: given.url, headers });
    const apis = Object.entries(client).filter(([name]) => /.Api$/.test(name)).map(([, Api]) => new Api(configuration));
    const read = (model, value) => client[`${model}FromJSON`](value);
    const plain = (answer) => answer;
    return {
      call: async (call) => {
        const body = call.body && { [call.body_name]: read(call.model, call.body) };
        return plain(await apis.find((api) => api[call.camel])[call.camel]({ ...call.parameters, ...body }));
      },
      sample: (model, value) => client[`${model}ToJSON`](read(model, value)),
    };
  },
  "hey-api"() {
    const client = require("./out/hey/client.gen.js").client;
    const calls = require("./out/hey/sdk.gen.js");
    client.setConfig({ baseUrl: given.url, headers, throwOnError: true });
    return {
      call: async (call) => (await calls[call.camel]({ path: path(call), query: call.query_values, body: call.body ?? undefined })).data,
      sample: (model, value) => value,
    };
  },
  orval() {
    const calls = require("./out/orval.js");
    const send = async (call) => {
      const body = call.body ? [call.body] : [];
      const query = Object.keys(call.query_values).length ? [call.query_values] : [];
      return calls[call.camel](...call.path, ...body, ...query, { headers });
    };
    return { call: async (call) => (await send(call)).data, sample: (model, value) => value };
  },
  "openapi-zod-client"() {
    const { createApiClient, schemas } = require("./out/zodios.js");
    const client = createApiClient(given.url, { axiosConfig: { headers } });
    return {
      call: (call) => {
        const options = { params: path(call), queries: call.query_values };
        return call.reads ? client[call.operation](options) : client[call.operation](call.body ?? undefined, options);
      },
      sample: (model, value) => schemas[model].parse(value),
    };
  },
};

(async () => {
  const client = clients[process.argv[2]]();
  const answers = [];
  for (const call of given.calls) answers.push((await client.call(call)) ?? null);
  console.log(JSON.stringify({ answers, samples: given.samples.map(([model, value]) => client.sample(model, value)) }));
})();
