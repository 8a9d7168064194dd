// Open files: the explorer, and beside it questions and edits.
import { useState } from "preact/hooks";
import { subjectOf } from "../files";
import { close, files, go, isBusy, keep, notice, report, stop, swap } from "../state";
import { Panel } from "./panel";
import { Chooser, ExplorerBox } from "./parts";

export function FilesPage() {
  const [isOpen, setOpen] = useState(false);
  const shown = report.value;
  const subject = subjectOf(files.value);
  const isYaml = subject?.input.kind === "yaml" && !subject.before;
  return (
    <div class="page">
      <nav class="sitebar" aria-label="Files">
        <a href="#" class="home" onClick={(event) => { event.preventDefault(); go(""); }}>pte-emit</a>
        <ul class="chips" aria-label="Open files">
          {files.value.map((file) => <li key={file.name}><bdi title={file.name}>{file.name}</bdi>{file === subject?.before && <span class="quiet"> older</span>}<button type="button" class="inline" aria-label={`Close ${file.name}`} onClick={() => void close(file)}>×</button></li>)}
        </ul>
        {subject?.before && <button type="button" title="The newer file becomes the older" onClick={swap}>Swap</button>}
        <Chooser label="Add files" />
        {isYaml && <button type="button" onClick={() => void edit()}>Edit</button>}
        <button type="button" aria-expanded={isOpen} aria-controls="panel" onClick={() => setOpen(!isOpen)}>Check and edit</button>
        {isBusy.value && <span role="status">Working… <button type="button" onClick={stop}>Stop</button></span>}
      </nav>
      {notice.value && <p class="notice" role="alert">{notice.value} <button type="button" class="inline" onClick={() => { notice.value = null; }}>close</button></p>}
      <div class="below">
        {isOpen && subject && <Panel subject={subject} onClose={() => setOpen(false)} />}
        {shown && <ExplorerBox document={shown} keep={keep} />}
      </div>
    </div>
  );
}
/** The YAML in the playground. */
async function edit(): Promise<void> {
  const subject = subjectOf(files.value);
  if (!subject) return;
  const { pack } = await import("../share");
  go(`yaml=${await pack(await subject.input.content.text())}`);
}
