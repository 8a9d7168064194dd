// What is shown: the method, the selection, open groups, the tab and settings, as signals. The address of the page and
// these agree: a change of one changes the other.
import { type ReadonlySignal, type Signal, batch, computed, effect, signal, untracked } from "@preact/signals";
import { type Address, type Selection, formatAddress, parseAddress } from "./address";
import type { ReportDocument } from "./document";
import { type Heat, heatsOf, timesOf } from "./heat";
import { selectionOf } from "./links";
import { type Method, methodsOf, payloadOf } from "./model";
import { type PoolPlans, plansOf } from "./plan";
import { type Grouping, type Part, chainTo, chainToId, groupingsOf, isInner, isOpenable, openFirst, treeOf } from "./tree";

export const TABS = ["summary", "differences", "memory", "size", "time", "weights", "findings", "text", "bytes", "outline"] as const;
export type Tab = (typeof TABS)[number];

/** Ids of more groups would be no address. */
const IDS = 200;
/** In `open` and `closed`: all groups. */
const ALL = "all";

/** Boxes of the first view, by the size of the window. */
const FIRST = { least: 34, most: 130, area: 9000 };

/** Widths up to this have no room for a panel at the side. */
const NARROW = 700;

/** Colours by kind, or by change of two files, or by a number. */
export type Colour = Heat | "kind";

/** Sizes of the panels, which outlive a document. */
export interface Panels {
  readonly side: Signal<number>;
  readonly bottom: Signal<number>;
  readonly isSideOpen: Signal<boolean>;
}
export function createPanels({ clientWidth: width, clientHeight: height }: { clientWidth: number; clientHeight: number }): Panels {
  const isNarrow = width <= NARROW;
  return { side: signal(Math.min(340, Math.round(width * 0.4))), bottom: signal(Math.round(height * (isNarrow ? 0.55 : 0.42))), isSideOpen: signal(!isNarrow) };
}

/** What is around the explorer. */
export interface Surroundings {
  readonly page: Window;
  readonly panels: Panels;
  size(): { width: number; height: number };
  /** Parts of the address that are not the explorer's. */
  keep(): string;
}

/** The class of the page while it is printed. */
const PRINTING = "printing";

export interface State {
  readonly panels: Panels;
  size(): { width: number; height: number };
  isNarrow(): boolean;
  readonly document: ReportDocument;
  readonly methods: readonly Method[];
  readonly tabs: readonly Tab[];
  readonly methodIndex: Signal<number>;
  readonly selection: Signal<Selection | null>;
  readonly weight: Signal<string | null>;
  readonly tab: Signal<Tab | null>;
  /** What is chosen for the colours of boxes; null is the default: times if there are, otherwise kinds or changes. */
  readonly colour: Signal<Colour | null>;
  readonly heat: ReadonlySignal<Heat | null>;
  readonly grouping: Signal<Grouping | null>;
  readonly open: Signal<ReadonlySet<string>>;
  readonly query: Signal<string>;
  readonly isHelpOpen: Signal<boolean>;
  readonly isDark: Signal<boolean>;
  /** Other settings that are in the address: `pool`, `plan`, `at`, `row`, `line`, `byte`, `size`, `part`, `form`. */
  readonly settings: Signal<ReadonlyMap<string, string>>;
  /** Counts requests to show the selection in the graph. */
  readonly reveals: Signal<number>;
  readonly method: Signal<Method | null>;
  readonly tree: Signal<readonly Part[]>;
  readonly plans: Signal<readonly PoolPlans[]>;
  readonly by: Signal<Grouping>;
  select(selection: Selection | null, options?: { method?: number; reveal?: boolean; weight?: string }): void;
  toggle(id: string): void;
  openAll(): void;
  closeAll(): void;
  setting(key: string, value: string | null): void;
  dispose(): void;
}

/** Tabs that have something to show. */
function tabsOf(document: ReportDocument): Tab[] {
  const { files, memory, base, graph, profile, text, bytes, changes, comparison_error, error } = document;
  const isShown: Record<Tab, boolean> = {
    summary: true,
    differences: changes != null || comparison_error != null,
    memory: [memory, base?.memory].flatMap((of) => of?.methods ?? []).some(({ pools }) => pools.length > 0),
    size: files.some(({ size }) => (size?.children?.length ?? 0) > 0),
    time: profile != null,
    weights: (graph?.weights?.length ?? 0) > 0 || (graph?.methods ?? []).some(({ values }) => values.some(({ content }) => content === "constant")) || (graph?.payloads.length ?? 0) > 0,
    findings: files.some(({ findings }) => (findings?.length ?? 0) > 0) || error != null,
    text: text?.text != null || text?.reason != null,
    bytes: (bytes?.regions.length ?? 0) > 0,
    outline: (graph?.methods.length ?? 0) > 0,
  };
  return TABS.filter((tab) => isShown[tab]);
}

