// How the reference looks: an index, chapters with their methods and shapes, and at the end the shapes that chapters share.
import ts from "typescript";
import { GLOSSARY } from "./chapters.mjs";
import { commentOf, problems } from "./comments.mjs";
import { declared, isRecord, membersOf, squeeze } from "./types.mjs";

const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
const cell = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

export class Page {
  constructor(parts) {
    Object.assign(this, parts);
    this.chapterOf = new Map(parts.chapters.filter(({ of }) => of !== undefined).map((chapter) => [chapter.of, chapter]));
    this.place();
  }

  /** Puts each type into the one chapter that reaches it, or among the shared ones. */
  place() {
    this.extra = new Map();
    const reached = new Map();
    for (const chapter of this.chapters)
      for (const name of this.reachedFrom([...chapter.offers.flatMap(({ nodes }) => nodes), ...this.declarationsOf(chapter)]))
        reached.set(name, [...(reached.get(name) ?? []), chapter]);
    const all = [...new Set([...reached.keys(), ...this.types.keys()])].filter((name) => !this.chapterOf.has(name));
    const home = (name) => this.chapters.find(({ types }) => types?.includes(name)) ?? only(reached.get(name));
    for (const chapter of this.chapters) chapter.shapes = all.filter((name) => home(name) === chapter);
    this.shared = all.filter((name) => home(name) === undefined).sort();
  }

  declarationsOf({ types = [] }) {
    return types.flatMap((name) => this.types.get(name).declarations);
  }

  /** The names of all types that these nodes speak of, and those speak of in turn. */
  reachedFrom(nodes) {
    const names = new Set();
    const todo = [...nodes];
    const visit = (node) => {
      if (ts.isBlock(node)) return;
      if (ts.isIdentifier(node)) {
        const symbol = this.typeNamed(node);
        if (symbol !== undefined && !names.has(node.text)) {
          names.add(node.text);
          if (!this.chapterOf.has(node.text)) todo.push(...symbol.declarations);
        }
      }
      ts.forEachChild(node, visit);
    };
    for (let node = todo.shift(); node !== undefined; node = todo.shift()) visit(node);
    return names;
  }

  /** A type that is published, or that a published signature speaks of without its being so. */
  typeNamed(identifier) {
    const known = this.types.get(identifier.text) ?? this.extra.get(identifier.text);
    if (known !== undefined) return known;
    if (!ts.isTypeReferenceNode(identifier.parent) || !/Options$/.test(identifier.text)) return undefined;
    const symbol = this.checker.getSymbolAtLocation(identifier);
    const target = symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
    this.extra.set(identifier.text, target);
    return target;
  }

  render(introduction, elsewhere) {
    this.elsewhere = elsewhere;
    const parts = ["# Reference", introduction, this.index(), ...this.chapters.flatMap((chapter) => this.chapter(chapter))];
    const links = this.shared.map((name) => this.link(this.headingOf(name), name)).join(" · ");
    parts.push("## Shared shapes", `What more than one chapter speaks of: ${links}`);
    for (const name of this.shared) parts.push(...this.shape(name));
    this.checkHeadings(parts);
    return `${parts.join("\n\n")}\n`;
  }

