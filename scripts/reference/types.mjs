// What the public types are: members with their types as short texts, variants of unions, signatures of methods.
import ts from "typescript";
import { commentOf, withoutSections } from "./comments.mjs";

const squeeze = (text) =>
  text
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")
    .replace(/\s+/g, " ")
    .replace(/\( /g, "(")
    .replace(/,? ?\)/g, ")")
    .replace(/^\| /, "")
    .trim();

/** A parameter as a caller sees it: what has a default may be left out. */
function parameterText(parameter) {
  const optional = parameter.questionToken !== undefined || parameter.initializer !== undefined ? "?" : "";
  const rest = parameter.dotDotDotToken === undefined ? "" : "...";
  return `${rest}${parameter.name.getText()}${optional}: ${squeeze(parameter.type?.getText() ?? "number")}`;
}

/** A signature in one line, or with a line for each parameter where it is long. */
export function signatureText(name, node, type) {
  const generics = node.typeParameters === undefined ? "" : `<${node.typeParameters.map((one) => one.getText()).join(", ")}>`;
  const parameters = node.parameters.map(parameterText);
  const result = squeeze(node.type?.getText() ?? type ?? "void");
  const line = `${name}${generics}(${parameters.join(", ")}): ${result}`;
  if (line.length <= 100) return line;
  return `${name}${generics}(\n${parameters.map((one) => `  ${one},\n`).join("")}): ${result}`;
}

/** Prints types by the names they are published under, wherever they have one. */
export class Printer {
  constructor(checker, aliases) {
    this.checker = checker;
    this.names = new Map();
    for (const [name, type] of aliases) {
      const key = keyOf(this.madeOf(type, true, true));
      if (!key.includes("{") && !(type.types?.length > 2)) continue;
      this.names.set(key, name);
      if (!this.names.has(looseKey(key))) this.names.set(looseKey(key), name);
    }
  }

  /** The name of a type, or what it is made of; `optional`: without the undefined that its name tells. */
  text(type, optional = false) {
    const told = (text) => (optional ? withoutUndefined(text) : text);
    const key = keyOf(told(this.madeOf(type, false, true)));
    return this.names.get(key) ?? this.names.get(looseKey(key)) ?? told(this.madeOf(type, false, false));
  }

  /** What a type is made of. `inside`: one that has a name, too; `bare`: without the names of schemas, by which it is found. */
  madeOf(type, inside, bare) {
    const { checker } = this;
    const { aliasSymbol, symbol } = type;
    const part = (one, optional) => {
      if (!bare) return this.text(one, optional);
      return optional ? withoutUndefined(this.madeOf(one, false, true)) : this.madeOf(one, false, true);
    };
    const isNamed = aliasSymbol !== undefined && !/^(infer|output|input)$/.test(aliasSymbol.name) && !type.aliasTypeArguments;
    if (!inside && isNamed) return aliasSymbol.name;
    if (type.isUnion() && !(type.flags & ts.TypeFlags.Boolean)) return unionOf(type.types.map((one) => part(one, false)));
    if (checker.isArrayType(type)) return arrayOf(part(checker.getTypeArguments(type)[0], false));
    const plain = type.flags & ts.TypeFlags.Object && type.getCallSignatures().length === 0 && type.getProperties().length > 0;
    const isDeclared = symbol !== undefined && symbol.name !== "__type" && symbol.name !== "__object";
    if (!plain || (isDeclared && !inside)) return checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation);
    const members = type.getProperties().map((property) => {
      const text = part(checker.getTypeOfSymbol(property), isOptional(property));
      return `${property.name}${isOptional(property) ? "?" : ""}: ${text}`;
    });
    return `{ ${members.join("; ")} }`;
  }
}

/** One text of several; of JSON that may be left out the checker forgets the name. */
function unionOf(parts) {
  const bool = parts.includes("true") && parts.includes("false");
  const rest = bool ? parts.filter((one) => one !== "true" && one !== "false") : parts;
  const text = [...new Set(bool ? ["boolean", ...rest] : rest)]
    .sort((a, b) => (a === "undefined") - (b === "undefined"))
    .join(" | ");
  return text.replace("boolean | null | string | number | Json[] | { readonly [key: string]: Json; }", "Json");
}

/** What two texts of one type have in common, whatever the order of their variants. */
const keyOf = (text) => (text.startsWith("{") && !text.includes("} | {") ? text : text.split(" | ").sort().join(" | "));
/** As a caller writes it, members that have a default may be left out; it is the same shape. */
const looseKey = (key) => key.replaceAll("?:", ":");
const arrayOf = (text) => (/ [|&] /.test(text) && !text.startsWith("{") ? `(${text})[]` : `${text}[]`);

export const isOptional = (property) => (property.flags & ts.SymbolFlags.Optional) !== 0;
export const withoutUndefined = (text) => text.replace(/ \| undefined$/, "");

/** The members of a type, of an interface its own: name, type as text, and what is said of it. */
export function membersOf(printer, type, declaration, where) {
  return type
    .getProperties()
    .filter(({ name }) => !name.startsWith("__@"))
    .filter(
      ({ declarations }) => !ts.isInterfaceDeclaration(declaration) || declarations?.some(({ parent }) => parent === declaration),
    )
    .map((property) => {
      const node = property.declarations?.[0];
      const written =
        node !== undefined && (ts.isPropertySignature(node) || ts.isPropertyDeclaration(node)) ? node.type : undefined;
      const isMethod = node !== undefined && ts.isMethodSignature(node);
      const text = isMethod
        ? `(${node.parameters.map(parameterText).join(", ")}) => ${squeeze(node.type.getText())}`
        : written !== undefined && !isGeneric(written)
          ? squeeze(written.getText())
          : printer.text(printer.checker.getTypeOfSymbol(property), isOptional(property));
      return {
        name: `${property.name}${isOptional(property) ? "?" : ""}`,
        type: isOptional(property) ? withoutUndefined(text) : text,
        comment: node === undefined ? undefined : commentOf(node, `${where}.${property.name}`),
      };
    });
}

/** Types that stand for others by their parameters are printed as what they come to. */
const isGeneric = (node) => /\b(Omit|Pick|Extract|FieldsOf|z\.)/.test(node.getText());

/** Whether a type is told by its members; unions, functions and the like are told as they are written. */
export function isRecord(node, type) {
  if (ts.isInterfaceDeclaration(node)) return true;
  if (!ts.isTypeLiteralNode(node.type) && !isSchema(node.type)) return false;
  return (
    !type.isUnion() &&
    (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0 &&
    type.getCallSignatures().length === 0
  );
}

/** The right side of a declaration: as it is written, or what it comes to where a schema says it. */
export function declared(printer, node, type, where) {
  const source = node.getSourceFile().text;
  if (!isSchema(node.type)) return withoutSections(source.slice(node.type.getFullStart(), node.type.end).trim(), where);
  const text = printer.madeOf(type, true, false);
  if (!type.isUnion()) return text;
  const variants = type.types.map((one) => printer.madeOf(one, true, false));
  return text.length <= 90 ? text : `\n  | ${variants.join("\n  | ")}`;
}

const isSchema = (node) => /\bz\./.test(node.getText());

export { squeeze };
