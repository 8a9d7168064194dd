// The entry of the application: shows a document in an element. The report and the site call it with documents of their own.
import { render } from "preact";
import type { ReportDocument } from "./document";
import type { Controller } from "./graph/controller";
import { createState } from "./state";
import { App } from "./views/app";

export interface Explorer {
  /** What is painted, for tests. */
  readonly graph: () => Controller | null;
  /** Milliseconds from the start of the page to the first painted graph; null before. */
  readonly firstView: () => number | null;
  unmount(): void;
}

export interface Options {
  /** Licences of the bundled packages, for the help. */
  readonly licences?: string;
}

export function mount(element: HTMLElement, document: ReportDocument, { licences = "" }: Options = {}): Explorer {
  const state = createState(document, window);
  let controller: Controller | null = null;
  let first: number | null = null;
  const note = () => {
    if (controller?.isReady()) requestAnimationFrame(() => { first ??= performance.now(); });
    else if (first === null) requestAnimationFrame(note);
  };
  render(<App state={state} licences={licences} onReady={(made) => { controller = made; if (made) note(); }} />, element);
  return { graph: () => controller, firstView: () => first, unmount: () => { state.dispose(); render(null, element); } };
}
