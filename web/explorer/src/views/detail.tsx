// The panel at the side: all that is known of what is selected, with links to the other views.
import type { ComponentChildren } from "preact";
import type { Selection } from "../address";
import { duration, bytes, compactType, counted, decimal, frequent, grouped, percent } from "../names";
import { lineOf, marksOf } from "../links";
import { type Call, type Method, argumentsOf, differenceText, differencesOf, payloadOf, roleOf } from "../model";
import { operationTimes, timesOf } from "../heat";
import { eventText, isPlanned, ownValues } from "../plan";
import type { State, Tab } from "../state";
import { chainToId, isInner, namesOf, summaryOf } from "../tree";
import { KINDS } from "../kinds";
import { Facts, Link, StatisticsView, Swatch } from "./parts";

export function Detail({ state }: { state: State }) {
  const [method, selection] = [state.method.value, state.selection.value];
  if (!method) return <Unreadable state={state} />;
  if (!selection) return <Overview state={state} method={method} />;
  switch (selection.kind) {
    case "instruction": return <Instruction state={state} method={method} call={method.calls[selection.index]!} />;
    case "operation": return <Operation state={state} method={method} index={selection.index} operation={selection.operation} />;
    case "value": return <ValueDetail state={state} method={method} index={selection.index} />;
    case "group": return <Group state={state} method={method} id={selection.id} />;
  }
}

function Unreadable({ state: { document } }: { state: State }) {
  return <section><h2>{document.files[0]?.name ?? document.name}</h2><p>{document.error ? `The program cannot be read: ${document.error}` : "The file has no program."}</p>{document.files.map(({ diagnosis }) => diagnosis && <p>{diagnosis.found}: {diagnosis.help}</p>)}<p class="quiet">The tabs have what can be read.</p></section>;
}

function Overview({ state, method }: { state: State; method: Method }) {
  const { data } = method;
  const { profile, memory } = state.document;
  const planned = memory?.methods[method.index]?.planned;
  const time = profile?.methods.find(({ index }) => index === method.index)?.executions;
  const { contents } = state.document.files[0] ?? {};
  const releases = contents?.releases ?? [];
  const calls = method.calls.filter(({ change }) => change !== "removed");
  const { base } = state.document;
  const old = base?.graph?.methods[base.methods[method.index]?.method ?? -1];
  return (
    <section>
      <h2><bdi>{method.name}</bdi></h2>
      {method.isRemoved && <p class="change removed">removed: only in the older file</p>}
      <Facts rows={[
        contents?.format !== undefined && ["file", <button type="button" class="inline" onClick={() => { state.tab.value = "summary"; }}>{contents.format}, {bytes(contents.bytes ?? 0)}</button>],
        releases.length > 0 && ["releases", releases.length > 1 ? `${releases[0]} to ${releases[releases.length - 1]}` : releases[0]],
        ["calls", `${old ? `${grouped(old.nodes.length)} → ` : ""}${grouped(data.nodes.length)}: ${frequent(calls.map(({ name }) => name), 5)}`],
        ["values", grouped(data.values.length)],
        data.delegates.length > 0 && ["delegates", frequent(data.delegates.map(({ backend }) => backend))],
        planned !== undefined && ["planned memory", <button type="button" class="inline" onClick={() => { state.tab.value = "memory"; }}>{bytes(planned)}</button>],
        time && ["time", `${duration(time.mean)}, mean of ${counted(time.count, "execution")}`],
      ]} />
      <h3>Inputs</h3>
      <Values state={state} method={method} values={data.inputs} most={40} />
      <h3>Outputs</h3>
      <Values state={state} method={method} values={data.outputs.map(([value]) => value)} most={40} />
      <Marks state={state} findings={data.findings ?? []} differences={data.differences ?? []} />
      <p class="quiet">Select a box for its arguments, memory, time, YAML line and findings. Press ? for keys.</p>
    </section>
  );
}

function List<Item>({ items, most, children }: { items: readonly Item[]; most: number; children: (item: Item) => ComponentChildren }) {
  const rest = items.length - most;
  return <ul class="plain">{items.slice(0, most).map((item) => <li>{children(item)}</li>)}{rest > 0 && <li class="quiet">and {grouped(rest)} more</li>}</ul>;
}
function Values({ state, method, values, most }: { state: State; method: Method; values: readonly number[]; most: number }) {
  return <List items={values} most={most}>{(value) => <ValueLink state={state} method={method} value={value} />}</List>;
}
function ValueLink({ state, method, value }: { state: State; method: Method; value: number }) {
  const data = method.values[value];
  return <><Link state={state} method={method.index} selection={{ kind: "value", index: value }}><bdi>{data?.name || `values[${value}]`}</bdi></Link> <span class="quiet">{compactType(data?.type ?? "")}</span></>;
}

