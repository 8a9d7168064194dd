// The script of a report: shows the document that the page has as JSON in the element `data`. The element `licences` has
// the licences of the bundled packages as text.
import type { ReportDocument } from "./document";
import { mount } from "./mount";

declare global {
  interface Window { explorer?: ReturnType<typeof mount> }
}

const data = document.getElementById("data");
const element = document.getElementById("explorer") ?? document.body.appendChild(document.createElement("div"));
element.id = "explorer";
const report = JSON.parse(data?.textContent ?? "{}") as ReportDocument;
document.title = `${report.name} – pte-emit report`;
window.explorer = mount(element, report, { licences: document.getElementById("licences")?.textContent ?? "" });
