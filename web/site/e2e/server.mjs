// A server of the files of a folder at localhost, for tests and for looking at the site: node site/e2e/server.mjs [PORT].
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../dist");
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".yaml": "text/plain; charset=utf-8", ".txt": "text/plain; charset=utf-8" };

export function serve(port = 0) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const file = join(folder, path.endsWith("/") ? `${path}index.html` : path);
    const found = file.startsWith(folder) && statSync(file, { throwIfNoEntry: false });
    if (!found || !found.isFile()) { response.writeHead(404).end(); return; }
    response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream", "Content-Length": found.size });
    createReadStream(file).pipe(response);
  });
  return new Promise((done) => server.listen(port, "127.0.0.1", () => done({ address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() })));
}
if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) console.log((await serve(Number(process.argv[2] ?? 8080))).address);