/** Buttons that lead to the other views of a selection. */
function Elsewhere({ state, method, selection }: { state: State; method: Method; selection: Selection }) {
  const line = lineOf(state.document, method, selection);
  const go = (tab: Tab) => () => { state.tab.value = tab; };
  const values = selection.kind === "value" ? [selection.index] : selection.kind === "instruction" ? method.calls[selection.index]?.data.writes ?? [] : [];
  const pool = state.plans.value.find(({ method: of, plans }) =>
    of === method.index && plans.some((plan) => isPlanned(plan, ownValues(plan, method, values))));
  const openMemory = () => {
    state.setting("pool", pool!.key);
    state.setting("at", null);
    state.tab.value = "memory";
  };
  const links: ComponentChildren[] = [
    pool && <button type="button" onClick={openMemory}>Memory</button>,
    line !== null && <button type="button" onClick={go("text")}>YAML line {line}</button>,
    selection.kind !== "group" && state.tabs.includes("bytes") && <button type="button" onClick={go("bytes")}>Bytes</button>,
    selection.kind === "instruction" && state.tabs.includes("time") && timesOf(state.document, method).has(selection.index) && <button type="button" onClick={go("time")}>Time</button>,
  ].filter(Boolean);
  return links.length > 0 ? <div class="bar links">{links}</div> : null;
}

function Instruction({ state, method, call }: { state: State; method: Method; call: Call }) {
  const { data } = call;
  const selection: Selection = { kind: "instruction", index: call.index };
  const delegate = data.delegate === undefined ? undefined : method.data.delegates[data.delegate];
  const payload = payloadOf(method, call);
  const time = timesOf(state.document, method).get(call.index);
  const { profile } = state.document;
  const share = profile?.methods.find(({ index }) => index === method.index)?.instructions.find(({ index }) => index === call.index)?.share;
  const { macs, planned = 0, constant = 0, written = 0 } = data.work ?? {};
  const library = call.callee?.library;
  const args = argumentsOf(method, call);
  return (
    <section>
      <h2><Swatch kind={call.kind} isDark={state.isDark.value} /> <bdi>{call.name}</bdi></h2>
      {call.change && <p class={`change ${call.change}`}>{call.change}{call.change === "removed" ? ": only in the older file" : call.change === "added" ? ": not in the older file" : ""}</p>}
      <Elsewhere state={state} method={method} selection={selection} />
      <Facts rows={[
        [delegate ? "backend" : "operator", <bdi class="mono">{call.label}</bdi>], ["kind", KINDS.get(call.kind)?.title ?? call.kind],
        library !== undefined && ["library", library],
        call.change !== "removed" && ["instruction", grouped(call.index)],
        delegate?.name !== undefined && ["delegate", <bdi>{delegate.name}</bdi>], delegate && ["payload", bytes(delegate.bytes)],
        delegate?.compiled_for && ["compiled for", <bdi>{delegate.compiled_for.join(", ")}</bdi>],
        payload && ["operations", `${grouped(payload.nodes.length)}: ${frequent(payload.nodes.map(({ name }) => name))}`],
        time !== undefined && ["time", `${duration(time)} (${percent(share ?? 0, 1)})`],
        macs != null && macs > 0 && ["MACs", decimal(macs)],
        planned + constant > 0 && ["reads", [[planned, "planned"], [constant, "constant"]].filter(([size]) => size !== 0).map(([size, what]) => `${bytes(Number(size))} ${what}`).join(", ")], written > 0 && ["writes", bytes(written)] as const,
        data.jump !== undefined && [data.always ? "jumps to" : "if false, to", data.jump < method.data.nodes.length ? <Link state={state} method={method.index} selection={{ kind: "instruction", index: data.jump }}>instruction {data.jump}</Link> : "the end"],
      ]} />
      {payload && <button type="button" onClick={() => state.toggle(String(call.index))}>{state.open.value.has(String(call.index)) ? "Close the payload" : "Open the payload"}</button>}
      {delegate?.compile_specs && <><h3>Compile specs</h3><CompileSpecs specs={delegate.compile_specs} /></>}
      <h3>Arguments</h3>
      <table class="arguments"><tbody>{args.map((argument) => <ArgumentRow state={state} method={method} argument={argument} />)}</tbody></table>
      {data.more_reads ? <p class="quiet">{counted(data.more_reads, "value")} read and not listed</p> : null}
      {data.more_writes ? <p class="quiet">{counted(data.more_writes, "value")} written and not listed</p> : null}
      <Trace method={method} call={call} />
      <Marks state={state} findings={marksOf(method, selection, "findings")} differences={marksOf(method, selection, "differences")} />
    </section>
  );
}

