import js from "@eslint/js";
import tseslint from "typescript-eslint";

const strays = [
  { object: "Date", property: "now", message: "Time comes from the injected clock." },
  { object: "Math", property: "random", message: "Randomness comes from the injected source." },
  { object: "performance", property: "now", message: "Time comes from the injected clock." },
  { object: "process", property: "env", message: "Nothing below cli/ reads the environment." },
];

export default tseslint.config(
  { ignores: ["dist", "build", "coverage", "node_modules"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", ignoreRestSiblings: true },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      "@typescript-eslint/no-meaningless-void-operator": "off",
      "@typescript-eslint/no-unnecessary-condition": "off",
      "@typescript-eslint/prefer-readonly": "error",
      "@typescript-eslint/no-dynamic-delete": "off",
      "@typescript-eslint/non-nullable-type-assertion-style": "off",
      "@typescript-eslint/prefer-optional-chain": "off",
      "@typescript-eslint/prefer-nullish-coalescing": "off",
      "@typescript-eslint/only-throw-error": "off",
      "@typescript-eslint/prefer-promise-reject-errors": "off",
      "@typescript-eslint/unified-signatures": "off",
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      "@typescript-eslint/use-unknown-in-catch-callback-variable": "error",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "max-lines-per-function": ["error", { max: 50, skipBlankLines: true, skipComments: true }],
      "max-lines": ["error", { max: 250 }],
    },
  },
  {
    files: ["src/**/*.ts"],
    ignores: ["src/core/clock.ts", "src/cli/**"],
    rules: {
      "no-restricted-properties": ["error", ...strays],
      "no-restricted-globals": ["error", "setTimeout", "setInterval", "performance"],
      "no-console": "error",
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/require-await": "off",
      "max-lines-per-function": "off",
    },
  },
  {
    files: ["**/*.{js,mjs}"],
    languageOptions: {
      globals: {
        process: "readonly",
        console: "readonly",
        setTimeout: "readonly",
        setImmediate: "readonly",
        clearTimeout: "readonly",
        performance: "readonly",
        URL: "readonly",
        Buffer: "readonly",
        AbortSignal: "readonly",
        AbortController: "readonly",
        structuredClone: "readonly",
      },
    },
  },
);
