// Patterns in linear time: what they mean is what they mean in ECMAScript.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linearPattern } from "../../src/domain/schema-patterns.ts";

describe("patterns", () => {
  const TEXTS = [
    ..."abABK09_- \t\n\r\u000b\u00a0\u2028\ufeffßαé٣\u212a\b\0\u0001[]:^$/{}.".split(""),
    ..."😀|a\n|\na|a\nb|ab||aa|aaa|a-b|x y|ab cd|😀😂".split("|"),
  ];
  const PATTERNS = [
    ...[
      "^a$",
      "a$",
      "^",
      "$",
      "^$",
      "a.b",
      "^.$",
      "^.*$",
      "[\\s\\S]",
      "\\/",
      "\\bab\\b",
      "\\B",
      "[]",
      "[^]",
      "[^^]",
      "[a^]",
      "[$^.]",
    ],
    ...[
      "\\d",
      "\\D",
      "\\w",
      "\\W",
      "\\s",
      "\\S",
      "[\\s]",
      "[^\\s]",
      "[\\S]",
      "[^\\S]",
      "[\\d\\s]",
      "[^\\d\\S]",
      "[\\W]",
      "[^\\W]",
      "[\\w-]",
    ],
    ...[
      "\\u0061",
      "\\u{1F600}",
      "\\uD83D\\uDE00",
      "[\\uD83D\\uDE00-\\uD83D\\uDE10]",
      "\\x41",
      "\\cA",
      "\\0",
      "[\\b]",
      "[\\t\\v]",
      "\\t|\\v|\\f",
    ],
    ...[
      "[a-c]",
      "[-a]",
      "[a-]",
      "[\\-a]",
      "[\\]]",
      "[[]",
      "[{}]",
      "\\.",
      "\\$",
      "\\{",
      "(?:)",
      "()",
      "(?<n>a)b",
      "a|b|",
      "(a|b)+",
      "a{2}",
      "a{2,}",
    ],
    ...[
      "a{1,2}?",
      "^(?:a|ab)$",
      "\\p{L}",
      "\\P{L}",
      "[^\\p{L}]",
      "\\p{Lu}",
      "\\p{Script=Greek}",
      "\\p{gc=Nd}",
      "😀",
      "^[😀-😂]$",
      "^(?:😀|a){2}$",
    ],
  ];

  it("mean what they mean in ECMAScript with the u flag", () => {
    for (const pattern of PATTERNS) {
      const [native, linear] = [new RegExp(pattern, "u"), linearPattern(pattern)];
      for (const text of TEXTS)
        expect({ pattern, text, found: linear.test(text) }).toEqual({ pattern, text, found: native.test(text) });
    }
  });

  it("mean so in any combination", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      ".",
      "\\d",
      "\\s",
      "\\S",
      "[^a]",
      "[a-c]",
      "\\n",
      "\\u{1F600}",
      "(?:ab)",
      "(a|b)",
      "[\\S-]",
      "\\b",
      "^",
      "$",
      "|",
    );
    const term = fc
      .tuple(atom, fc.constantFrom("", "", "*", "+?", "?", "{2}", "{1,3}"))
      .map(([a, q]) => (/^(?:\\b|\^|\$|\|)$/.test(a) ? a : a + q));
    const text = fc
      .array(fc.constantFrom("a", "b", "c", "1", " ", "\n", "\u2028", "😀", "-"), { maxLength: 6 })
      .map((chars) => chars.join(""));
    fc.assert(
      fc.property(fc.array(term, { maxLength: 5 }), text, (terms, probe) => {
        const pattern = terms.join("");
        expect(linearPattern(pattern).test(probe)).toBe(new RegExp(pattern, "u").test(probe));
      }),
    );
  });

  it("that take a backtracking engine for ever are answered at once", () => {
    const text = "a".repeat(50_000);
    expect(linearPattern("^(?:a|a)*b$").test(text)).toBe(false);
    expect(linearPattern("^(a+)+$").test(`${text}!`)).toBe(false);
  });
});