/** Options of a delegate; those that are a map have a row for each, below the name of the map. */
function CompileSpecs({ specs }: { specs: Record<string, unknown> }) {
  const isMap = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
  const items = (map: Record<string, unknown>): ComponentChildren => (
    <ul class="options">
      {Object.entries(map).map(([name, value]) => <li><bdi class="quiet">{name}</bdi> {isMap(value) ? items(value) : <bdi class="mono">{Array.isArray(value) ? value.map(String).join(", ") : String(value)}</bdi>}</li>)}
    </ul>
  );
  return <>{items(specs)}</>;
}

function ArgumentRow({ state, method, argument: { name, type, role, value, text } }: { state: State; method: Method; argument: ReturnType<typeof argumentsOf>[number] }) {
  const data = value === null ? undefined : method.values[value];
  const isTensor = data !== undefined && data.text === undefined;
  return (
    <tr class={role}>
      <th scope="row"><bdi>{name}</bdi>{role !== "in" && role !== name && <span class="quiet"> {role === "out" ? "out" : "in place"}</span>}</th>
      <td>
        {isTensor && value !== null ? <Link state={state} method={method.index} selection={{ kind: "value", index: value }}><bdi>{text}</bdi></Link> : <bdi class="mono">{text}</bdi>}
        <div class="quiet">{isTensor ? [data.type, data.content, data.bytes === undefined ? "" : bytes(data.bytes)].filter((part) => part).join(", ") : type}</div>
        {data?.content === "constant" && data.statistics && <details><summary>data</summary><StatisticsView statistics={data.statistics} hasData={state.document.data_statistics ?? false} /></details>}
      </td>
    </tr>
  );
}

function Trace({ method, call }: { method: Method; call: Call }) {
  const { trace = [] } = call.data;
  if (trace.length === 0) return null;
  return <><h3>Stack trace</h3><ol class="trace">{trace.map((frame) => {
    const { file, line, name, context } = method.data.frames[frame] ?? {};
    return <li><bdi>{file ?? ""}:{line ?? ""} {name ?? ""}</bdi>{context && <code>{context}</code>}</li>;
  })}</ol></>;
}

function Operation({ state, method, index, operation }: { state: State; method: Method; index: number; operation: number }) {
  const payload = payloadOf(method, method.calls[index]!)!;
  const node = payload.nodes[operation]!;
  const kind = node.kind ?? "other";
  const time = operationTimes(state.document, method).get(`${index}.${operation}`);
  const row = (number: number, role: string) => {
    const value = payload.values[number];
    return (
      <tr class={role === "out" ? "out" : "in"}>
        <th scope="row"><bdi>{role}</bdi></th>
        <td><bdi>{value?.name ?? `value ${number}`}</bdi><div class="quiet">{value?.type ?? ""}{value?.bytes === undefined ? "" : `, constant, ${bytes(value.bytes)}`}</div>
          {(value?.quantization ?? []).map(([name, text]) => <div class="quiet">{name} {text}</div>)}
          {value?.statistics && <details><summary>data</summary><StatisticsView statistics={value.statistics} hasData={state.document.data_statistics ?? false} /></details>}</td>
      </tr>
    );
  };
  return (
    <section>
      <h2><Swatch kind={kind} isDark={state.isDark.value} /> <bdi>{node.name}</bdi></h2>
      <Elsewhere state={state} method={method} selection={{ kind: "operation", index, operation }} />
      <Facts rows={[
        ["operation", `${operation} of the payload`], ["in", <Link state={state} method={method.index} selection={{ kind: "instruction", index }}>{method.calls[index]!.name}, instruction {index}</Link>],
        ["kind", KINDS.get(kind)?.title ?? kind], time !== undefined && ["time", duration(time)],
        node.work?.macs != null && node.work.macs > 0 && ["MACs", decimal(node.work.macs)],
        ...(node.attributes ?? []).map(([name, text]) => [name, <span class="mono">{text}</span>] as const),
      ]} />
      <h3>Arguments</h3>
      <table class="arguments"><tbody>{node.reads.map((number, at) => row(number, roleOf(node, at)))}{node.writes.map((number) => row(number, "out"))}</tbody></table>
    </section>
  );
}

