// The language of filters: `status:declined amount>200 merchant:"Coats and More" coffee`.

const COMPARE = { "=": (a, b) => a === b, "!=": (a, b) => a !== b, ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b };
const TERM = /(?:([\w.]*\w)(:|>=|<=|!=|=|>|<))?(?:"([^"]*)"|(\S+))/gu;

/** Parse a filter. Each term is a word that may occur in any column, or a comparison with one column. */
function parsed(text) {
  return [...text.matchAll(TERM)].map(([, name, compare, quoted, word]) =>
    ({ column: name || null, compare: compare || ":", value: (quoted || word || "").toLowerCase() })).filter((term) => term.value);
}

/** The terms of a filter, as typed. */
const terms = (text) => text.match(TERM) || [];
const compares = (term) => parsed(term)[0]?.column;

/** The linked lists of each kind of record, with the column that holds its id. */
const LINKED = {
  companies: { users: "company_id" }, users: { cards: "user_id", transactions: "user_id", "payment accounts": "user_id" },
  cards: { transactions: "card_id" }, transactions: { disputes: "transaction_id", events: "about" }, events: { deliveries: "event_id" },
};

/** The lists with the records that are linked to a record, each with the filter that shows them. */
const links = (name, id) => Object.entries(LINKED[name] || {}).map(([list, column]) => ({ list, filter: `${column}=${id}` }));

export { COMPARE, compares, links, parsed, terms };
