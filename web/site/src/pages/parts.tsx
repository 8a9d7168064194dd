// Elements that several pages use.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ReportDocument } from "../../../explorer/src/document";
import { type Explorer, mount } from "../../../explorer/src/mount";
import { bytes } from "../../../explorer/src/names";
import type { Entry, OutputFile } from "../library";
import { add } from "../state";

declare global {
  interface Window { explorer?: Explorer }
}

/** The explorer of a document. */
export function ExplorerBox({ document, keep }: { document: ReportDocument; keep: () => string }) {
  const element = useRef<HTMLDivElement>(null);
  const explorer = useRef<Explorer | null>(null);
  useEffect(() => {
    if (explorer.current) explorer.current.update(document);
    else window.explorer = explorer.current = mount(element.current!, document, { keep });
  }, [document]);
  useEffect(() => () => explorer.current?.unmount(), []);
  return <div ref={element} class="explorerplace" />;
}

export function Chooser({ label, isMain }: { label: string; isMain?: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  return <>
    <button type="button" class={isMain ? "main" : ""} onClick={() => input.current?.click()}>{label}</button>
    <input ref={input} type="file" multiple hidden aria-label="Files" onChange={(event) => {
      const chosen = [...(event.currentTarget.files ?? [])].map((content) => ({ name: content.name, content }));
      // The same file can be chosen again.
      event.currentTarget.value = "";
      if (chosen.length > 0) void add(chosen);
    }} />
  </>;
}

/** A file of an answer, to be saved. */
export function Download({ file }: { file: OutputFile }) {
  const [address, setAddress] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([file.bytes], { type: "application/octet-stream" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return <a class="download" href={address} download={file.name}><bdi>{file.name}</bdi> <span class="quiet">{bytes(file.bytes.length)}</span></a>;
}

export function EntryView({ entry }: { entry: Entry }) {
  const { level, message, rule, title, help, source, runtime } = entry;
  return <>
    <span class={`level ${level}`}>{level}</span> {rule && <code>{rule}</code>} {source && <span class="quiet">line {source.line}: </span>}<bdi>{message}</bdi>
    {(help || title) && <div class="quiet"><bdi>{help ?? title}</bdi></div>}
    {runtime && <div class="quiet">runtime: {runtime}</div>}
  </>;
}
