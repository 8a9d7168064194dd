// The entry of the application: shows a document in an element. The report and the site call it with documents of their own.
import { render } from "preact";
import type { ReportDocument } from "./document";
import type { Controller } from "./graph/controller";
import { createPanels, createState } from "./state";
import { App } from "./views/app";

export interface Explorer {
  /** Shows another document, with the same selection, tab and size of the panels. */
  update(document: ReportDocument): void;
  /** What is painted, for tests. */
  readonly graph: () => Controller | null;
  /** Milliseconds from the start of the page to the first painted graph; null before. */
  readonly firstView: () => number | null;
  unmount(): void;
}

export interface Options {
  /** Licences of the bundled packages, for the help. */
  readonly licences?: string;
  /** Parts of the address that are not the explorer's, such as `file=model.pte`; it keeps them in front of its own. */
  readonly keep?: () => string;
}

export function mount(element: HTMLElement, document: ReportDocument, { licences = "", keep = () => "" }: Options = {}): Explorer {
  const panels = createPanels(element);
  const make = (next: ReportDocument) => createState(next, { page: window, keep, panels, size: () => ({ width: element.clientWidth || innerWidth, height: element.clientHeight || innerHeight }) });
  let state = make(document);
  let controller: Controller | null = null;
  let first: number | null = null;
  let count = 0;
  const note = () => {
    if (controller?.isReady()) requestAnimationFrame(() => { first ??= performance.now(); });
    else if (first === null) requestAnimationFrame(note);
  };
  // All views begin anew with another document.
  const show = () => {
    const own = ++count;
    // The views of the document before may end after those of this one began.
    render(<App key={own} state={state} licences={licences} onReady={(made) => { if (own === count) { controller = made; if (made) note(); } }} />, element);
  };
  element.classList.add("explorerbox");
  show();
  return {
    graph: () => controller, firstView: () => first,
    update(next) {
      state.dispose();
      state = make(next);
      show();
    },
    unmount() {
      state.dispose();
      render(null, element);
      element.classList.remove("explorerbox");
    },
  };
}
