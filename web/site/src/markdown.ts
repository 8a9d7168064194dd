// The Markdown of the library's descriptions: paragraphs, items, blocks of code, bold text and code. Anything else is text.

export type Part = readonly ["text" | "bold" | "code", string];
export type Block = { readonly kind: "paragraph" | "item"; readonly parts: readonly Part[] } | { readonly kind: "code"; readonly text: string };

export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  const finish = () => {
    if (lines.length > 0) blocks.push({ kind: "paragraph", parts: partsOf(lines.join("\n")) });
    lines = [];
  };
  const all = markdown.split("\n");
  for (let at = 0; at < all.length; at++) {
    const line = all[at]!;
    if (line.startsWith("```")) {
      finish();
      const end = all.indexOf("```", at + 1);
      blocks.push({ kind: "code", text: all.slice(at + 1, end < 0 ? undefined : end).join("\n") });
      at = end < 0 ? all.length : end;
    } else if (line.startsWith("- ")) {
      finish();
      blocks.push({ kind: "item", parts: partsOf(line.slice(2)) });
    } else if (line.trim() === "") finish();
    else lines.push(line);
  }
  finish();
  return blocks;
}
function partsOf(text: string): Part[] {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`)/).filter((part) => part !== "").map((part): Part =>
    part.length > 4 && part.startsWith("**") && part.endsWith("**") ? ["bold", part.slice(2, -2)] : part.length > 2 && part.startsWith("`") && part.endsWith("`") ? ["code", part.slice(1, -1)] : ["text", part]);
}

/** An element with a description. */
export function describe(markdown: string): HTMLElement {
  const element = document.createElement("div");
  element.className = "description";
  let list: HTMLElement | null = null;
  for (const block of blocksOf(markdown)) {
    if (block.kind !== "item") list = null;
    else if (!list) element.append(list = document.createElement("ul"));
    const own = document.createElement(block.kind === "code" ? "pre" : block.kind === "item" ? "li" : "p");
    if (block.kind === "code") own.textContent = block.text;
    else own.append(...block.parts.map(([kind, text]) => {
      if (kind === "text") return text;
      const part = document.createElement(kind === "bold" ? "strong" : "code");
      part.textContent = text;
      return part;
    }));
    (block.kind === "item" ? list! : element).append(own);
  }
  return element;
}
