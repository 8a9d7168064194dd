// Answers of the library about a text that is being written. Generated from docs/language.schema.json by `npm run types`.

export type LanguageAnswer =
  | SourceMessage[]
  | (Hover | null)
  | CompletionItem[]
  | (CallSignature | null)
  | InlayHint[]
  | (RangeOfUint1 | null)
  | Reference[]
  | TextEdit[]
  | OutlineItem[]
  | SemanticToken[]
  | SourceAction[];
/**
 * Kind of a name.
 */
export type NameKind = "method" | "value" | "label" | "delegate" | "data" | "file" | "named_data" | "graph_value";

/**
 * A message about a range of the text: of the assembler, or a finding of `check`.
 */
export interface SourceMessage {
  /**
   * Code such as `Y-5`, or id of a rule such as `T-21`, which `explain` describes.
   */
  code: string;
  /**
   * Level.
   */
  level: "error" | "warning" | "note" | "hint";
  /**
   * Problem, with what is expected and the suggestion.
   */
  message: string;
  range: RangeOfUint;
  /**
   * Related positions with labels.
   */
  related: [RangeOfUint1, string][];
  /**
   * Text in place of that at the position, which corrects it.
   */
  replacement: string | null;
  /**
   * The part is unused.
   */
  unnecessary: boolean;
}
/**
 * Position; the start of the text for a message about all of it.
 */
export interface RangeOfUint {
  end: number;
  start: number;
}
export interface RangeOfUint1 {
  end: number;
  start: number;
}
/**
 * Description of the part of the text at an offset.
 */
export interface Hover {
  range: RangeOfUint2;
  /**
   * Description in Markdown.
   */
  text: string;
}
/**
 * The part.
 */
export interface RangeOfUint2 {
  end: number;
  start: number;
}
/**
 * A text that can be inserted at an offset.
 */
export interface CompletionItem {
  /**
   * Short description.
   */
  detail: string;
  /**
   * Description in Markdown.
   */
  documentation: string;
  /**
   * Kind.
   */
  kind: "key" | "word" | "operator" | "name" | "file";
  /**
   * Text in the list.
   */
  label: string;
  range: RangeOfUint3;
  /**
   * Rank: lower ones come first.
   */
  rank: number;
  /**
   * New text, in which `$1`, `${1:name}`, `${1|one,other|}` and `$0` are places to fill in.
   */
  snippet: string;
}
/**
 * Range that is replaced.
 */
export interface RangeOfUint3 {
  end: number;
  start: number;
}
/**
 * Signature of the operator of a call.
 */
export interface CallSignature {
  /**
   * Index of the argument at the offset.
   */
  active: number | null;
  /**
   * Byte ranges of the arguments in the label.
   */
  arguments: RangeOfUint1[];
  /**
   * Description in Markdown.
   */
  documentation: string;
  /**
   * Operator with its arguments.
   */
  label: string;
}
/**
 * A short text between those of the source.
 */
export interface InlayHint {
  /**
   * Offset.
   */
  at: number;
  /**
   * Kind.
   */
  kind: "type" | "argument" | "memory";
  /**
   * Text.
   */
  label: string;
}
/**
 * A place that refers to a name.
 */
export interface Reference {
  /**
   * It declares the name.
   */
  declares: boolean;
  range: RangeOfUint4;
  /**
   * The value is written here.
   */
  writes: boolean;
}
/**
 * The name.
 */
export interface RangeOfUint4 {
  end: number;
  start: number;
}
/**
 * Change of a range of the text.
 */
export interface TextEdit {
  range: RangeOfUint5;
  /**
   * New text.
   */
  text: string;
}
/**
 * Range that is replaced.
 */
export interface RangeOfUint5 {
  end: number;
  start: number;
}
/**
 * A part of the text with its parts.
 */
export interface OutlineItem {
  /**
   * Parts.
   */
  children: OutlineItem[];
  /**
   * Type of a value, result of an instruction.
   */
  detail: string;
  /**
   * Kind.
   */
  kind:
    | {
        name: NameKind;
      }
    | "instruction"
    | "section";
  /**
   * Name.
   */
  name: string;
  range: RangeOfUint6;
  selection: RangeOfUint7;
}
/**
 * All of it.
 */
export interface RangeOfUint6 {
  end: number;
  start: number;
}
/**
 * The name in it.
 */
export interface RangeOfUint7 {
  end: number;
  start: number;
}
/**
 * A part of the text with its meaning.
 */
export interface SemanticToken {
  /**
   * It declares the name.
   */
  declares: boolean;
  /**
   * Meaning.
   */
  kind:
    | "key"
    | "operator"
    | {
        name: NameKind;
      }
    | "dtype"
    | "word";
  range: RangeOfUint8;
  /**
   * The value is written here.
   */
  writes: boolean;
}
/**
 * The part, in one line.
 */
export interface RangeOfUint8 {
  end: number;
  start: number;
}
/**
 * A change of the text that an editor offers.
 */
export interface SourceAction {
  /**
   * It corrects the message at this range.
   */
  corrects: RangeOfUint1 | null;
  /**
   * Changes.
   */
  edits: TextEdit[];
  /**
   * What it does.
   */
  title: string;
}
