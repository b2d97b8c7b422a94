import { appendFileSync } from "node:fs"; import { it } from "vitest";
import { schemaVerdict } from "../../src/domain/json-schema.ts";
it("x", () => {
  let deep:any=1; for(let i=0;i<490;i++) deep={a:deep};
  for (const n of [14,16,18,20,400]) { let d:any=1; for(let i=0;i<n;i++) d={a:d};
  const t=performance.now(); const r=schemaVerdict({anyOf:[{type:"string"},{type:"object",properties:{a:{$ref:"#"}}},{type:"object",properties:{a:{$ref:"#"}}}]}, d);
  appendFileSync("/tmp/zz/log2", JSON.stringify(r).slice(0,200)+" "+n+" "+(performance.now()-t)+" "+process.memoryUsage().heapUsed/1e6+"\n"); }
}, 60000);
