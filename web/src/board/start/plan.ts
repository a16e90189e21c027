/** What a run will make and cost, and what its variables are: known before anything is begun. */
import type { OfferView, OpenPropertyView, PipelineView, StepView } from "@/client";

export type Plan = { jobs: number; tokens: number | null };

/** At most, when every picture succeeds and every gate lets its best through. */
export function planOf(pipeline: PipelineView, effects: Pick<OfferView, "slug" | "credits_cost">[], variants: number, top: number): Plan {
  const prices = new Map(effects.map((effect) => [effect.slug, effect.credits_cost]));
  let [jobs, tokens, parents] = [0, 0 as number | null, 1];
  for (const step of pipeline.steps) {
    const count = parents * (step.variants ?? variants);
    jobs += count;
    const price = prices.get(step.effect);
    tokens = tokens === null || price === undefined ? null : tokens + count * price;
    parents = Math.min(top, count);
  }
  return { jobs, tokens };
}

/** The property of an effect that a variable becomes, where it becomes one whole; its type is then known. */
export function propertyOf(variable: string, pipeline: PipelineView, effects: { slug: string; properties: OpenPropertyView[] }[]): OpenPropertyView | null {
  for (const step of pipeline.steps) {
    if (!step.variables.includes(variable)) continue;
    const name = wholeName(variable, step);
    const found = effects.find((effect) => effect.slug === step.effect)?.properties.find((each) => each.name === name);
    if (found && found.type !== "text") return found;
  }
  return null;
}

function wholeName(variable: string, step: StepView): string {
  const written = Object.entries(step.properties).find(([, value]) => value === `{${variable}}`);
  return written?.[0] ?? variable;
}

/** `Gym shoot 2` → `gym-shoot-2`: a folder that every file system takes. */
export function folderOf(name: string): string {
  const plain = name.normalize("NFKD").replace(/[^\x20-\x7e]/g, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "run";
}