export function createState(document: ReportDocument, { page, panels, size, keep }: Surroundings): State {
  const methods = methodsOf(document);
  const tabs = tabsOf(document);
  const first = Math.max(0, methods.findIndex(({ calls }) => calls.length > 0));
  const methodIndex = signal(first);
  const selection = signal<Selection | null>(null);
  const weight = signal<string | null>(null);
  const tab = signal<Tab | null>(null);
  const colour = signal<Colour | null>(null);
  const grouping = signal<Grouping | null>(null);
  const open = signal<ReadonlySet<string>>(new Set());
  const settings = signal<ReadonlyMap<string, string>>(new Map());
  const reveals = signal(0);
  const method = computed(() => methods[methodIndex.value] ?? null);
  const hasTimes = computed(() => method.value !== null && document.changes == null && timesOf(document, method.value).size > 0);
  const heat = computed<Heat | null>(() => (colour.value === null ? (hasTimes.value ? "time" : null) : colour.value === "kind" ? null : colour.value));
  const choices = computed(() => (method.value ? groupingsOf(method.value) : { possible: [], first: "block" as Grouping }));
  const by = computed<Grouping>(() => (grouping.value && choices.value.possible.includes(grouping.value) ? grouping.value : choices.value.first));
  const most = () => Math.min(FIRST.most, Math.max(FIRST.least, Math.floor((size().width * size().height) / FIRST.area)));
  const tree = computed(() => (method.value ? treeOf(method.value, by.value, most()) : []));
  const firstOpen = computed(() => {
    const { order, calls } = method.value ?? { order: [], calls: [] };
    const isChanged = (part: Part) => !isInner(part) && order.slice(part.start, part.end).some((index) => calls[index]!.change !== null);
    return openFirst(tree.value, most(), document.changes ? isChanged : undefined);
  });
  const allGroups = computed(() => groupIds(tree.value));
  const plans = computed(() => plansOf(document, methods));
  const media = page.matchMedia("(prefers-color-scheme: dark)");
  const isDark = signal(media.matches);
  const root = page.document.documentElement;
  const onMedia = () => { isDark.value = media.matches && !root.classList.contains(PRINTING); };
  media.addEventListener("change", onMedia);
  // Before what listens in views, which read sizes and colours.
  const onPrint = ({ type }: Event) => {
    root.classList.toggle(PRINTING, type === "beforeprint");
    onMedia();
  };
  page.addEventListener("beforeprint", onPrint);
  page.addEventListener("afterprint", onPrint);

  /** The parts that contain a selection; what contains it is opened. */
  function reveal(): void {
    const [at, chosen] = [method.value, selection.value];
    if (!at || !chosen || (chosen.kind === "value" && chosen.output !== undefined)) return;
    const call = callOf(at, chosen);
    const chain = chosen.kind === "group" ? chainToId(tree.value, chosen.id)
      : chosen.kind === "operation" ? chainTo(tree.value, at, chosen.index, chosen.operation)
        : call === null ? [] : chainTo(tree.value, at, call);
    const missing = chain.slice(0, -1).filter(({ id }) => !open.value.has(id));
    if (missing.length > 0) open.value = new Set([...open.value, ...missing.map(({ id }) => id)]);
    reveals.value++;
  }

  function setting(key: string, value: string | null): void {
    if ((settings.value.get(key) ?? null) === value) return;
    const next = new Map(settings.value);
    if (value === null) next.delete(key);
    else next.set(key, value);
    settings.value = next;
  }

  let last: readonly Part[] | null = null;
  function read(address: Address): void {
    batch(() => {
      const index = methods.findIndex(({ name }) => name === address.method);
      methodIndex.value = index < 0 ? first : index;
      const shown = methods[methodIndex.value];
      const get = (key: string) => address.settings.get(key);
      grouping.value = choices.value.possible.find((name) => name === get("by")) ?? null;
      const colours = ["kind", ...(shown && get("heat") ? heatsOf(document, shown) : [])] as const;
      colour.value = colours.find((name) => name === get("heat")) ?? null;
      last = tree.value;
      tab.value = tabs.find((name) => name === address.tab) ?? null;
      const isWeight = document.graph?.weights?.some(({ name }) => name === address.weight) ?? true;
      weight.value = isWeight ? address.weight : null;
      if (weight.value !== null && address.tab === null && tabs.includes("weights")) tab.value = "weights";
      const list = (key: string) => (get(key) ?? "").split(",").filter((id) => id !== "");
      const [added, closed] = [new Set(list("open").slice(0, IDS)), new Set(list("closed"))];
      const base = added.has(ALL) ? allGroups.value : closed.has(ALL) ? [] : firstOpen.value;
      const known = [...added].filter((id) => chainToId(tree.value, id).some((part) => part.id === id && isOpenable(part)));
      open.value = new Set([...base, ...known].filter((id) => !closed.has(id)));
      selection.value = index < 0 ? null : validSelection(shown, tree.value, address.selection);
      settings.value = new Map([...address.settings].filter(([key, value]) =>
        !["by", "heat", "open", "closed"].includes(key) && (key !== "pool" || plans.value.some((pool) => pool.key === value))));
      reveal();
    });
  }
  function write(): Address {
    const all = new Map(settings.value);
    if (grouping.value) all.set("by", grouping.value);
    if (colour.value) all.set("heat", colour.value);
    // What is open, as the shortest difference from the first view, from all groups or from none.
    const none: ReadonlySet<string> = new Set();
    const [shortest] = [firstOpen.value, allGroups.value, none].map((base, at) => ({
      open: [...(at === 1 ? [ALL] : []), ...[...open.value].filter((id) => !base.has(id))],
      closed: [...(at === 2 ? [ALL] : []), ...[...base].filter((id) => !open.value.has(id))],
    })).sort((a, b) => a.open.length + a.closed.length - b.open.length - b.closed.length);
    // A longer list would be no address; the selection opens what contains it.
    all.set("open", shortest!.open.slice(0, IDS).join(","));
    all.set("closed", shortest!.closed.slice(0, IDS).join(","));
    const isPlain = selection.value === null && methodIndex.value === first;
    return { method: isPlain ? null : method.value?.name ?? null, selection: selection.value, weight: weight.value, tab: tab.value, settings: all };
  }

  read(parseAddress(page.location.hash));
  let shown = page.location.hash.replace(/^#/, "");
  let places = "";
  const isNow = () => page.location.hash.replace(/^#/, "") === shown;
  const stop = effect(() => {
    const address = write();
    const text = [untracked(keep), formatAddress(address)].filter((part) => part !== "").join("&");
    // A new selection, method or tab is an entry of the history; other changes are not.
    const place = formatAddress({ ...address, settings: new Map() });
    if (text !== shown) {
      shown = text;
      if (place !== places && places !== "") page.history.pushState(null, "", `#${text}`);
      else page.history.replaceState(null, "", `#${text}`);
    }
    places = place || " ";
  });
  const follow = () => {
    // An address of something else than the explorer is not read.
    if (isNow() || (keep() !== "" && !page.location.hash.slice(1).split("&").includes(keep()))) return;
    shown = page.location.hash.replace(/^#/, "");
    const address = parseAddress(shown);
    places = formatAddress({ ...address, settings: new Map() }) || " ";
    read(address);
  };
  page.addEventListener("popstate", follow);
  page.addEventListener("hashchange", follow);

  // Another method or grouping has other groups.
  const stopTree = effect(() => {
    if (tree.value === last) return;
    last = tree.value;
    open.value = firstOpen.value;
  });

  return {
    document, methods, tabs, methodIndex, selection, weight, tab, colour, heat, grouping, open, query: signal(""),
    isHelpOpen: signal(false), isDark, settings, reveals, method, tree, plans, by,
    panels, size, isNarrow: () => size().width <= NARROW,
    select(chosen, options = {}) {
      batch(() => {
        if (options.method !== undefined) methodIndex.value = options.method;
        selection.value = chosen;
        weight.value = options.weight ?? null;
        // The cursor of the plan is at what is selected.
        setting("at", null);
      });
      if (options.reveal !== false) batch(reveal);
    },
    toggle(id) {
      const next = new Set(open.value);
      if (!next.delete(id)) next.add(id);
      open.value = next;
    },
    openAll() {
      open.value = allGroups.value;
    },
    closeAll() { open.value = new Set(); },
    setting,
    dispose() {
      stop();
      stopTree();
      media.removeEventListener("change", onMedia);
      page.removeEventListener("beforeprint", onPrint);
      page.removeEventListener("afterprint", onPrint);
      page.removeEventListener("popstate", follow);
      page.removeEventListener("hashchange", follow);
    },
  };
}

function groupIds(tree: readonly Part[]): Set<string> {
  const ids = new Set<string>();
  const visit = (parts: readonly Part[]) => parts.forEach((part) => {
    if (part.kind !== "group" || !part.children) return;
    ids.add(part.id);
    visit(part.children);
  });
  visit(tree);
  return ids;
}
/** A selection of an address if the method has it. */
function validSelection(method: Method | undefined, tree: readonly Part[], selection: Selection | null): Selection | null {
  if (!method || !selection) return null;
  const call = selection.kind === "instruction" || selection.kind === "operation" ? method.calls[selection.index] : undefined;
  switch (selection.kind) {
    case "instruction": return call ? selection : null;
    case "operation": return call && selection.operation < (payloadOf(method, call)?.nodes.length ?? 0) ? selection : null;
    case "value": return selection.index < method.values.length ? selection : null;
    case "group": {
      const part = chainToId(tree, selection.id).at(-1);
      return part ? selectionOf(method, part) : null;
    }
  }
}
/** The call that a selection is in: of a value, the first that writes or reads it. */
export function callOf(method: Method, selection: Selection): number | null {
  switch (selection.kind) {
    case "instruction": case "operation": return selection.index;
    case "value": {
      const find = (key: "writes" | "args") => method.calls.findIndex(({ data }) => data[key]?.includes(selection.index));
      const writer = find("writes");
      const found = writer >= 0 ? writer : find("args");
      return found < 0 ? null : found;
    }
    case "group": return null;
  }
}
