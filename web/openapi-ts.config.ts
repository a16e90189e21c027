import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "@hey-api/openapi-ts";

type Operation = { operationId?: string; tags?: string[] };
type Description = { paths: Record<string, Record<string, Operation>> };

/** FastAPI's ids hold the whole path. Ours: the verb, with `admin_` before what is for operators. */
function named(description: Description): Description {
  const taken = new Set<string>();
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!operation.operationId) continue;
      const tail = `${path}_${method}`.replace(/\W/g, "_");
      const verb = operation.operationId.endsWith(tail) ? operation.operationId.slice(0, -tail.length) : operation.operationId;
      const bare = path.startsWith("/api/admin/") ? `admin_${verb}` : verb;
      const name = taken.has(bare) ? `${bare}_of_${operation.tags?.[0] ?? method}` : bare;
      if (taken.has(name)) throw new Error(`two operations are called ${name}`);
      taken.add(name);
      operation.operationId = name;
    }
  }
  return description;
}

const path = join(import.meta.dirname, "../tests/snapshots/openapi.json");

export default defineConfig({
  input: named(JSON.parse(readFileSync(path, "utf8")) as Description) as unknown as Record<string, unknown>,
  output: { path: "src/client" },
  logs: { level: "error" },
  plugins: ["@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch", "@tanstack/react-query"],
});
