// The start: what this is, files, examples.
import { useEffect, useState } from "preact/hooks";
import { type Example, exampleText, examples } from "../examples";
import { pack } from "../share";
import { add, client, go, isBusy, keep, missing, notice, shownFiles, stop } from "../state";
import { Chooser } from "./parts";

export function StartPage() {
  const [list, setList] = useState<readonly Example[]>([]);
  const [error, setError] = useState("");
  const failed = (reason: unknown) => setError(reason instanceof Error ? reason.message : String(reason));
  useEffect(() => {
    document.title = "pte-emit";
    examples().then(setList, failed);
    // Loads the library while the page is read.
    if (!client.isBusy) client.call({ command: "version" }).catch(failed);
  }, []);
  const edit = (name: string) => exampleText(name).then(pack).then((packed) => go(`yaml=${packed}`), failed);
  const open = (name: string) => exampleText(name).then((text) => add([{ name, content: new Blob([text]) }]), failed);
  const [filter, setFilter] = useState("");
  const shown = list.filter(({ name, title }) => `${name} ${title}`.toLowerCase().includes(filter.toLowerCase()));
  return (
    <main class="start">
      <h1>pte-emit</h1>
      <p>Look into ExecuTorch programs, check and edit them, and write them in YAML, in the browser.</p>
      <section class="drop" aria-label="Open files">
        <p>{missing.value ? <>Choose <bdi class="mono">{missing.value}</bdi> again: a page cannot keep files.</> : "Drop files here: .pte, .ptd, .bpte, ETDump or YAML. Two programs are compared."}</p>
        <p><Chooser label="Choose files" isMain /> <button type="button" onClick={() => go("yaml=")}>Write YAML</button>{shownFiles.value.length > 0 && <> <button type="button" onClick={() => go(keep())}>Back to {shownFiles.value[shownFiles.value.length - 1]!.name}</button></>}</p>
        <p class="quiet">Files stay in the browser: nothing is uploaded, and the page can connect to nothing but its own files.</p>
        {isBusy.value && <p role="status">Reading… <button type="button" onClick={stop}>Stop</button></p>}
        {notice.value && <p class="error" role="alert">{notice.value}</p>}
        {error && <p class="error" role="alert">{error}</p>}
      </section>
      <section aria-labelledby="examples">
        <h2 id="examples">Examples</h2>
        {list.length > 12 && <input type="search" aria-label="Filter the examples" placeholder="Filter" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />}
        <ul class="examples">
          {shown.map(({ name, title }) => (
            <li key={name}><a href={`#example=${name}`} onClick={(event) => { event.preventDefault(); void edit(name); }}>{name.replace(/\.yaml$/, "")}</a> <span class="quiet">{title}</span> <button type="button" class="inline" aria-label={`look at it: ${name}`} onClick={() => void open(name)}>look at it</button></li>
          ))}
        </ul>
      </section>
      <p class="quiet"><a href="licences.txt">Licences</a> of the packages in this page</p>
    </main>
  );
}
