import { Background, Controls, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps, type ReactFlowInstance } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo, useState } from "react";
import { BOX_W, layOut, type Box, type Graph } from "./graph";
import classes from "./GraphView.module.css";

type BoxNode = Node<{ box: Box; marked: boolean }, "box">;
const TYPES = { box: BoxCard };
const WHOLE = { maxZoom: 1 };

/** `marked`: nodes that users' values go to. */
export function GraphView({ graph, marked = [], height = 460 }: { graph: Graph; marked?: string[]; height?: number }) {
  const scheme = useComputedColorScheme("light");
  const { nodes, edges } = useMemo(() => {
    const { boxes, wires } = layOut(graph);
    return {
      nodes: boxes.map((box): BoxNode => ({ id: box.id, type: "box", position: { x: box.x, y: box.y }, data: { box, marked: marked.includes(box.id) }, draggable: false, connectable: false })),
      edges: wires.map((wire): Edge => ({ id: wire.id, source: wire.from, target: wire.to })),
    };
  }, [graph, marked]);
  const [flow, setFlow] = useState<ReactFlowInstance<BoxNode> | null>(null);
  const { ref, width } = useElementSize();
  // A phone that is turned, a window that is drawn wider: the whole graph again.
  useEffect(() => void flow?.fitView(WHOLE), [flow, width]);
  return (
    <div ref={ref} className={classes.frame} style={{ height }} role="figure" aria-label={`Graph of ${nodes.length} nodes`}>
      <ReactFlow nodes={nodes} edges={edges} nodeTypes={TYPES} onInit={setFlow} fitView fitViewOptions={WHOLE} minZoom={0.05} colorMode={scheme} nodesFocusable={false} edgesFocusable={false} proOptions={{ hideAttribution: true }}>
        <Background gap={22} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function BoxCard({ data: { box, marked } }: NodeProps<BoxNode>) {
  return (
    <div className={classes.box} style={{ width: BOX_W, height: box.tall }} data-marked={marked || undefined}>
      <Handle type="target" position={Position.Left} className={classes.handle} />
      <div className={classes.title}>{box.title}</div>
      <div className={classes.kind}>{box.id} · {box.kind}</div>
      {box.values.length > 0 && (
        <dl className={classes.values}>
          {box.values.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
        </dl>
      )}
      <Handle type="source" position={Position.Right} className={classes.handle} />
    </div>
  );
}
