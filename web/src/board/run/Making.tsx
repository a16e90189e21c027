/** How a candidate was made: the effect, every value, and the very graph its worker ran. */
import { Button, Code, Group, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { NotYet } from "@/parts/NotYet";
import { makingQuery } from "../data";
import classes from "./CandidateDrawer.module.css";

export function Making({ id }: { id: string }) {
  const making = useQuery(makingQuery(id));
  const [shown, show] = useState(false);
  if (!making.data) return <NotYet of={making} h={120} />;
  const { effect, workflow_version: version, properties, graph } = making.data;
  return (
    <div>
      <Title order={3} size="h5" mb={6}>How it was made</Title>
      <dl className={`${classes.facts} numbers`}>
        <dt>Effect</dt><dd>{effect ?? "not known any more"}{version !== null && `, workflow version ${version}`}</dd>
        {Object.entries(properties).map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`}>{text(value)}</dd>])}
      </dl>
      {graph === null ? (
        <Text size="sm" className="quiet" mt="xs">Its graph was deleted for its age.</Text>
      ) : (
        <>
          <Group gap="xs" mt="sm">
            <Button size="compact-sm" variant="default" aria-expanded={shown} onClick={() => show(!shown)}>{shown ? "Hide the graph" : "Show the graph"}</Button>
          </Group>
          {shown && <Code block mt="xs" className={classes.graph} tabIndex={0}>{JSON.stringify(graph, null, 2)}</Code>}
        </>
      )}
    </div>
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
