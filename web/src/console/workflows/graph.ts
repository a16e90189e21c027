/** A ComfyUI graph in its API form, laid out from left to right. Pure. */
import { graphlib, layout } from "@dagrejs/dagre";

export type Graph = Record<string, { class_type?: string; inputs?: Record<string, unknown>; _meta?: { title?: string } }>;
export type Box = { id: string; title: string; kind: string; values: [string, string][]; x: number; y: number; tall: number };
export type Wire = { id: string; from: string; to: string; input: string };

export const BOX_W = 230;
const HEAD_H = 46;
const LINE_H = 20;
const VALUES_MAX = 5;

export function layOut(graph: Graph): { boxes: Box[]; wires: Wire[] } {
  const plan = new graphlib.Graph();
  plan.setGraph({ rankdir: "LR", nodesep: 24, ranksep: 70 });
  plan.setDefaultEdgeLabel(() => ({}));
  const boxes: Omit<Box, "x" | "y">[] = [];
  const wires: Wire[] = [];
  for (const [id, node] of Object.entries(graph)) {
    const inputs = Object.entries(node.inputs ?? {});
    const values = inputs.filter(([, value]) => !isLink(value, graph)).slice(0, VALUES_MAX).map(([name, value]): [string, string] => [name, shown(value)]);
    const kind = node.class_type ?? "unknown";
    const tall = HEAD_H + values.length * LINE_H + (values.length > 0 ? 10 : 0);
    boxes.push({ id, kind, title: node._meta?.title ?? kind, values, tall });
    plan.setNode(id, { width: BOX_W, height: tall });
    for (const [name, value] of inputs) {
      if (isLink(value, graph)) wires.push({ id: `${String(value[0])}-${id}-${name}`, from: String(value[0]), to: id, input: name });
    }
  }
  for (const wire of wires) plan.setEdge(wire.from, wire.to);
  layout(plan);
  return {
    boxes: boxes.map((box) => {
      const place = plan.node(box.id) as { x: number; y: number };
      return { ...box, x: place.x - BOX_W / 2, y: place.y - box.tall / 2 };
    }),
    wires,
  };
}

function isLink(value: unknown, graph: Graph): value is [string | number, number] {
  return Array.isArray(value) && value.length === 2 && String(value[0]) in graph && typeof value[1] === "number";
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** What a dropped file holds, or a sentence about what is wrong with it. */
export function readGraph(text: string): { graph: Graph } | { problem: string } {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return { problem: "This is not JSON." };
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) return { problem: "A graph is a JSON object: node ids, each with its class and inputs." };
  // Some tools wrap it.
  const inner = "prompt" in found && typeof found.prompt === "object" && found.prompt !== null ? found.prompt : found;
  return { graph: inner as Graph };
}