  /** Two headings that a link could not tell apart would lead to the wrong one. */
  checkHeadings(parts) {
    const anchors = parts.filter((part) => /^#+ /.test(part)).map((part) => anchorOf(part.replace(/^#+ /, "")));
    for (const anchor of anchors.filter((one, i) => anchors.indexOf(one) !== i)) problems.push(`two headings are #${anchor}`);
  }

  index() {
    const rows = this.chapters.map((chapter) => {
      const methods = chapter.offers.filter(({ isMethod }) => isMethod);
      const properties = chapter.offers.filter(({ isMethod, type }) => !isMethod && !this.chapterOf.has(type.symbol?.name));
      const links = methods.map((offer) => this.link(this.offerHeading(chapter, offer), offer.name));
      const named = [...links, ...properties.map(({ name }) => `\`${name}\``), ...this.pinned(chapter)];
      return `| [${chapter.title}](#${anchorOf(chapter.title)}) | ${named.join(" · ")} |`;
    });
    const shared = "| [Shared shapes](#shared-shapes) | what calls take and give in several chapters |";
    return ["| chapter | what is in it |", "|---|---|", ...rows, shared].join("\n");
  }

  pinned({ types = [] }) {
    return types.map((name) => this.link(this.headingOf(name), name));
  }

  link(heading, text) {
    return `[\`${text}\`](#${anchorOf(heading)})`;
  }

  offerHeading({ as }, { name }) {
    return as === undefined ? name : `${as}.${name}`;
  }

  chapter(chapter) {
    const parts = [`## ${chapter.title}`];
    const told = chapter.comment?.paragraphs ?? [chapter.text];
    parts.push(...told.map((text) => this.prose(text)));
    const methods = chapter.offers.filter(({ isMethod }) => isMethod);
    const properties = chapter.offers.filter(({ isMethod }) => !isMethod);
    if (properties.length > 0) parts.push(this.properties(chapter, properties));
    for (const method of methods) parts.push(...this.method(chapter, method));
    for (const name of chapter.shapes) parts.push(...this.shape(name));
    return parts;
  }

  properties(chapter, properties) {
    const rows = properties.map(({ name, nodes, comments, type }) => {
      const optional = nodes[0].questionToken === undefined ? "" : "?";
      const text = nodes[0].type === undefined ? this.printer.text(type) : squeeze(nodes[0].type.getText());
      return `| \`${name}${optional}\` | ${this.typeCell(text)} | ${cell(this.prose(comments[0]?.paragraphs.join(" ") ?? ""))} |`;
    });
    return ["| property | type | what it is |", "|---|---|---|", ...rows].join("\n");
  }

  method(chapter, method) {
    const { name, nodes, comments } = method;
    const signatures = nodes.map((node) => this.signatureText(name, node));
    const parts = [`### ${this.offerHeading(chapter, method)}`, fenced(signatures.join("\n"))];
    for (const comment of comments) {
      parts.push(...comment.paragraphs.map((text) => this.prose(text)));
      const lines = [...comment.params].map(([param, text]) => `* \`${param}\`: ${this.prose(text)}`);
      if (comment.returns !== undefined) lines.push(`* **gives** ${this.prose(comment.returns)}`);
      lines.push(...comment.throws.map((text) => `* **errors**: ${this.prose(text)}`));
      if (lines.length > 0) parts.push(lines.join("\n"));
    }
    const names = [...new Set(nodes.flatMap((node) => this.namesIn(node)))];
    if (names.length > 0) parts.push(`Shapes: ${names.map((one) => this.link(this.headingOf(one), one)).join(" · ")}`);
    for (const { examples } of comments) parts.push(...examples.map((code) => fenced(code)));
    return parts;
  }

  /** The types that a signature itself names, in its order. */
  namesIn(node) {
    const names = [];
    const visit = (child) => {
      if (ts.isBlock(child)) return;
      if (ts.isIdentifier(child) && ts.isTypeReferenceNode(child.parent) && this.typeNamed(child) !== undefined)
        names.push(child.text);
      ts.forEachChild(child, visit);
    };
    visit(node);
    return names.filter((name) => name in this.elsewhere === false);
  }

  /** A shape that is called as a function is, but for the case of its letters, says that it is a shape. */
  headingOf(name) {
    const isTaken = this.chapters.some((chapter) =>
      chapter.offers.some((offer) => anchorOf(this.offerHeading(chapter, offer)) === anchorOf(name)),
    );
    return this.chapterOf.get(name)?.title ?? (isTaken ? `${name} (shape)` : name);
  }

  /** A published type: what it is, and its members or variants. */
  shape(name) {
    const symbol = this.types.get(name) ?? this.extra.get(name);
    const head = `### ${this.headingOf(name)}`;
    if (name in this.elsewhere) return [head, this.elsewhere[name]];
    const node = symbol.declarations.find((one) => !ts.isVariableDeclaration(one));
    const comments = symbol.declarations.map((one) => commentOf(ownerOf(one), name)).filter((one) => one !== undefined);
    if (comments.length === 0) problems.push(`${name} has no doc comment`);
    const said = comments.flatMap(({ paragraphs }) => paragraphs.map((text) => this.prose(text)));
    const parts = [head, ...said];
    if (ts.isClassDeclaration(node)) return parts;
    const type = this.checker.getDeclaredTypeOfSymbol(symbol);
    const base = node.heritageClauses?.flatMap(({ types }) => types.map((one) => squeeze(one.getText()))) ?? [];
    const members = isRecord(node, type) ? membersOf(this.printer, type, node, name) : [];
    if (ts.isInterfaceDeclaration(node) && members.length === 0)
      return [...parts, fenced(squeeze(node.getText()).replace(/^export /, ""))];
    if (members.length === 0) return [...parts, fenced(`type ${name} = ${declared(this.printer, node, type, name)}`)];
    if (base.length > 0) parts.push(`All of ${base.map((one) => this.typeCell(one)).join(" and ")}, and:`);
    const shown = members.filter(({ comment }) => comment?.internal !== true);
    if (shown.length === 0) return parts;
    const rows = shown.map(({ name: member, type: text, comment }) => {
      const told = cell(this.prose(comment?.paragraphs.join(" ") ?? GLOSSARY[member.replace("?", "")] ?? ""));
      return `| \`${member}\` | ${this.typeCell(text)} | ${told} |`;
    });
    return [...parts, ["| member | type | what it is |", "|---|---|---|", ...rows].join("\n")];
  }

  prose(text) {
    return text.replace(/`([a-z_]+)`/g, (found, code) => {
      const heading = this.codes.get(code);
      return heading === undefined ? found : `[${found}](errors.md#${heading})`;
    });
  }

  /** A type in a cell: linked where it names just one of ours. */
  typeCell(text) {
    const names = [...new Set(text.match(/\b[A-Z]\w+/g) ?? [])].filter((name) => this.types.has(name) || this.extra.has(name));
    const code = `\`${cell(text)}\``;
    return names.length === 1 ? `[${code}](#${anchorOf(this.headingOf(names[0]))})` : code;
  }
}

/** The only one of a list. */
const only = (list) => (list?.length === 1 ? list[0] : undefined);
const fenced = (code) => `\`\`\`ts\n${code}\n\`\`\``;
/** Doc comments of constants stand before their statement. */
const ownerOf = (node) => (ts.isVariableDeclaration(node) ? node.parent.parent : node);
