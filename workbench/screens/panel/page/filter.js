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

export { COMPARE, compares, parsed, terms };
