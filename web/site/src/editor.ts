// The editor of the playground: CodeMirror with YAML, completion and diagnostics.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, foldGutter, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Schema, choicesAt } from "./completion";
import type { Diagnostic } from "./findings";

export interface Editor {
  text(): string;
  setText(text: string): void;
  setDiagnostics(diagnostics: readonly Diagnostic[]): void;
  goTo(offset: number): void;
  destroy(): void;
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" }, { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: [tags.special(tags.string), tags.quote], color: "var(--string)" }, { tag: [tags.number], color: "var(--number)" }, { tag: [tags.bool, tags.null, tags.keyword], color: "var(--word)" },
  { tag: [tags.comment], color: "var(--muted)", fontStyle: "italic" }, { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--muted)" },
]);
const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "var(--page)", color: "var(--text)" },
  ".cm-scroller": { fontFamily: "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" }, ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--bar)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)" }, ".cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--page)" },
  ".cm-completionInfo": { maxWidth: "320px" }, ".cm-signature": { whiteSpace: "pre-wrap", fontFamily: "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', monospace", fontSize: "12px" }, ".cm-foldPlaceholder": { backgroundColor: "var(--bar)", border: "1px solid var(--line)", color: "var(--muted)" },
});

export function createEditor(parent: HTMLElement, text: string, { onChange, schema, describe }: { onChange: () => void; schema: () => Schema | null; describe: (operator: string) => Promise<string | null> }): Editor {
  const infoOf = async (operator: string) => {
    const text = await describe(operator).catch(() => null);
    if (text === null) return null;
    const element = document.createElement("div");
    element.className = "cm-signature";
    element.textContent = text;
    return element;
  };
  const complete = autocompletion({
    override: [(context) => {
      const found = schema();
      if (!found) return null;
      const { pos, state } = context;
      const choices = choicesAt(found, state.sliceDoc(0, pos), pos);
      if (!choices || (!context.explicit && choices.from === pos && !/[{[,:-]\s$/.test(state.sliceDoc(Math.max(0, pos - 2), pos)))) return null;
      return {
        from: choices.from, validFor: /^[\w:.]*$/,
        options: choices.list.map(({ label, insert, kind, info }) => ({
          label, type: kind, ...(label.includes("::") ? { info: () => infoOf(label) } : info === "" ? {} : { info }),
          apply: (view: EditorView, _: unknown, from: number, to: number) => {
            // A key that has its colon already gets no second one.
            const isKept = /^\s*:/.test(view.state.sliceDoc(to, Math.min(view.state.doc.length, to + 3)));
            const added = isKept ? label : insert;
            view.dispatch({ changes: { from, to, insert: added }, selection: { anchor: from + added.length }, userEvent: "input.complete" });
            if (kind === "property" && added.endsWith(" ")) startCompletion(view);
          },
        })),
      };
    }],
  });
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), foldGutter(), drawSelection(), indentOnInput(), indentUnit.of("  "), bracketMatching(), closeBrackets(), complete,
        highlightActiveLine(), highlightSelectionMatches(), lintGutter(), yaml(), syntaxHighlighting(colours), theme, EditorView.contentAttributes.of({ "aria-label": "YAML", spellcheck: "false", tabindex: "0" }),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
        EditorView.updateListener.of((update) => { if (update.docChanged) onChange(); }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText(next) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: 0 }, scrollIntoView: true }); },
    setDiagnostics(list) {
      const end = view.state.doc.length;
      view.dispatch(setDiagnostics(view.state, list.map(({ level, from, to, message, help, rule }) => ({
        from: Math.min(from, end), to: Math.min(Math.max(to, from), end), severity: level === "note" ? "info" as const : level, message: help ? `${message}\n${help}` : message, ...(rule === "" ? {} : { source: rule }),
      }))));
    },
    goTo(offset) {
      view.dispatch({ selection: { anchor: Math.min(offset, view.state.doc.length) }, effects: EditorView.scrollIntoView(Math.min(offset, view.state.doc.length), { y: "center" }) });
      view.focus();
    },
    destroy() { view.destroy(); },
  };
}
