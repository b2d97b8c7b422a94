// Writes docs/reference.md from the public types and their doc comments; with --print to the console instead.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { CHAPTERS, ELSEWHERE, INTRODUCTION } from "./reference/chapters.mjs";
import { commentOf, problems } from "./reference/comments.mjs";
import { Printer, signatureText } from "./reference/types.mjs";
import { Page } from "./reference/page.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** All that `src/index.ts` publishes, by name. */
function published() {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config,
    ts.sys,
    root,
  );
  const program = ts.createProgram([`${root}src/index.ts`], { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const index = checker.getSymbolAtLocation(program.getSourceFile(`${root}src/index.ts`));
  const names = new Map();
  for (const symbol of checker.getExportsOfModule(index)) {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    names.set(symbol.name, target);
  }
  return { checker, names };
}

const { checker, names } = published();
const isType = (symbol) => (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class)) !== 0;
const isFunction = (symbol) => (symbol.flags & ts.SymbolFlags.Function) !== 0;
const types = new Map([...names].filter(([, symbol]) => isType(symbol)));
const printer = new Printer(
  checker,
  [...types].map(([name, symbol]) => [name, checker.getDeclaredTypeOfSymbol(symbol)]),
);

/** Which code stands under which heading of the page of errors. */
function headingsOfCodes() {
  const headings = new Map();
  let heading = "";
  for (const line of readFileSync(`${root}docs/errors.md`, "utf8").split("\n")) {
    if (line.startsWith("## "))
      heading = line
        .slice(3)
        .toLowerCase()
        .replace(/[^a-z0-9 -]/g, "")
        .replaceAll(" ", "-");
    const code = /^\| `([a-z_]+)`/.exec(line)?.[1];
    if (code !== undefined) headings.set(code, heading);
  }
  return headings;
}

/** What a class or context offers: its methods with all their signatures, its properties. */
function offersOf(symbol, where) {
  const offers = [];
  for (const member of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) {
    const nodes = (member.declarations ?? []).filter((node) => node.getSourceFile().fileName.startsWith(`${root}src/`));
    const hidden = nodes.every((node) => (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0);
    if (hidden || member.name.startsWith("__@")) continue;
    const comments = nodes.map((node) => commentOf(node, `${where}.${member.name}`)).filter((one) => one !== undefined);
    if (comments.some(({ internal }) => internal) || member.name === "toJSON") continue;
    if (comments.length === 0) problems.push(`${where}.${member.name} has no doc comment`);
    const isMethod = nodes.some((node) => ts.isMethodDeclaration(node) || ts.isMethodSignature(node));
    // Of overloads the last one is the body, which callers do not see.
    const shown = isMethod && nodes.length > 1 ? nodes.slice(0, -1) : nodes;
    offers.push({ name: member.name, isMethod, nodes: shown, comments, type: checker.getTypeOfSymbol(member) });
  }
  return offers;
}

function functionOf(name) {
  const symbol = names.get(name);
  const nodes = symbol.declarations.filter(ts.isFunctionDeclaration);
  const comments = nodes.map((node) => commentOf(node, name)).filter((one) => one !== undefined);
  if (comments.length === 0) problems.push(`${name} has no doc comment`);
  const shown = nodes.length > 1 ? nodes.slice(0, -1) : nodes;
  return { name, isMethod: true, nodes: shown, comments, type: checker.getTypeOfSymbol(symbol) };
}

const claimed = new Set(CHAPTERS.flatMap(({ functions }) => (Array.isArray(functions) ? functions : [])));
const rest = [...names].filter(([name, symbol]) => isFunction(symbol) && !claimed.has(name)).map(([name]) => name);
const objects = [...names].filter(([name, symbol]) => !isFunction(symbol) && !isType(symbol) && !(name in ELSEWHERE));
const chapters = CHAPTERS.map((chapter) => {
  const { of, functions } = chapter;
  const chosen = functions === "rest" ? rest.sort() : (functions ?? []);
  const symbol = of === undefined ? undefined : (types.get(of) ?? groupClass(of));
  return {
    ...chapter,
    comment: symbol === undefined ? undefined : commentOf(symbol.declarations[0], of),
    offers: symbol === undefined ? chosen.map(functionOf) : offersOf(symbol, chapter.as),
  };
});

/** The class of a group, which only the book names: found by the book's property of that type. */
function groupClass(name) {
  for (const property of checker.getDeclaredTypeOfSymbol(types.get("Book")).getProperties()) {
    const symbol = checker.getTypeOfSymbol(property).symbol;
    if (symbol?.name === name) return symbol;
  }
  throw new Error(`no group of the book is a ${name}`);
}

const page = new Page({ checker, printer, types, chapters, codes: headingsOfCodes(), signatureText, objects });
const text = page.render(INTRODUCTION, ELSEWHERE);
if (problems.length > 0) throw new Error(`The doc comments lack:\n${[...new Set(problems)].join("\n")}`);
if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(`${root}docs/reference.md`, text);
