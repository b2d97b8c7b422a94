// What a doc comment says, as the reference shows it: text, parameters, errors, examples; without sections of the specification.
import ts from "typescript";

/** References to sections of the specification, which readers of the package do not have. */
const SECTION = String.raw`(?:part )?\d\.\d+(?:\.\d+)*`;
const SECTIONS = String.raw`${SECTION}(?:(?:, | to | and )(?:part \d|${SECTION}))*`;
const DROPPED = [
  new RegExp(String.raw`\s*\((?:[Ss]pecification )?${SECTIONS}(?:,? ${"`"}\w+${"`"})?\)`, "g"),
  new RegExp(String.raw`,? (?:[Ss]pecification )?${SECTIONS}(?=\))`, "g"),
  new RegExp(String.raw`\s*\b[Ss]pecification ${SECTIONS}\.?`, "g"),
];
const LEFT = /(?<![\d.])[0-3]\.\d{1,2}(?:\.\d{1,2})?(?!\.?\d|\w)|\b[Ss]pecification\b|§/;

/** What the doc comments lack, told together at the end. */
export const problems = [];

/** The text without sections of the specification; one that is left, since it is no reference in brackets, is a problem. */
export function withoutSections(text, where) {
  const cleared = DROPPED.reduce((left, dropped) => left.replace(dropped, ""), text);
  const found = LEFT.exec(cleared);
  if (found !== null) problems.push(`${where}: '${found[0]}' is a section that readers do not have: ${cleared}`);
  return cleared;
}

/** The doc comment right before a node, without its stars; undefined when there is none. */
function rawComment(node) {
  const source = node.getSourceFile().text;
  const ranges = ts.getLeadingCommentRanges(source, node.getFullStart()) ?? [];
  const last = ranges.map(({ pos, end }) => source.slice(pos, end)).findLast((text) => text.startsWith("/**"));
  return last
    ?.slice(3, -2)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n");
}

const TAG = /(?:^|\s)@(param|returns|throws|example|internal)\b[ \t]*/g;
const joined = (text) => text.trim().replace(/[ \t]*\n[ \t]*/g, " ");

/**
 * A comment in its parts: `paragraphs`, `params` by name, `returns`, `throws`, `examples`, `internal`.
 *
 * @param where - names the place in errors.
 */
export function commentOf(node, where) {
  const raw = rawComment(node);
  if (raw === undefined) return undefined;
  const clear = (text) => withoutSections(joined(text), where);
  const tags = [...raw.matchAll(TAG)];
  const text = raw.slice(0, tags[0]?.index ?? raw.length);
  const comment = {
    paragraphs: text
      .split(/\n\s*\n/)
      .map(clear)
      .filter((paragraph) => paragraph !== ""),
    params: new Map(),
    returns: undefined,
    throws: [],
    examples: [],
    internal: false,
  };
  for (const [i, tag] of tags.entries()) {
    const body = raw.slice(tag.index + tag[0].length, tags[i + 1]?.index ?? raw.length);
    addTag(comment, tag[1], body, clear, where);
  }
  return comment;
}

function addTag(comment, tag, body, clear, where) {
  if (tag === "internal") comment.internal = true;
  else if (tag === "example") comment.examples.push(body.replace(/^\n/, "").trimEnd());
  else if (tag === "returns") comment.returns = clear(body);
  else if (tag === "throws") comment.throws.push(clear(body.replace(/^\s*DeedbookError\s+/, "")));
  else {
    const [, name, text] = /^(\w+)\s*-\s*([\s\S]*)$/.exec(body.trim()) ?? [];
    if (name === undefined) problems.push(`${where}: a parameter without ' - ' and its meaning: ${body}`);
    else comment.params.set(name, clear(text));
  }
}
