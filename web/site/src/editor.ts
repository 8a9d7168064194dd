// The editor of the playground: CodeMirror with YAML, and what the library says about it.
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, foldGutter, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Assist, assist, layOut } from "./assist";

export interface Editor {
  text(): string;
  setText(text: string): void;
  /** Lays the text out as `fmt` does. */
  layOut(): Promise<void>;
  goTo(offset: number): void;
  destroy(): void;
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" }, { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: [tags.special(tags.string), tags.quote], color: "var(--string)" }, { tag: [tags.number], color: "var(--number)" }, { tag: [tags.bool, tags.null, tags.keyword], color: "var(--word)" },
  { tag: [tags.comment], color: "var(--muted)", fontStyle: "italic" }, { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--muted)" },
]);
const MONO = "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', monospace";
const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "var(--page)", color: "var(--text)" },
  ".cm-scroller": { fontFamily: MONO, lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" }, ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--bar)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)" }, ".cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--page)" },
  ".cm-completionInfo": { maxWidth: "360px" }, ".cm-completionInfo-left-narrow, .cm-completionInfo-right-narrow": { display: "none" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" }, ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-tooltip-hover, .cm-signature": { maxWidth: "min(560px, 90vw)" }, ".cm-signature": { padding: "3px 8px", whiteSpace: "pre-wrap", fontFamily: MONO, fontSize: "12px" },
  ".cm-hint": { color: "var(--muted)", fontSize: "11px", fontStyle: "italic" }, ".cm-unused, .cm-unused *": { color: "var(--muted)" },
  ".cm-use": { backgroundColor: "color-mix(in srgb, var(--accent) 16%, transparent)", borderRadius: "2px" }, ".cm-written": { backgroundColor: "color-mix(in srgb, var(--changed) 26%, transparent)" },
  ".tok-operator, .tok-operator *": { color: "var(--outgoing)" }, ".tok-dtype, .tok-dtype *": { color: "var(--string)" }, ".tok-word, .tok-word *": { color: "var(--word)" }, ".tok-name, .tok-name *": { color: "var(--text)" }, ".tok-declared": { fontWeight: "600" },
  ".cm-offered": { display: "flex", flexDirection: "column" }, ".cm-offered button": { border: "0", borderRadius: "0", textAlign: "left", background: "var(--panel)" }, ".cm-offered button:focus": { backgroundColor: "var(--hover)" },
  ".cm-rename": { display: "flex", flexWrap: "wrap", gap: "8px", padding: "6px 10px", alignItems: "center" }, ".cm-diagnostic": { whiteSpace: "pre-wrap" }, ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--page)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--bar)", border: "1px solid var(--line)", color: "var(--muted)" },
});

export function createEditor(parent: HTMLElement, text: string, own: Assist & { onChange(): void }): Editor {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), foldGutter(), drawSelection(), indentOnInput(), indentUnit.of("  "), bracketMatching(), closeBrackets(), assist(own),
        highlightActiveLine(), highlightSelectionMatches(), yaml(), syntaxHighlighting(colours), theme, EditorView.contentAttributes.of({ "aria-label": "YAML", spellcheck: "false", tabindex: "0" }),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
        EditorView.updateListener.of((update) => { if (update.docChanged) own.onChange(); }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText(next) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: 0 }, scrollIntoView: true }); },
    layOut: () => layOut(own, view),
    goTo(offset) {
      view.dispatch({ selection: { anchor: Math.min(offset, view.state.doc.length) }, effects: EditorView.scrollIntoView(Math.min(offset, view.state.doc.length), { y: "center" }) });
      view.focus();
    },
    destroy() { view.destroy(); },
  };
}
