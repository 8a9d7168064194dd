// How names, numbers, sizes and times are printed. Pure functions on strings and numbers.

/** `aten::add.out` is `add`, `aten::_native_batch_norm_legit.out` is `batch_norm`; a name without a namespace is itself. */
export function shortName(label: string): string {
  const match = /^\w+::_?(?:native_)?([^.]+)/.exec(label);
  return match?.[1]?.replace(/_legit(?:_no_training|_no_stats|_functional)?$/, "") ?? label;
}

/** A name of an operation of XNNPACK without what its attributes and shapes say: `static_reshape` is `reshape`. */
export function shortOperation(name: string): string {
  return shortName(name).replace(/^static_/, "").replace("depthwise_conv2d", "dw_conv2d").replace("average_pooling", "avg_pool")
    .replace(/_pooling(?:_2d)?$/, "_pool");
}

export function grouped(value: number): string {
  const [whole = "", fraction] = String(value).split(".");
  const marked = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? marked : `${marked}.${fraction}`;
}

export function counted(count: number, noun: string): string {
  const plural = /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

/** A size with three significant digits: `1.53 KiB`. */
export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = size / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${significant(value)} ${units[unit]}`;
}

/** A duration of nanoseconds with three significant digits: `1.53 ms`. */
export function duration(nanoseconds: number): string {
  if (nanoseconds < 1e3) return `${significant(nanoseconds)} ns`;
  if (nanoseconds < 1e6) return `${significant(nanoseconds / 1e3)} µs`;
  if (nanoseconds < 1e9) return `${significant(nanoseconds / 1e6)} ms`;
  return `${significant(nanoseconds / 1e9)} s`;
}

/** A count with a decimal prefix: `1.53 G`. */
export function decimal(value: number): string {
  if (value < 1e3) return String(significant(value));
  if (value < 1e6) return `${significant(value / 1e3)} k`;
  if (value < 1e9) return `${significant(value / 1e6)} M`;
  return `${significant(value / 1e9)} G`;
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "";
}

/** A difference with its sign; "" if there is none. */
export function change(before: number, after: number): string {
  return before === after ? "" : `${after > before ? "+" : "−"}${grouped(Math.abs(after - before))}`;
}

export function significant(value: number): number {
  return Number(value.toPrecision(3));
}

export function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/** The end of a text that does not fit, because ends distinguish qualified names. */
export function clipStart(text: string, most: number): string {
  return text.length <= most ? text : `…${text.slice(text.length - Math.max(1, most - 1))}`;
}

/** The most frequent of a list of names: `4 conv, 3 relu, add`. */
export function frequent(names: readonly string[], most = 4): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return firstOf([...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => ({ name, count })), most);
}
/** The first of a list of names with their numbers: `4 conv, relu, …`. */
export function firstOf(list: readonly { name: string; count: number }[], most = 4): string {
  const text = list.slice(0, most).map(({ name, count }) => (count > 1 ? `${count} ${name}` : name)).join(", ");
  return list.length > most ? `${text} …` : text;
}

/** The longest prefix of all names that ends at a separator (`.`, `/`, `[` or `_`), or "". */
export function commonPrefix(names: readonly string[]): string {
  if (names.length < 2) return "";
  let prefix = names[0] ?? "";
  for (const name of names) {
    let length = 0;
    while (length < prefix.length && prefix[length] === name[length]) length++;
    prefix = prefix.slice(0, length);
    if (prefix === "") return "";
  }
  const end = Math.max(prefix.lastIndexOf("."), prefix.lastIndexOf("/"), prefix.lastIndexOf("_"));
  return prefix.slice(0, end + 1);
}

/** `float32 [1, 3, 224, 224]` is `f32 1×3×224×224`. */
export function compactType(type: string): string {
  const match = /^(\w+) \[([^\]]*)\](.*)$/s.exec(type);
  if (!match) return type;
  const [, dtype = "", sizes = "", rest = ""] = match;
  const short = dtype.replace(/^float/, "f").replace(/^bfloat/, "bf").replace(/^uint/, "u").replace(/^int/, "i").replace(/^fp/, "f");
  return sizes === "" ? `${short} scalar${rest}` : `${short} ${sizes.replaceAll(", ", "×")}${rest}`;
}
