// Where in a YAML text a position is: the path of keys and indices, and whether a key or a value is written there. Reads
// the text up to the position, which is incomplete; anchors, tags and block scalars are not recognized. Pure.

export type Path = readonly (string | number)[];
export interface Place {
  readonly path: Path;
  readonly isKey: boolean;
  /** The start of what is written, and what is written so far. */
  readonly from: number;
  readonly prefix: string;
  /** Keys before it in the same map. */
  readonly keys: readonly string[];
  /** Names of values and outputs before it. */
  readonly names: readonly string[];
}

type Context =
  | { kind: "map"; indent: number; key: string | null; keys: string[] }
  | { kind: "list"; indent: number; index: number }
  | { kind: "flowmap"; key: string | null; keys: string[] }
  | { kind: "flowlist"; index: number };

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#{}[\],&*!|>"'%@`-][^#{}[\],]*?|-[^\s#{}[\],]+?):(?=\s|$)/;
const plain = (text: string): string => text.replace(/^["']|["']$/g, "");

export function placeAt(text: string, offset: number): Place | null {
  const stack: Context[] = [];
  const names = new Set<string>();
  const top = () => stack[stack.length - 1];
  const isFlow = () => top()?.kind === "flowmap" || top()?.kind === "flowlist";
  const pathOf = (): (string | number)[] => stack.flatMap((context): (string | number)[] => ("key" in context ? (context.key === null ? [] : [context.key]) : [context.index]));
  const addKey = (context: { key: string | null; keys: string[] }, key: string) => {
    context.key = key;
    context.keys.push(key);
    const path = pathOf();
    if (path[path.length - 2] === "values") names.add(key);
  };

  /** Reads flow collections up to the end of the line; returns where an unfinished scalar begins. */
  const flow = (line: string, from: number): number => {
    let scalar = -1;
    let at = from;
    const finish = () => {
      const context = top();
      if (scalar >= 0 && context?.kind === "flowmap" && (context.key === "out" || context.key === "view")) names.add(plain(line.slice(scalar, at).trim()));
      scalar = -1;
    };
    for (; at < line.length; at++) {
      const character = line[at]!;
      const context = top();
      if (character === "#" && (at === 0 || /\s/.test(line[at - 1]!))) return -2;
      if (character === '"' || character === "'") {
        if (scalar < 0) scalar = at;
        const end = line.indexOf(character, at + 1);
        if (end < 0) return scalar;
        at = end;
      } else if (character === "{" || character === "[") {
        stack.push(character === "{" ? { kind: "flowmap", key: null, keys: [] } : { kind: "flowlist", index: 0 });
        scalar = -1;
      } else if (character === "}" || character === "]") {
        finish();
        if (isFlow()) stack.pop();
      } else if (character === ",") {
        finish();
        if (context?.kind === "flowmap") context.key = null;
        if (context?.kind === "flowlist") context.index++;
      } else if (character === ":" && context?.kind === "flowmap" && context.key === null && scalar >= 0 && (at + 1 >= line.length || /[\s{[]/.test(line[at + 1]!))) {
        addKey(context, plain(line.slice(scalar, at).trim()));
        scalar = -1;
      } else if (scalar < 0 && !/\s/.test(character)) scalar = at;
    }
    return scalar;
  };

  const lines = text.slice(0, offset).split("\n");
  let start = 0;
  for (const [number, line] of lines.entries()) {
    const isLast = number === lines.length - 1;
    const lineStart = start;
    start += line.length + 1;
    const finish = (scalar: number, isKey: boolean): Place | null => {
      if (scalar === -2) return null;
      const context = top();
      const from = scalar < 0 ? line.length : scalar;
      const path = pathOf();
      const isOwnKey = isKey && context !== undefined && "key" in context;
      return { path: isOwnKey && context.key !== null ? path.slice(0, -1) : path, isKey, from: lineStart + from, prefix: line.slice(from), keys: context && "keys" in context ? context.keys : [], names: [...names] };
    };
    if (isFlow()) {
      const scalar = flow(line, 0);
      if (isLast) return finish(scalar, top()?.kind === "flowmap" && (top() as { key: string | null }).key === null);
      continue;
    }
    if (/^(---|\.\.\.)/.test(line)) { stack.length = 0; continue; }
    let at = /^ */.exec(line)![0].length;
    const isBlank = at === line.length;
    if ((isBlank && !isLast) || line[at] === "#") {
      if (isLast) return null;
      continue;
    }
    const startsItem = /^-(\s|$)/.test(line.slice(at));
    // What is deeper has ended; a list may be as deep as the map that it is in.
    const close = (indent: number, keepsList: boolean) => {
      for (;;) {
        const context = top();
        if (!context || !("indent" in context)) break;
        if (context.indent > indent || (context.kind === "list" && context.indent === indent && !keepsList)) stack.pop();
        else break;
      }
    };
    close(at, startsItem);
    while (/^-(\s|$)/.test(line.slice(at))) {
      const context = top();
      if (context?.kind === "list" && context.indent === at) context.index++;
      else stack.push({ kind: "list", indent: at, index: 0 });
      at += 1 + /^ */.exec(line.slice(at + 1))![0].length;
      close(at - 1, true);
    }
    const rest = line.slice(at);
    const key = KEY.exec(rest);
    if (key) {
      let context = top();
      if (!(context?.kind === "map" && context.indent === at)) {
        context = { kind: "map", indent: at, key: null, keys: [] };
        stack.push(context);
      }
      addKey(context, plain(key[1]!));
      at += key[0].length;
      at += /^\s*/.exec(line.slice(at))![0].length;
      const value = line.slice(at);
      if (/^[{[]/.test(value)) {
        const scalar = flow(line, at);
        if (isLast) return isFlow() ? finish(scalar, top()?.kind === "flowmap" && (top() as { key: string | null }).key === null) : null;
      } else if (isLast) return /(^|\s)#/.test(value) ? null : finish(at, false);
      else if (/^\w/.test(value) && (context.key === "out" || context.key === "view")) names.add(value.trim());
      continue;
    }
    if (/^[{[]/.test(rest)) {
      const scalar = flow(line, at);
      if (isLast) return isFlow() ? finish(scalar, top()?.kind === "flowmap" && (top() as { key: string | null }).key === null) : null;
      continue;
    }
    if (!isLast) continue;
    // A key of the map at this depth, or the first of a new one; in a list, a value may be there, too.
    const context = top();
    const isSibling = context?.kind === "map" && context.indent === at;
    if (!isSibling) stack.push({ kind: "map", indent: at, key: null, keys: [] });
    return finish(at, true);
  }
  return null;
}
