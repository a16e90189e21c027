/** From a graph to a workflow: drop it, correct what is proposed, register. */
import { Group, Stack, Text, Textarea, Button } from "@mantine/core";
import { IconFileImport } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { adminGetWorkflow, adminProposeWorkflow, type ProposalView } from "@/client";
import { DropZone } from "@/parts/DropZone";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { FleetFault } from "@/app/errors";
import { readGraph, type Graph } from "./graph";
import { RegisterForm } from "./RegisterForm";
import { bytesText } from "../parts/numbers";
import { useRead } from "../parts/reading";
import { useWanted } from "../parts/search";

const GRAPH_BYTES_MAX = 8 * 1024 ** 2;
type Dropped = { graph: Graph; name: string; proposal: ProposalView };

export function ImportPage() {
  const { of } = useWanted<{ of?: string }>();
  const [dropped, setDropped] = useState<Dropped | null>(null);
  const [text, setText] = useState("");
  const base = useRead(["workflow", of ?? ""], () => adminGetWorkflow({ path: { slug: of ?? "" }, throwOnError: true }), { enabled: of !== undefined });
  const propose = useMutation({
    mutationFn: async ({ text = "", name = "", refused }: { text?: string; name?: string; refused?: string }): Promise<Dropped> => {
      const read = refused ? { problem: refused } : readGraph(text);
      if ("problem" in read) throw new FleetFault({ code: "no_graph", message: read.problem, details: {} });
      const { data } = await adminProposeWorkflow({ body: { graph: read.graph }, throwOnError: true });
      return { graph: (data.converted as Graph | null) ?? read.graph, name, proposal: data };
    },
    onSuccess: setDropped,
  });
  const take = async (files: File[]) => {
    const file = files[0];
    if (file) propose.mutate({ text: await file.text(), name: file.name.replace(/\.json$/i, "") });
  };
  return (
    <>
      <PageHead title={of ? `A new version of ${of}` : "Import a graph"} text={dropped ? "Correct what users may set, then register it. Nothing is kept before." : "As ComfyUI saves it, or exports it with “Export (API)”."} />
      {base.isError && !base.data && <Problem problem={base.error} again={() => void base.refetch()} />}
      {dropped && (!of || base.data) ? <RegisterForm key={dropped.proposal.content_hash} {...dropped} of={base.data} again={() => setDropped(null)} /> : (
        <Stack maw={760}>
          <DropZone onDrop={(files) => void take(files)} accept={{ "application/json": [".json"] }} multiple={false} maxSize={GRAPH_BYTES_MAX} loading={propose.isPending}
            onReject={(files) => propose.mutate({ refused: refusalOf(files[0]?.file) })}>
            <Stack align="center" gap={6} py={56} style={{ pointerEvents: "none" }}>
              <IconFileImport size={38} stroke={1.3} aria-hidden />
              <Text fw={600}>Drop a graph here</Text>
              <Text size="sm" className="quiet">or click to choose a .json file</Text>
            </Stack>
          </DropZone>
          {propose.isError && <Problem problem={propose.error} />}
          {propose.isPending && <Loading h={60} />}
          <Textarea label="Or paste it" autosize minRows={3} maxRows={10} value={text} onChange={(event) => setText(event.currentTarget.value)} styles={{ input: { fontFamily: "ui-monospace, monospace", fontSize: 13 } }} />
          <Group><Button variant="default" disabled={!text.trim()} loading={propose.isPending} onClick={() => propose.mutate({ text, name: "" })}>Look at it</Button></Group>
        </Stack>
      )}
    </>
  );
}

function refusalOf(file: File | undefined): string {
  if (file && file.size > GRAPH_BYTES_MAX) return `This file is too large for a graph: ${bytesText(file.size)}. The most is ${bytesText(GRAPH_BYTES_MAX)}.`;
  return "This is not a graph. Choose one .json file, as ComfyUI saves or exports it.";
}