function ValueDetail({ state, method, index }: { state: State; method: Method; index: number }) {
  const value = method.values[index]!;
  const users = method.calls.filter(({ data }) => data.args?.includes(index));
  const writers = users.filter(({ data }) => data.writes?.includes(index));
  const planned = state.document.memory?.methods[method.index]?.pools.flatMap((pool) => pool.tensors.filter((tensor) => tensor.value === (value.base ?? index)).map((tensor) => ({ pool, tensor }))) ?? [];
  const selection: Selection = { kind: "value", index };
  const instructions = state.document.memory?.methods[method.index]?.instructions ?? [];
  const calls = (list: readonly Call[]) => <List items={list} most={50}>{(call) => <>
    <Link state={state} method={method.index} selection={{ kind: "instruction", index: call.index }}>{call.name}</Link> <span class="quiet">instruction {call.index}</span>
  </>}</List>;
  return (
    <section>
      <h2><bdi>{value.name || `values[${index}]`}</bdi></h2>
      <Elsewhere state={state} method={method} selection={selection} />
      <Facts rows={[
        ["type", value.type], value.text !== undefined && ["content", <bdi class="mono">{value.text}</bdi>], value.content !== undefined && value.content !== "literal" && ["origin", value.content],
        value.bytes !== undefined && ["size", bytes(value.bytes)],
        value.base !== undefined && ["view of", <Link state={state} method={method.index} selection={{ kind: "value", index: value.base }}><bdi>{method.values[value.base]?.name ?? ""}</bdi></Link>],
        ...planned.flatMap(({ pool, tensor }) => [["memory", `pool ${pool.pool}, ${grouped(tensor.offset)} to ${grouped(tensor.offset + tensor.bytes)}`] as const,
          ...(tensor.alive ? [["alive from", eventText(instructions, tensor.alive[0])] as const, ["alive until", eventText(instructions, tensor.alive[1])] as const] : [])]),
      ]} />
      {value.content === "constant" && <StatisticsView statistics={value.statistics} hasData={state.document.data_statistics ?? false} />}
      {writers.length > 0 && <><h3>Written by</h3>{calls(writers)}</>}
      {users.length > writers.length && <><h3>Read by</h3>{calls(users.filter((call) => !writers.includes(call)))}</>}
      <Marks state={state} findings={value.findings ?? []} differences={value.differences ?? []} />
    </section>
  );
}

function Group({ state, method, id }: { state: State; method: Method; id: string }) {
  const chain = chainToId(state.tree.value, id);
  const part = chain[chain.length - 1];
  if (!part) return <section><h2>{id}</h2></section>;
  if (part.kind === "input" || part.kind === "output") {
    const values = part.kind === "input" ? method.data.inputs : method.data.outputs.map(([value]) => value);
    return <section><h2>{part.title}</h2><Values state={state} method={method} values={values} most={300} /></section>;
  }
  const names = isInner(part) ? [] : namesOf(method, part);
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return (
    <section>
      <h2><bdi>{part.title}</bdi></h2>
      <p>{summaryOf(method, part)}</p>
      <button type="button" onClick={() => state.toggle(id)}>{state.open.value.has(id) ? "Close the group" : "Open the group"}</button>
      {chain.length > 1 && <><h3>In</h3><ul class="plain">{chain.slice(0, -1).map(({ id: outer, title }) => <li><Link state={state} method={method.index} selection={{ kind: "group", id: outer }}><bdi>{title}</bdi></Link></li>)}</ul></>}
      {counts.size > 0 && <><h3>Operators</h3><Facts rows={[...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => [name, grouped(count)] as const)} /></>}
    </section>
  );
}

export function Marks({ state, findings, differences }: { state: State; findings: readonly number[]; differences: readonly number[] }) {
  const all = state.document.files.flatMap((file) => file.findings ?? []);
  const changes = differencesOf(state.document);
  return <>
    {findings.length > 0 && <><h3>Findings</h3><ul class="plain">{findings.map((index) => {
      const finding = all[index];
      return finding && <li class={`finding ${finding.severity}`}><button type="button" class="inline" onClick={() => { state.setting("row", String(index)); state.tab.value = "findings"; }}>{finding.rule}</button> <bdi>{finding.found}</bdi>, expected <bdi>{finding.expected}</bdi>. {finding.why ?? ""}</li>;
    })}</ul></>}
    {differences.length > 0 && <><h3>Differences</h3><ul class="plain">{differences.map((index) => {
      const found = changes[index];
      return found && <li class={`difference ${found.area === "layout" ? "layout" : found.kind}`}><bdi>{found.path}</bdi><div>{differenceText(found)}</div></li>;
    })}</ul></>}
  </>;
}
