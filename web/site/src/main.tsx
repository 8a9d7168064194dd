// The entry of the site.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { FilesPage } from "./pages/files";
import { StartPage } from "./pages/start";
import { add, follow, view } from "./state";

function App() {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    // `relatedTarget` is null when the pointer leaves the window.
    const isOfFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => { if (isOfFiles(event)) { event.preventDefault(); setOver(true); } };
    const leave = (event: DragEvent) => { if (event.relatedTarget === null) setOver(false); };
    const drop = (event: DragEvent) => {
      if (!isOfFiles(event)) return;
      event.preventDefault();
      setOver(false);
      void add([...event.dataTransfer!.files].map((content) => ({ name: content.name, content })));
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
  }, []);
  return <>
    {view.value === "start" ? <StartPage /> : view.value === "files" ? <FilesPage /> : <Playground />}
    {isOver && <div class="dropping" role="status">Drop files to open them</div>}
  </>;
}
/** The playground is loaded when it is shown. */
function Playground() {
  const [Page, setPage] = useState<(() => preact.JSX.Element) | null>(null);
  const [error, setError] = useState("");
  useEffect(() => { import("./pages/playground").then(({ PlaygroundPage }) => setPage(() => PlaygroundPage), (reason: unknown) => setError(String(reason))); }, []);
  return Page ? <Page /> : <p class="message" role="status">{error || "Loading the editor…"}</p>;
}

follow();
render(<App />, document.getElementById("site")!);
