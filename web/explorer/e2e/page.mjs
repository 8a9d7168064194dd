// Pages for tests: the explorer around a document, as `report` writes them.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const built = join(dirname(fileURLToPath(import.meta.url)), "../../../crates/pte-report/page");
const read = (name) => readFileSync(join(built, name), "utf8");

export function pageOf(document) {
  const data = JSON.stringify(document).replaceAll("<", "\\u003c");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"><title>Report</title><style>${read("explorer.css")}</style></head>
<body><script type="application/json" id="data">${data}</script><script type="text/plain" id="licences">${read("licences.txt")}</script><script>${read("explorer.js")}</script></body></html>`;
}
