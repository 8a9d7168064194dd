// What is shown: the method, the selection, open groups, the tab and settings, as signals. The address of the page and
// these agree: a change of one changes the other.
import { type ReadonlySignal, type Signal, batch, computed, effect, signal, untracked } from "@preact/signals";
import { type Address, type Selection, formatAddress, parseAddress } from "./address";
import type { ReportDocument } from "./document";
import type { Heat } from "./heat";
import { HEATS, timesOf } from "./heat";
import { type Method, methodsOf, payloadOf } from "./model";
import { type PoolPlans, plansOf } from "./plan";
import { GROUPINGS, type Grouping, type Part, chainTo, chainToId, groupingsOf, isInner, openFirst, treeOf } from "./tree";

export const TABS = ["summary", "differences", "memory", "size", "time", "weights", "findings", "text", "bytes", "outline"] as const;
export type Tab = (typeof TABS)[number];

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
  /** Other settings that are in the address: `pool`, `plan`, `row`, `line`, `byte`, `size`. */
  readonly settings: Signal<ReadonlyMap<string, string>>;
  /** Counts requests to show the selection in the graph. */
  readonly reveals: Signal<number>;
  readonly method: Signal<Method | null>;
  readonly tree: Signal<readonly Part[]>;
  readonly plans: Signal<readonly PoolPlans[]>;
  readonly by: Signal<Grouping>;
  select(selection: Selection | null, options?: { method?: number; reveal?: boolean }): void;
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
  const media = page.matchMedia("(prefers-color-scheme: dark)");
  const isDark = signal(media.matches);
  const onMedia = () => { isDark.value = media.matches; };
  media.addEventListener("change", onMedia);

  /** The parts that contain a selection; what contains it is opened. */
  function reveal(): void {
    const [at, chosen] = [method.value, selection.value];
    if (!at || !chosen) return;
    const call = callOf(at, chosen);
    const chain = chosen.kind === "group" ? chainToId(tree.value, chosen.id)
      : chosen.kind === "operation" ? chainTo(tree.value, at, chosen.index, chosen.operation)
        : call === null ? [] : chainTo(tree.value, at, call);
    const missing = chain.slice(0, -1).filter(({ id }) => !open.value.has(id));
    if (missing.length > 0) open.value = new Set([...open.value, ...missing.map(({ id }) => id)]);
    reveals.value++;
  }

  let last: readonly Part[] | null = null;
  function read(address: Address): void {
    batch(() => {
      const index = methods.findIndex(({ name }) => name === address.method);
      methodIndex.value = index < 0 ? first : index;
      grouping.value = GROUPINGS.find((name) => name === address.settings.get("by")) ?? null;
      colour.value = (["kind", ...HEATS] as const).find((name) => name === address.settings.get("heat")) ?? null;
      last = tree.value;
      tab.value = tabs.find((name) => name === address.tab) ?? null;
      weight.value = address.weight;
      if (address.weight !== null && address.tab === null && tabs.includes("weights")) tab.value = "weights";
      const list = (key: string) => (address.settings.get(key) ?? "").split(",").filter((id) => id !== "");
      const closed = new Set(list("closed"));
      open.value = new Set([...firstOpen.value, ...list("open")].filter((id) => !closed.has(id)));
      selection.value = isValid(methods[methodIndex.value], address.selection) ? address.selection : null;
      settings.value = new Map([...address.settings].filter(([key]) => !["by", "heat", "open", "closed"].includes(key)));
      reveal();
    });
  }
  function write(): Address {
    const added = [...open.value].filter((id) => !firstOpen.value.has(id));
    const removed = [...firstOpen.value].filter((id) => !open.value.has(id));
    const all = new Map(settings.value);
    if (grouping.value) all.set("by", grouping.value);
    if (colour.value) all.set("heat", colour.value);
    // A long list would be no address; the selection opens what contains it.
    if (added.length > 0 && added.length <= 60) all.set("open", added.join(","));
    if (removed.length > 0 && removed.length <= 60) all.set("closed", removed.join(","));
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
    isHelpOpen: signal(false), isDark, settings, reveals, method, tree, plans: computed(() => plansOf(document, methods)), by,
    panels, size, isNarrow: () => size().width <= NARROW,
    select(chosen, options = {}) {
      batch(() => {
        if (options.method !== undefined) methodIndex.value = options.method;
        selection.value = chosen;
      });
      if (options.reveal !== false) batch(reveal);
    },
    toggle(id) {
      const next = new Set(open.value);
      if (!next.delete(id)) next.add(id);
      open.value = next;
    },
    openAll() {
      const next = new Set<string>();
      const visit = (parts: readonly Part[]) => parts.forEach((part) => {
        if (part.kind !== "group" || !part.children) return;
        next.add(part.id);
        visit(part.children);
      });
      visit(tree.value);
      open.value = next;
    },
    closeAll() { open.value = new Set(); },
    setting(key, value) {
      const next = new Map(settings.value);
      if (value === null) next.delete(key);
      else next.set(key, value);
      settings.value = next;
    },
    dispose() {
      stop();
      stopTree();
      media.removeEventListener("change", onMedia);
      page.removeEventListener("popstate", follow);
      page.removeEventListener("hashchange", follow);
    },
  };
}

function isValid(method: Method | undefined, selection: Selection | null): boolean {
  if (!method || !selection) return false;
  switch (selection.kind) {
    case "instruction": return selection.index < method.calls.length;
    case "operation": return selection.index < method.calls.length && selection.operation < (payloadOf(method, method.calls[selection.index]!)?.nodes.length ?? 0);
    case "value": return selection.index < method.values.length;
    case "group": return true;
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
