import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { getRanking, type RunView } from "@/client";
import { Ago } from "@/parts/Ago";
import { StatusBadge } from "@/parts/StatusBadge";
import { BudgetMeters, RunProgress } from "../Budget";
import { standing } from "../looks";
import { Thumb } from "../parts/Thumb";
import classes from "./RunCard.module.css";

const SHOWN = 5;

export function RunCard({ run }: { run: RunView }) {
  return (
    <li>
      <Link to="/runs/$runId" params={{ runId: run.id }} className={`${classes.card} surface`}>
        <Stack gap="sm">
          <Group justify="space-between" wrap="nowrap" gap="xs">
            <Text fw={650} className={classes.name}>{run.name}</Text>
            <span className={classes.status}><StatusBadge status={run.status} /></span>
          </Group>
          <Best run={run} />
          <Text size="sm" className="quiet">{standing(run)}</Text>
          <div className={classes.meters}>
            <RunProgress run={run} />
            <BudgetMeters run={run} />
          </div>
          <Text size="xs" className="quiet">{run.pipeline} {run.pipeline_version} · <Ago at={run.created_at} /></Text>
        </Stack>
      </Link>
    </li>
  );
}

/** The best of the furthest step that has any. */
function Best({ run }: { run: RunView }) {
  const furthest = [...run.steps].reverse().find((step) => step.alive > 0);
  const found = useQuery({
    queryKey: ["best-of-run", run.id, furthest?.position, furthest && Math.min(furthest.alive, SHOWN), furthest?.votes],
    queryFn: async () => {
      const query = { position: furthest?.position, limit: SHOWN };
      return (await getRanking({ path: { run_id: run.id }, query, throwOnError: true })).data.candidates;
    },
    enabled: furthest !== undefined,
    staleTime: 60_000,
  });
  return (
    <div className={classes.pictures}>
      {Array.from({ length: SHOWN }, (_, index) => {
        const candidate = found.data?.[index];
        return candidate && <Thumb key={candidate.id} url={candidate.thumb_url} alt="" />;
      })}
    </div>
  );
}
