// Every property that sets no seed of its own has that of the run: the same cases for one commit, as in test/model.
import * as fc from "fast-check";
import { seedFor } from "./model/seeds.ts";

fc.configureGlobal({ seed: seedFor("all properties") });
