// How an ECMAScript pattern is run in linear time: translated to RE2 syntax, refused where that has no equal.
import { RE2JS } from "re2js";

/** A pattern that can be run; `size` is that of its program, in instructions. */
export interface LinearPattern {
  test(text: string): boolean;
  readonly size: number;
}

/** Instructions of one pattern's program: compiling stays in the milliseconds, and matching near a microsecond a character. */
export const PATTERN_SIZE_MAX = 10_000;

/**
 * Compiles the `pattern` of a JSON Schema: ECMAScript syntax with the `u` flag, searched anywhere in the text.
 *
 * @throws Error with the reason: malformed, or without an equal in RE2 (look-around, back references, inline flags, a
 * counted repeat over 1,000, an unknown property, too large).
 */
export function linearPattern(pattern: string): LinearPattern {
  checkSyntax(pattern);
  const translated = new Translator(pattern).run();
  const compiled = RE2JS.compile(translated);
  return { test: (text) => compiled.test(text), size: compiled.programSize() };
}

/** Only compiled, never run: from here on the pattern is known to be well-formed. */
function checkSyntax(pattern: string): void {
  new RegExp(pattern, "u");
}

const ALL = "\\x{0}-\\x{10FFFF}";
const NOT_LINE_END = "[^\\n\\r\\x{2028}\\x{2029}]";
/** What `\s` is in ECMAScript: RE2's has ASCII only. */
const SPACE = "\\x{9}-\\x{D}\\x{20}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";
const NOT_SPACE =
  "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}" +
  "\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}";
const CONTROL_ESCAPES: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, "0": 0 };
const QUANTIFIER = /[*+?]|\{([0-9]+)(?:,([0-9]*))?\}/y;

/** A member of a class: one code point, or text that stands for a set. */
type Atom = number | string;

class Translator {
  readonly #pattern: string;
  #at = 0;
  #out = "";
  /** Estimated instructions of the groups that are open, innermost last, and of the last atom. */
  readonly #sizes = [0];
  #last = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  run(): string {
    while (this.#at < this.#pattern.length) this.#term();
    return this.#out;
  }

  #term(): void {
    const char = this.#pattern[this.#at] as string;
    if (char === "(") return this.#open();
    if (char === ")") return this.#close();
    if (char === "[") return this.#emit(this.#class());
    if (char === "\\") return this.#emit(this.#outsideClass(this.#escape(false)));
    QUANTIFIER.lastIndex = this.#at;
    const quantifier = QUANTIFIER.exec(this.#pattern);
    if (quantifier !== null) return this.#quantify(quantifier);
    if (char === "." || char === "^" || char === "$" || char === "|") {
      this.#at++;
      return this.#emit(char === "." ? NOT_LINE_END : char);
    }
    this.#emit(literal(this.#codePoint()));
  }

  #emit(text: string): void {
    this.#out += text;
    this.#add(1);
  }

  #add(size: number): void {
    this.#last = size;
    const total = (this.#sizes.pop() as number) + size;
    if (total > PATTERN_SIZE_MAX) throw tooLarge();
    this.#sizes.push(total);
  }

  /** No group captures: only whether there is a match is asked. */
  #open(): void {
    const group = /\((?:\?(?::|<(?![=!])[^>]*>)|(?!\?))/y;
    group.lastIndex = this.#at;
    const found = group.exec(this.#pattern);
    if (found === null) throw new Error("look-around and inline flags cannot be run in linear time");
    this.#at += found[0].length;
    this.#out += "(?:";
    this.#sizes.push(1);
  }

  #close(): void {
    this.#at++;
    this.#out += ")";
    this.#add(this.#sizes.pop() as number);
  }

  #quantify(found: RegExpExecArray): void {
    const [text, least, most] = found;
    this.#at += text.length;
    this.#out += text;
    if (least === undefined) return this.#add(1);
    const times = Math.max(Number(least), Number(most === undefined || most === "" ? 0 : most), 1);
    this.#add(this.#last * (times - 1) + 1);
  }

  #codePoint(): number {
    const code = this.#pattern.codePointAt(this.#at) as number;
    this.#at += code > 0xffff ? 2 : 1;
    return code;
  }

  #outsideClass(atom: Atom): string {
    if (typeof atom === "number") return literal(atom);
    if (atom === SPACE || atom === NOT_SPACE) return `[${atom}]`;
    return atom;
  }

  #class(): string {
    this.#at++;
    const negated = this.#pattern[this.#at] === "^";
    if (negated) this.#at++;
    let members = "";
    while (this.#pattern[this.#at] !== "]") members += this.#classMember();
    this.#at++;
    if (members === "") return negated ? `[${ALL}]` : `[^${ALL}]`;
    return negated ? `[^${members}]` : `[${members}]`;
  }

  #classMember(): string {
    const low = this.#classAtom();
    if (typeof low === "string") return low;
    if (this.#pattern[this.#at] !== "-" || this.#pattern[this.#at + 1] === "]") return literal(low);
    this.#at++;
    return `${literal(low)}-${literal(this.#classAtom() as number)}`;
  }

  #classAtom(): Atom {
    return this.#pattern[this.#at] === "\\" ? this.#escape(true) : this.#codePoint();
  }

  #escape(inClass: boolean): Atom {
    this.#at++;
    const char = this.#pattern[this.#at] as string;
    if (char === "u") return this.#unicodeEscape();
    if (char === "p" || char === "P") return this.#property(char);
    this.#at++;
    if ("dDwW".includes(char)) return `\\${char}`;
    if (char === "s") return SPACE;
    if (char === "S") return NOT_SPACE;
    if (char === "b" && inClass) return 8;
    if (char === "b" || char === "B") return `\\${char}`;
    const control = CONTROL_ESCAPES[char];
    if (control !== undefined) return control;
    if (char === "c") return this.#pattern.charCodeAt(this.#at++) & 31;
    if (char === "x") return this.#hex(2);
    if (/[1-9k]/.test(char)) throw new Error("back references cannot be run in linear time");
    return char.charCodeAt(0);
  }

  #hex(digits: number): number {
    this.#at += digits;
    return Number.parseInt(this.#pattern.slice(this.#at - digits, this.#at), 16);
  }

  /** `\u{…}`, `\uXXXX`, and two of these that are one code point. */
  #unicodeEscape(): number {
    const escape = /u\{([0-9A-Fa-f]+)\}|u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})/y;
    escape.lastIndex = this.#at;
    const [text, braced, high, low, single] = escape.exec(this.#pattern) as RegExpExecArray;
    this.#at += text.length;
    if (high === undefined) return Number.parseInt((braced ?? single) as string, 16);
    return String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low as string, 16)).codePointAt(0) as number;
  }

  /** RE2 names scripts and general categories without saying which of both. */
  #property(letter: string): string {
    const end = this.#pattern.indexOf("}", this.#at);
    const name = this.#pattern.slice(this.#at + 2, end).replace(/^(?:Script|sc|General_Category|gc)=/, "");
    this.#at = end + 1;
    return `\\${letter}{${name}}`;
  }
}

function literal(code: number): string {
  return `\\x{${code.toString(16).toUpperCase()}}`;
}

function tooLarge(): Error {
  return new Error(`a program of more than ${PATTERN_SIZE_MAX} instructions`);
}
