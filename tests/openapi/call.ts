import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";

type Schemas = components["schemas"];
type Bodies = {
  simulate_authorization: Schemas["SimulateAuthorization"];
  create_payment_account: Schemas["CreatePaymentAccount"];
  update_user: Schemas["UpdateUser"];
  update_ubo: Schemas["UpdateUbo"];
  update_dispute: Schemas["UpdateDispute"];
  create_user_application: Schemas["CreateUserApplication"];
};

const [url, key, file] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { "Api-Key": key } });
const given: { parameters: Record<string, Record<string, string>>; bodies: Bodies } = JSON.parse(readFileSync(file, "utf8"));
const { bodies, parameters } = given;
const answers: unknown[] = [];

function answered<Data>(result: { data?: Data; error?: { statusCode: number }; response: Response }): Data | undefined {
  if (!result.response.ok) throw new Error(JSON.stringify(result.error));
  answers.push(result.response.status);
  return result.data;
}

const contracts = answered(await client.GET("/issuing/tenants/contracts"));
const contract = contracts?.find((row) => row.chainId === 84532);
const admin = contract?.adminAddresses?.[0] ?? "";
const signed = answered(
  await client.GET("/issuing/tenants/signatures/withdrawals", {
    params: {
      query: {
        chainId: contract?.chainId, token: contract?.tokens?.[0]?.address ?? "", amount: "2500",
        adminAddress: admin, recipientAddress: admin, isAmountNative: false,
      },
    },
  }),
);
const authorized = answered(await client.POST("/simulate/transactions/authorize", { body: bodies.simulate_authorization }));
const transactionId = authorized?.transactionId ?? "";
answered(
  await client.POST("/simulate/transactions/{transactionId}/reverse", {
    params: { path: { transactionId } }, body: { newAmount: 500 },
  }),
);
answered(
  await client.POST("/simulate/transactions/{transactionId}/refund", {
    params: { path: { transactionId: parameters.simulate_refund.transactionId } }, body: { amount: 200 },
  }),
);
const account = answered(await client.POST("/payment-accounts", { body: bodies.create_payment_account }));
answered(
  await client.DELETE("/payment-accounts/{paymentAccountId}", { params: { path: { paymentAccountId: account?.id ?? "" } } }),
);
const userId = parameters.update_user.userId;
answered(await client.PATCH("/issuing/users/{userId}", { params: { path: { userId } }, body: bodies.update_user }));
answered(
  await client.PATCH("/issuing/applications/company/{companyId}/ubo/{uboId}", {
    params: { path: { companyId: parameters.update_ubo.companyId, uboId: parameters.update_ubo.uboId } },
    body: bodies.update_ubo,
  }),
);
const dispute = answered(
  await client.PATCH("/issuing/disputes/{disputeId}", {
    params: { path: { disputeId: parameters.update_dispute.disputeId } }, body: bodies.update_dispute,
  }),
);
const applied = answered(await client.POST("/issuing/applications/user", { body: bodies.create_user_application }));
answered(await client.GET("/issuing/rewards/activity", { params: { query: { userId, type: "earned" } } }));

// An enum of a request has a named type. An enum of an answer is text, because the service may add values.
const canceledStatus: Schemas["DisputeUpdateStatus"] = "canceled";
const isTyped = authorized?.status === "authorized" && dispute?.status === canceledStatus && signed?.status === "ready";

// TypeScript narrows the union of event kinds, and so the type of the body, by the event's action.
function describe(event: Schemas["Event"]): string | undefined {
  return event.resource === "user" ? event.body.applicationStatus : event.action;
}

const refused = await client.POST("/simulate/transactions/{transactionId}/refund", {
  params: { path: { transactionId } }, body: { amount: 0 },
});
console.log(JSON.stringify([answers, isTyped, applied?.firstName, refused.error?.statusCode, typeof describe]));
