// Constants: sizes, statistics and histograms. The name of a weight is an address, `#weight=conv.weight`.
import { useMemo } from "preact/hooks";
import type { Statistics } from "../document";
import { bytes, compactType, counted } from "../names";
import type { State } from "../state";
import { type Target, isSameTarget } from "../links";
import { payloadOf } from "../model";
import { Histogram, StatisticsView } from "./parts";
import { Table } from "./table";

interface Weight { name: string; type: string; bytes: number; users: number; target: Target | null; statistics: Statistics | null | undefined }

/** Each stored constant once, the largest first. */
function weightsOf(state: State): Weight[] {
  const { graph } = state.document;
  if (!graph) return [];
  const ofPayload = (payload: number, value: number): Target | null => {
    for (const method of state.methods) {
      const call = method.calls.find(({ data }) => data.delegate !== undefined && method.data.delegates[data.delegate]?.payload === payload);
      if (!call) continue;
      const operation = payloadOf(method, call)?.nodes.findIndex(({ reads }) => reads.includes(value)) ?? -1;
      return { method: method.index, selection: operation < 0 ? { kind: "instruction", index: call.index } : { kind: "operation", index: call.index, operation } };
    }
    return null;
  };
  if (graph.weights) {
    return graph.weights.map(({ name, type, bytes: size, values = [], payload_values: inner = [] }): Weight => {
      const [first, second] = [values[0], inner[0]];
      return {
        name, type, bytes: size, users: values.length + inner.length,
        target: first ? { method: first[0], selection: { kind: "value", index: first[1] } } : second ? ofPayload(...second) : null,
        statistics: first ? graph.methods[first[0]]?.values[first[1]]?.statistics : second ? graph.payloads[second[0]]?.values[second[1]]?.statistics : null,
      };
    });
  }
  const own = graph.methods.flatMap((method, at) => method.values.flatMap((value, index): Weight[] => (value.content === "constant"
    ? [{ name: value.name ?? "", type: value.type ?? "", bytes: value.bytes ?? 0, users: 1, target: { method: at, selection: { kind: "value", index } }, statistics: value.statistics }] : [])));
  const inner = graph.payloads.flatMap((payload, at) => payload.values.flatMap((value, index): Weight[] => (value.bytes === undefined
    ? [] : [{ name: value.name ?? `value ${index}`, type: value.type ?? "", bytes: value.bytes, users: 1, target: ofPayload(at, index), statistics: value.statistics }])));
  return [...own, ...inner].sort((a, b) => b.bytes - a.bytes);
}

export function WeightsView({ state }: { state: State }) {
  const weights = useMemo(() => weightsOf(state), []);
  const hasData = state.document.data_statistics ?? false;
  const selection = state.selection.value;
  const now = selection && { method: state.methodIndex.value, selection };
  const isSelected = ({ target }: Weight) => isSameTarget(target, now);
  const name = state.weight.value;
  const chosen = weights.find((weight) => weight.name === name) ?? weights.find(isSelected);
  // The panel at the side has the same of a selected value.
  const isTold = chosen !== undefined && selection?.kind === "value" && isSelected(chosen) && state.panels.isSideOpen.value && !state.isNarrow();
  const number = (value: number | null | undefined) => (value == null ? "" : String(Number(value.toPrecision(4))));
  const choose = (weight: Weight) => {
    const { target, name: chosenName } = weight;
    if (target) state.select(target.selection, { method: target.method, weight: chosenName });
    else state.weight.value = chosenName;
  };
  const total = weights.reduce((sum, weight) => sum + weight.bytes, 0);
  return (
    <div class="split">
      <div class="main">
        <Table label="weights" rows={weights} sort={-3} onChoose={choose} isChosen={(weight) => weight === chosen} columns={[
          { title: "name", value: (weight) => weight.name }, { title: "type", value: ({ type }) => compactType(type), width: "minmax(110px, 1.2fr)" },
          { title: "bytes", value: (weight) => weight.bytes, isNumber: true, show: (weight) => bytes(weight.bytes) },
          ...(weights.some(({ users }) => users > 1) ? [{ title: "used by", value: ({ users }: Weight) => users, isNumber: true }] : []),
          ...(hasData ? [
            { title: "minimum", value: ({ statistics }: Weight) => statistics?.minimum, show: ({ statistics }: Weight) => number(statistics?.minimum), isNumber: true },
            { title: "mean", value: ({ statistics }: Weight) => statistics?.mean, show: ({ statistics }: Weight) => number(statistics?.mean), isNumber: true },
            { title: "maximum", value: ({ statistics }: Weight) => statistics?.maximum, show: ({ statistics }: Weight) => number(statistics?.maximum), isNumber: true },
            { title: "zeros", value: ({ statistics }: Weight) => (statistics ? statistics.zeros / Math.max(statistics.elements, 1) : null), show: ({ statistics }: Weight) => (statistics ? `${((100 * statistics.zeros) / Math.max(statistics.elements, 1)).toFixed(1)} %` : ""), isNumber: true },
            { title: "histogram", value: () => null, show: ({ statistics }: Weight) => (statistics ? <Histogram statistics={statistics} isSmall /> : ""), width: "96px" },
          ] : []),
        ]}><span>{bytes(total)} in {counted(weights.length, "constant")}</span></Table>
      </div>
      {chosen && !isTold && <div class="aside" aria-live="polite"><h3><bdi>{chosen.name}</bdi></h3><p class="quiet">{chosen.type}</p><StatisticsView statistics={chosen.statistics} hasData={hasData} /></div>}
    </div>
  );
}
