// Tokens of a line of YAML, for highlighting. Block scalars over several lines are not recognized: `dump` writes none.

export interface Token { readonly kind: "plain" | "comment" | "key" | "string" | "number" | "word" | "mark"; readonly text: string }

const PATTERN = /(#.*$)|("(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)|([\w./@$-][^\s,:{}[\]#"']*(?=:(?:\s|$)))|(-?(?:0x[\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)(?=[\s,}\]]|$))|(\b(?:true|false|null|none)\b(?=[\s,}\]]|$))|([-{}[\],:])|([^\s{}[\],:#"']+|\s+)/g;
const KINDS = ["comment", "string", "key", "number", "word", "mark", "plain"] as const;
/** A longer line is not divided. */
const LONGEST = 4000;

export function tokensOf(line: string): Token[] {
  if (line.length > LONGEST) return [{ kind: "plain", text: line }];
  const tokens: Token[] = [];
  for (const match of line.matchAll(PATTERN)) {
    const at = KINDS.findIndex((_, index) => match[index + 1] !== undefined);
    let kind: Token["kind"] = KINDS[at] ?? "plain";
    // A comment begins after a space or at the start of the line.
    if (kind === "comment" && match.index > 0 && !/\s/.test(line[match.index - 1] ?? "")) kind = "plain";
    if (kind === "string" && /^\s*:/.test(line.slice(match.index + match[0].length))) kind = "key";
    const last = tokens[tokens.length - 1];
    if (last?.kind === kind) tokens[tokens.length - 1] = { kind, text: last.text + match[0] };
    else tokens.push({ kind, text: match[0] });
  }
  return tokens;
}
