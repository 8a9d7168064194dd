// What the library says about the text, in CodeMirror: messages with corrections, descriptions, completion, signatures, hints
// between the text, colours by meaning, names (their uses, definition, renaming), other changes, layout.
import { type Completion, type CompletionContext, type CompletionResult, autocompletion, closeCompletion, completionKeymap, completionStatus, snippet, startCompletion } from "@codemirror/autocomplete";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { type EditorState, type Extension, Prec, type Range, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { type Command, Decoration, type DecorationSet, EditorView, type Panel, type Tooltip, type TooltipView, ViewPlugin, type ViewUpdate, WidgetType, hoverTooltip, keymap, showPanel, showTooltip } from "@codemirror/view";
import type { CompletionItem, SemanticToken, SourceMessage, TextEdit } from "./answers";
import { type Language, afterLayout, changesOf, templateOf } from "./language";
import { describe } from "./markdown";

/** A message with its line, from 1, and the changes that correct it, as long as the text is the same. */
export interface Problem { readonly message: SourceMessage; readonly line: number; readonly fixes: readonly { readonly title: string; apply(): void }[] }
export interface Assist {
  readonly language: Language;
  /** Messages of the text as it is now. */
  onProblems(problems: readonly Problem[]): void;
  /** What the user is told of a key that cannot do what it is for. */
  onNotice(text: string): void;
  onError(error: unknown): void;
}
/** Milliseconds after the last key. */
const PAUSE = 120;

/** Extensions of the editor. */
export function assist(own: Assist): Extension {
  return [lintGutter(), marks, hints, names, signature, signatureKeys(own), refresh(own), hover(own), completion(own), definitionAtClick(own), actionTooltip, renaming, keymap.of([...keys(own), ...completionKeymap, ...lintKeymap])];
}

/** Decorations that an effect replaces, and that move with the text. */
function layer(): { readonly set: ReturnType<typeof StateEffect.define<DecorationSet>>; readonly field: StateField<DecorationSet> } {
  const set = StateEffect.define<DecorationSet>();
  const field = StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update: (value, { changes, effects }) => effects.reduce((found, effect) => (effect.is(set) ? effect.value : found), value.map(changes)),
    provide: (found) => EditorView.decorations.from(found),
  });
  return { set, field };
}
const { set: setMarks, field: marks } = layer();
const { set: setHints, field: hints } = layer();
const { set: setNames, field: names } = layer();

