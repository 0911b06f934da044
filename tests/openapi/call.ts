import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

const [url, key, card] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { "Api-Key": key } });

const contracts = await client.GET("/issuing/tenants/contracts");
if (contracts.data === undefined) throw new Error(JSON.stringify(contracts.error));

const authorized = await client.POST("/simulate/transactions/authorize", {
  body: { cardId: card, amount: 1250, currency: "USD", merchantName: "Corner Grocery", merchantCategoryCode: "5411" },
});
if (authorized.data === undefined) throw new Error(authorized.error.message);

const refused = await client.POST("/simulate/transactions/{transactionId}/refund", {
  params: { path: { transactionId: authorized.data.transactionId ?? "" } },
  body: { amount: 100 },
});
console.log(JSON.stringify([contracts.data.length, authorized.data.status, refused.error?.statusCode]));
