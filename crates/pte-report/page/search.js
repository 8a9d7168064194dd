// Search in a method: instructions, operations of payloads, opened or not, and values.

// Hits of the list; more are counted. Entries that are searched: many calls can have the same payload.
const HITS = 100;
const ENTRIES = 200000;
function graphSearch(method, labelOf, { reveal, mark }) {
  const value = (index) => method.values[index] ?? { name: "", type: "" };
  const named = (index) => [value(index).name, value(index).type];
  const used = (node) => [...(node.args ?? []).filter((arg) => arg !== null), ...(node.writes ?? [])];
  const text = (parts) => parts.map((part) => clipped(String(part ?? ""), 200)).join("\n").toLowerCase();
  let current = -1;
  let hits = [];
  let found = new Set();

  // What is searched, made at the first search: instructions, then operations, then values.
  let made = null;
  function entries() {
    if (made) return made;
    made = method.nodes.map((node, index) => ({
      key: `n${index}`, title: method.labels[node.label] ?? "", place: `instruction ${index}`, wanted: { node: index },
      text: text([method.labels[node.label], ...used(node).flatMap(named), ...(node.trace ?? []).map(labelOf)]),
    }));
    const payloads = new Map();
    method.nodes.forEach((node, index) => {
      const payload = data.graph.payloads[method.delegates[node.delegate]?.payload];
      if (!payload || made.length + payload.nodes.length > ENTRIES) return;
      if (!payloads.has(payload)) payloads.set(payload, payload.nodes.map((operation) => text([operation.name,
        ...[...operation.reads, ...operation.writes].flatMap((read) => [payload.values[read]?.name, payload.values[read]?.type])])));
      payloads.get(payload).forEach((words, operation) => made.push({ key: `n${index}.${operation}`, text: words,
        title: payload.nodes[operation].name, place: `operation ${operation} of the payload of instruction ${index}`,
        wanted: { node: index, operation } }));
    });
    method.values.forEach(({ name, type, content }, number) => {
      if (content === "literal") return;
      made.push({ key: `v${number}`, title: name, place: `value ${number}, ${type}`, wanted: { value: number },
        text: text([name, type]) });
    });
    return made;
  }
  const input = el("input", { type: "search", placeholder: "Operator, value, type", "aria-label": "Search the graph",
    oninput: () => find(), onkeydown: (event) => {
      if (event.key === "Enter") { event.preventDefault(); go(current + (event.shiftKey ? -1 : 1)); }
    } });
  const count = el("span", { class: "quiet", "aria-live": "polite" });
  const list = el("ul", { class: "hits", "aria-label": "Hits", hidden: true });
  function find() {
    const wanted = input.value.trim().toLowerCase();
    hits = wanted === "" ? [] : entries().filter((entry) => entry.text.includes(wanted));
    found = new Set(hits.map((hit) => hit.key));
    current = -1;
    count.textContent = wanted === "" ? "" : hits.length === 0 ? "none" : counted(hits.length, "hit");
    replace(list, hits.slice(0, HITS).map((hit, number) => el("li", {}, el("button", { type: "button",
      onclick: () => go(number) }, el("bdi", {}, clipped(hit.title, 60)), " ", el("span", { class: "quiet" }, hit.place)))),
    hits.length > HITS && el("li", { class: "quiet" }, `${grouped(hits.length - HITS)} more`));
    list.hidden = hits.length === 0;
    mark();
  }
  function go(number) {
    if (hits.length === 0) return;
    current = (number + hits.length) % hits.length;
    reveal(hits[current].wanted);
    count.textContent = `${grouped(current + 1)} of ${grouped(hits.length)}`;
    [...list.children].forEach((item, index) => item.classList.toggle("current", index === current));
    list.children[current]?.scrollIntoView({ block: "nearest" });
  }
  // Whether a hit is in what is drawn.
  function finds(item) {
    if (found.size === 0) return false;
    if (item.operation !== undefined || item.kind === "instruction") return found.has(item.key);
    if (item.kind === "value") return found.has(`v${item.value}`);
    if (item.kind === "inner group") {
      for (let at = item.tree.range[0]; at < item.tree.range[1]; at++) if (found.has(`n${item.index}.${at}`)) return true;
      return false;
    }
    for (let at = item.from; at < item.to; at++) {
      if (found.has(`n${at}`)) return true;
      const operations = payloadOf(method, at)?.nodes.length ?? 0;
      if (item.kind === "delegate" && item.tree.open) continue;
      for (let operation = 0; operation < operations; operation++) if (found.has(`n${at}.${operation}`)) return true;
    }
    return false;
  }
  return { input, count, list, finds };
}
