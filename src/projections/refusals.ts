// The last refusal of each kind about a subject, and the last of all: where its history goes on.
import { projection } from "./projection.ts";

export const refusals = projection("refusals", {
  "command.refused": (fact) => {
    const { subject, position, at } = fact;
    const { code, refusedOwner: owner } = fact.facts as unknown as { code: string; refusedOwner: string };
    const of = { subjectKind: subject.kind, subjectId: subject.id, at, position };
    return [
      { put: "refusals", row: { ...of, code, owner } },
      { put: "refusals", row: { ...of, code: "", owner: "" } },
    ];
  },
});
