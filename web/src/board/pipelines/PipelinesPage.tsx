import { Button, Code, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconArrowRight, IconPlayerPlay, IconRoute } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { PipelineView } from "@/client";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { pipelinesQuery } from "../data";
import classes from "./PipelinesPage.module.css";

export function PipelinesPage() {
  const found = useQuery(pipelinesQuery);
  const alive = found.data?.filter((each) => each.archived_at === null);
  return (
    <>
      <PageHead title="Pipelines" text="What a run makes, step by step." />
      {found.isError && <Problem problem={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading h={180} />}
      {alive?.length === 0 && (
        <EmptyState icon={IconRoute} title="No pipelines yet" text="A pipeline is written as a small file and applied from a terminal.">
          <Code block>comfyfleet pipelines apply pipeline.yaml</Code>
        </EmptyState>
      )}
      <SimpleGrid cols={{ base: 1, lg: 2 }} component="ul" style={{ listStyle: "none", padding: 0, margin: 0 }}>
        {alive?.map((pipeline) => <PipelineCard key={pipeline.id} pipeline={pipeline} />)}
      </SimpleGrid>
    </>
  );
}

function PipelineCard({ pipeline }: { pipeline: PipelineView }) {
  return (
    <li className={`surface ${classes.card}`}>
      <Stack gap="md" h="100%">
        <div>
          <Title order={2}>{pipeline.name}</Title>
          <Text size="sm" className="quiet">Version {pipeline.version} · <Ago at={pipeline.created_at} /></Text>
        </div>
        {pipeline.description && <Text size="sm">{pipeline.description}</Text>}
        <ol className={classes.steps}>
          {pipeline.steps.map((step, index) => (
            <li key={step.position} className={classes.step}>
              {index > 0 && <IconArrowRight size={16} aria-hidden className={classes.arrow} />}
              <span className={classes.name}>
                <Text size="sm" fw={600}>{step.name}</Text>
                <Text size="xs" className="quiet">{step.effect}</Text>
              </span>
            </li>
          ))}
        </ol>
        <Group mt="auto" justify="space-between">
          <Text size="xs" className="quiet">
            {pipeline.variables.length > 0 ? `Needs ${pipeline.variables.join(", ")}` : "Needs nothing"}
          </Text>
          <Button
            renderRoot={(props) => <Link to="/runs/new" search={{ pipeline: pipeline.slug }} {...props} />}
            leftSection={<IconPlayerPlay size={16} />}
          >
            Start a run
          </Button>
        </Group>
      </Stack>
    </li>
  );
}
