// Keys and gestures, and the licences of the bundled packages.
import { useEffect, useRef } from "preact/hooks";
import type { State } from "../state";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search; Enter goes to the next hit, Shift+Enter to the previous one"],
  ["arrows", "walk along the edges, and to the boxes beside"],
  ["Enter, double-click", "opens or closes a group or the payload of a delegate"],
  ["Escape", "clears the search, then the selection, then closes the tab"],
  ["+, −, 0", "zoom in, zoom out, show all"],
  ["drag, two fingers", "moves the graph"],
  ["wheel, pinch", "zooms"],
  ["?", "this help"],
];
export function Help({ state, licences }: { state: State; licences: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => { dialog.current?.showModal(); }, []);
  return (
    <dialog ref={dialog} class="helpbox" aria-label="Help" onClose={() => { state.isHelpOpen.value = false; }} onClick={(event) => { if (event.target === dialog.current) dialog.current?.close(); }}>
      <h2>Keys</h2>
      <dl class="facts">{KEYS.map(([key, text]) => <><dt><kbd>{key}</kbd></dt><dd>{text}</dd></>)}</dl>
      <p class="quiet">The address of the page contains what is selected, for bookmarks. A box with a second line around it is a call of a delegate. Dashed edges are jumps. Colours of edges: blue leads into what is selected, orange out of it.</p>
      {licences !== "" && <details><summary>Licences of the packages in this page</summary><pre tabIndex={0}>{licences}</pre></details>}
      <button type="button" onClick={() => dialog.current?.close()}>Close</button>
    </dialog>
  );
}