const classOf = ({ kind, declares }: SemanticToken): string => (typeof kind === "string" ? `tok-${kind}` : `tok-name tok-${kind.name}${declares ? " tok-declared" : ""}`);
class Hint extends WidgetType {
  readonly #label: string;
  constructor(label: string) { super(); this.#label = label; }
  override eq(other: Hint): boolean { return other.#label === this.#label; }
  toDOM(): HTMLElement {
    const element = document.createElement("span");
    element.className = "cm-hint";
    element.textContent = this.#label;
    return element;
  }
}
const sorted = (list: Range<Decoration>[]): DecorationSet => RangeSet.of(list, true);

/** Asks for what is shown without a question of the user, after each change of the text and of the cursor. */
function refresh({ language, onProblems, onError }: Assist): Extension {
  return ViewPlugin.define((view) => {
    let [timer, isGone] = [0, false];
    const shown = async () => {
      const { doc } = view.state;
      const text = doc.toString();
      const isCurrent = () => !isGone && view.state.doc === doc;
      // A newer text has been asked about if an answer is missing.
      const [messages, actions, tokens, found] = await Promise.all([language.ask("messages", text), language.ask("actions", text), language.ask("tokens", text), language.ask("hints", text)]);
      if (!isCurrent() || !messages) return;
      const lineOf = (offset: number) => doc.lineAt(Math.min(offset, doc.length)).number;
      const fix = (edits: readonly TextEdit[]) => { if (isCurrent()) view.dispatch({ changes: changesOf(edits), userEvent: "input.fix" }); };
      const problems = messages.map((message): Problem => {
        const { start, end } = message.range;
        const fixes = (actions ?? []).filter(({ corrects }) => corrects?.start === start && corrects.end === end);
        return { message, line: lineOf(start), fixes: fixes.map(({ title, edits }) => ({ title, apply: () => fix(edits) })) };
      });
      onProblems(problems);
      const diagnostics = problems.map(({ message: { range: { start, end }, level, code, message, related, unnecessary }, fixes }): Diagnostic => ({
        from: start, to: end, severity: level === "note" ? "info" : level, source: code, ...(unnecessary ? { markClass: "cm-unused" } : {}),
        message: [message, ...related.map(([{ start: at }, label]) => `line ${lineOf(at)}: ${label}`)].join("\n"),
        actions: fixes.map(({ title, apply }) => ({ name: title, apply })),
      }));
      const marked = (tokens ?? []).filter(({ range }) => range.start < range.end).map((token) => Decoration.mark({ class: classOf(token) }).range(token.range.start, token.range.end));
      const widgets = (found ?? []).map(({ at, label, kind }) => Decoration.widget({ widget: new Hint(label), side: kind === "argument" ? -1 : 1 }).range(at));
      view.dispatch(setDiagnostics(view.state, diagnostics), { effects: [setMarks.of(sorted(marked)), setHints.of(sorted(widgets))] });
    };
    const uses = async () => {
      const { doc, selection: { main } } = view.state;
      const found = main.empty ? await language.ask("references", doc.toString(), { at: main.head }) : [];
      if (isGone || !found || view.state.doc !== doc || view.state.selection.main.head !== main.head) return;
      view.dispatch({ effects: setNames.of(sorted(found.map(({ range: { start, end }, writes }) => Decoration.mark({ class: writes ? "cm-use cm-written" : "cm-use" }).range(start, end)))) });
    };
    const plan = (isChanged: boolean) => {
      clearTimeout(timer);
      isStale ||= isChanged;
      timer = window.setTimeout(() => {
        if (isStale) shown().catch(onError);
        isStale = false;
        uses().catch(onError);
      }, PAUSE);
    };
    let isStale = false;
    plan(true);
    return {
      update(update: ViewUpdate) { if (update.docChanged || update.selectionSet) plan(update.docChanged); },
      destroy() { isGone = true; clearTimeout(timer); },
    };
  });
}

const hover = ({ language }: Assist): Extension => hoverTooltip(async ({ state }, pos) => {
  const found = await language.ask("hover", state.doc.toString(), { at: pos });
  return found ? { pos: found.range.start, end: found.range.end, above: true, create: () => ({ dom: describe(found.text) }) } : null;
});

const TYPES: Readonly<Record<CompletionItem["kind"], string>> = { key: "property", word: "enum", operator: "function", name: "variable", file: "text" };
/** Characters after which a list is opened without a word. */
const OPENS = /(^|[{[,:-])\s*$/;

function completion({ language }: Assist): Extension {
  const source = async ({ state, pos, explicit }: CompletionContext): Promise<CompletionResult | null> => {
    const before = state.doc.lineAt(pos).text.slice(0, pos - state.doc.lineAt(pos).from);
    if (!explicit && !/[\w.:/]$/.test(before) && (!OPENS.test(before) || before.trim() === "")) return null;
    const items = await language.ask("completions", state.doc.toString(), { at: pos });
    if (!items || items.length === 0) return null;
    const { start, end } = items[0]!.range;
    // The list is short again after a character that no label has.
    return { from: start, validFor: /^[\w.:/]*$/, options: items.map((item, index) => optionOf(item, index, end - pos)) };
  };
  return autocompletion({ override: [source], maxRenderedOptions: 200 });
}
/** `after` is the number of characters after the cursor that the text replaces. */
function optionOf({ label, kind, detail, documentation, snippet: text, rank }: CompletionItem, index: number, after: number): Completion {
  return {
    label, type: TYPES[kind], boost: -8 * rank, sortText: String(index).padStart(5, "0"),
    // Of a key, the description is in the place of both.
    ...(detail !== "" && kind !== "key" ? { detail } : {}), ...(documentation !== "" ? { info: () => describe(documentation) } : kind === "key" && detail !== "" ? { info: detail } : {}),
    apply: (view, option, from, to) => {
      const indent = /^ */.exec(view.state.doc.lineAt(from).text)![0];
      snippet(templateOf(text, indent))(view, option, from, Math.min(to + after, view.state.doc.length));
      if (kind === "key" && text.endsWith("$0")) startCompletion(view);
    },
  };
}

interface Signature { readonly pos: number; readonly label: string; readonly active: readonly [number, number] | null }
const setSignature = StateEffect.define<Signature | null>();
const signature = StateField.define<Signature | null>({
  create: () => null,
  update: (value, { changes, effects }) => effects.reduce<Signature | null>((found, effect) => (effect.is(setSignature) ? effect.value : found), value && { ...value, pos: changes.mapPos(value.pos) }),
  provide: (field) => showTooltip.from(field, (found): Tooltip | null => found && { pos: found.pos, above: true, create: () => signatureView(found) }),
});
function signatureView({ label, active }: Signature): TooltipView {
  const dom = document.createElement("div");
  dom.className = "cm-signature";
  const [from, to] = active ?? [0, 0];
  const strong = document.createElement("strong");
  strong.textContent = label.slice(from, to);
  dom.append(label.slice(0, from), strong, label.slice(to));
  return { dom };
}
/** A signature is opened by typing an argument, or by its key; while it is open, it follows the cursor. */
function signatureKeys({ language, onError }: Assist): Extension {
  const ask = async (view: EditorView): Promise<void> => {
    const { doc, selection: { main: { head } } } = view.state;
    const found = await language.ask("signature", doc.toString(), { at: head });
    if (found === undefined || view.state.doc !== doc || view.state.selection.main.head !== head) return;
    const active = found?.active == null ? null : found.arguments[found.active];
    const next = found && active ? { pos: head, label: found.label, active: [active.start, active.end] as const } : null;
    if (next || view.state.field(signature)) view.dispatch({ effects: setSignature.of(next) });
  };
  return [
    EditorView.updateListener.of(({ view, state, docChanged, selectionSet, transactions }) => {
      const isTyped = docChanged && transactions.some((transaction) => transaction.isUserEvent("input.type") || transaction.isUserEvent("input.complete"));
      const { head } = state.selection.main;
      const isArgument = isTyped && /[[,]\s*$/.test(state.sliceDoc(Math.max(0, head - 3), head));
      if (isArgument || (state.field(signature) && (docChanged || selectionSet))) ask(view).catch(onError);
    }),
    keymap.of([
      { key: "Mod-Shift-Space", run: (view) => { ask(view).catch(onError); return true; } },
    ]),
    // A list above it is closed first, then the signature, then the fields of a snippet.
    Prec.highest(keymap.of([{ key: "Escape", run: (view) => {
      if (!view.state.field(signature) || completionStatus(view.state) !== null) return false;
      view.dispatch({ effects: setSignature.of(null) });
      return true;
    } }])),
  ];
}

/** Other ways to write the same, in a list at the cursor. */
interface Offered { readonly pos: number; readonly actions: readonly { readonly title: string; readonly changes: ReturnType<typeof changesOf> }[] }
const setOffered = StateEffect.define<Offered | null>();
const actionTooltip = StateField.define<Offered | null>({
  create: () => null,
  update: (value, { docChanged, selection, effects }) => effects.reduce<Offered | null>((found, effect) => (effect.is(setOffered) ? effect.value : found), docChanged || selection ? null : value),
  provide: (field) => showTooltip.from(field, (found): Tooltip | null => found && { pos: found.pos, create: (view) => offeredView(view, found) }),
});
function offeredView(view: EditorView, { actions }: Offered): TooltipView {
  const dom = document.createElement("div");
  dom.className = "cm-offered";
  const close = (changes: ReturnType<typeof changesOf>) => {
    view.dispatch({ changes, effects: setOffered.of(null), userEvent: "input.fix" });
    view.focus();
  };
  const buttons = actions.map(({ title, changes }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title;
    button.onclick = () => close(changes);
    return button;
  });
  dom.append(...buttons);
  dom.onkeydown = (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape") close([]);
    else if (step !== 0) buttons[(at + step + buttons.length) % buttons.length]!.focus();
    else return;
    event.preventDefault();
  };
  return { dom, mount: () => buttons[0]?.focus() };
}

/** The name that is renamed. `apply` returns what is wrong with a new one. */
interface Renamed { readonly from: number; readonly to: number; readonly apply: (name: string) => Promise<string | null> }
const setRenamed = StateEffect.define<Renamed | null>();
const renaming = StateField.define<Renamed | null>({
  create: () => null,
  update: (value, { docChanged, effects }) => effects.reduce<Renamed | null>((found, effect) => (effect.is(setRenamed) ? effect.value : found), docChanged ? null : value),
  provide: (field) => showPanel.from(field, (found) => found && ((view) => renamePanel(view, found))),
});
function renamePanel(view: EditorView, { from, to, apply }: Renamed): Panel {
  const dom = document.createElement("form");
  dom.className = "cm-rename";
  const [label, input, message] = [document.createElement("label"), document.createElement("input"), document.createElement("span")];
  const old = view.state.sliceDoc(from, to);
  input.value = old;
  message.setAttribute("role", "status");
  label.append(`New name of ${old} `, input);
  dom.append(label, message);
  const close = () => { view.dispatch({ effects: setRenamed.of(null) }); view.focus(); };
  dom.onsubmit = (event) => {
    event.preventDefault();
    if (input.value === old) close();
    else void apply(input.value).then((wrong) => { if (wrong === null) close(); else message.textContent = wrong; });
  };
  dom.onkeydown = (event) => { if (event.key === "Escape") { event.preventDefault(); close(); } };
  return { dom, top: false, mount: () => input.select() };
}

const goTo = (view: EditorView, offset: number) => {
  view.dispatch({ selection: { anchor: offset }, effects: EditorView.scrollIntoView(offset, { y: "center" }) });
  view.focus();
};
async function define({ language }: Assist, view: EditorView, at: number): Promise<boolean> {
  const { doc } = view.state;
  const found = await language.ask("definition", doc.toString(), { at });
  if (!found || view.state.doc !== doc) return false;
  goTo(view, found.start);
  return true;
}
const definitionAtClick = (own: Assist): Extension => EditorView.domEventHandlers({
  mousedown: (event, view) => {
    if (event.button !== 0 || !(event.ctrlKey || event.metaKey)) return false;
    const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
    if (at !== null) define(own, view, at).catch(own.onError);
    return at !== null;
  },
});
/** Lays the text out as `fmt` does. */
export async function layOut({ language, onNotice, onError }: Assist, view: EditorView): Promise<void> {
  const { doc, selection: { main: { head } } } = view.state;
  try {
    const edits = await language.ask("formatting", doc.toString());
    if (!edits || view.state.doc !== doc) return;
    if (edits.length === 0) { onNotice("The text is laid out already."); return; }
    const changes = view.state.changes(changesOf(edits));
    const anchor = afterLayout(doc.toString(), head, changes.apply(doc).toString());
    view.dispatch({ changes, selection: { anchor }, scrollIntoView: true, userEvent: "input.format" });
  } catch (error) {
    onError(error);
  }
}

function keys(own: Assist) {
  const { language, onNotice, onError } = own;
  const at = (state: EditorState) => state.selection.main.head;
  const asynchronous = (run: (view: EditorView) => Promise<void>): Command => (view) => { closeCompletion(view); run(view).catch(onError); return true; };
  const rename = async (view: EditorView, from: number, name: string): Promise<string | null> => {
    const { doc } = view.state;
    try {
      const edits = await language.ask("rename", doc.toString(), { at: from, name });
      if (!edits || view.state.doc !== doc) return "The text has changed: try again.";
      view.dispatch({ changes: changesOf(edits), userEvent: "input.rename" });
      return null;
    } catch (error) {
      return (error instanceof Error ? error.message : String(error)).replace(/^error: /, "");
    }
  };
  return [
    { key: "F12", run: asynchronous(async (view) => { if (!(await define(own, view, at(view.state)))) onNotice("No name with a definition is at the cursor."); }) },
    { key: "F2", run: asynchronous(async (view) => {
      const { doc } = view.state;
      const found = await language.ask("renameable", doc.toString(), { at: at(view.state) });
      if (view.state.doc !== doc || found === undefined) return;
      if (found) view.dispatch({ effects: setRenamed.of({ from: found.start, to: found.end, apply: (name) => rename(view, found.start, name) }) });
      else onNotice("No name that can be changed is at the cursor.");
    }) },
    { key: "Mod-.", run: asynchronous(async (view) => {
      const { doc, selection: { main: { from, to } } } = view.state;
      const found = await language.ask("actions", doc.toString(), { start: from, end: to });
      if (!found || view.state.doc !== doc) return;
      if (found.length === 0) onNotice("No changes are known here.");
      else view.dispatch({ effects: setOffered.of({ pos: from, actions: found.map(({ title, edits }) => ({ title, changes: changesOf(edits) })) }) });
    }) },
    { key: "Shift-Alt-f", run: asynchronous((view) => layOut(own, view)) },
  ];
}
