// Searches the book as its page does: search.js FOLDER QUERY PAGE exits with status 1 if the page is not among the
// first ten results.
const fs = require('fs');
const path = require('path');

const [folder, query, expected] = process.argv.slice(2);
const find = (part) => path.resolve(folder, fs.readdirSync(folder).find((name) => name.startsWith(part) && name.endsWith('.js')));
const elasticlunr = require(find('elasticlunr-'));
globalThis.window = { search: {} };
require(find('searchindex-'));
const { index, doc_urls: pages, search_options: options } = globalThis.window.search;
const results = elasticlunr.Index.load(index).search(query, options).map(({ ref }) => pages[ref]);
const rank = results.indexOf(expected) + 1;
console.log(`${query}: ${results.length} results, ${expected} is number ${rank}`);
process.exit(rank >= 1 && rank <= 10 ? 0 : 1);
