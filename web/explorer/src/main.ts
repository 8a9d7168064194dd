// The script of a report: shows the document that the page has as JSON in the element `data`.
import type { ReportDocument } from "./document";
import { mount } from "./mount";

declare global {
  interface Window { explorer?: ReturnType<typeof mount> }
}

const data = document.getElementById("data");
const element = document.getElementById("explorer") ?? document.body.appendChild(document.createElement("div"));
window.explorer = mount(element, JSON.parse(data?.textContent ?? "{}") as ReportDocument);
