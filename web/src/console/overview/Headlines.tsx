/** Four answers, to be read in five seconds. */
import { SimpleGrid } from "@mantine/core";
import type { ReactNode } from "react";
import type { OverviewView } from "@/client";
import { secondsText } from "@/parts/times";
import { numberText, percentText } from "../parts/numbers";
import { failuresOf } from "./failures";
import { healthOf, takersOf, takersText, type Tone } from "./health";
import classes from "./Headlines.module.css";

const FULL = 0.95;
const LONG_S = 600;
const RATE_OVER = 5;

export function Headlines({ found }: { found: OverviewView }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="md">
      <Health found={found} />
      <Load found={found} />
      <Queue found={found} />
      <Rate found={found} />
    </SimpleGrid>
  );
}

function Card({ title, tone, value, children }: { title: string; tone: Tone; value: ReactNode; children: ReactNode }) {
  return (
    <section className={`surface ${classes.card}`} data-tone={tone} aria-label={title}>
      <h2 className={classes.title}>{title}</h2>
      <div className={`${classes.value} numbers`}>{value}</div>
      <div className={classes.text}>{children}</div>
    </section>
  );
}

function Health({ found }: { found: OverviewView }) {
  const { tone, value, text } = healthOf(found);
  return <Card title="Health" tone={tone} value={value}>{text}</Card>;
}

function Load({ found }: { found: OverviewView }) {
  const { taking, there } = takersOf(found);
  const slots = found.workers.filter((each) => each.status === "approved").reduce((sum, each) => sum + each.max_concurrency, 0);
  const running = found.workflows.reduce((sum, each) => sum + each.running, 0);
  const share = found.busy_share ?? null;
  return (
    <Card title="Busy, last hour" tone={share !== null && share >= FULL ? "fair" : "calm"} value={share === null ? "–" : percentText(share)}>
      <div className={classes.meter} role="img" aria-label={share === null ? "No workers" : `${percentText(share)} busy`}>
        <div style={{ width: percentText(share ?? 0).replace(" ", "") }} />
      </div>
      {numberText(running)} leased now · {taking === there && there > 0 ? `${there} ${there === 1 ? "worker" : "workers"}` : takersText(taking, there)}{slots > 0 && `, ${slots} at once`}
    </Card>
  );
}

function Queue({ found }: { found: OverviewView }) {
  const queued = found.workflows.reduce((sum, each) => sum + each.queued, 0);
  const more = found.workflows.some((each) => each.is_at_least);
  const oldest = Math.max(0, ...found.workflows.map((each) => each.oldest_s ?? 0));
  const stuck = found.workflows.filter((each) => each.waits_because).length;
  return (
    <Card title="Waiting" tone={stuck > 0 ? "bad" : oldest > LONG_S ? "fair" : "calm"} value={numberText(queued, more)}>
      {queued === 0 ? "Nobody waits" : `Longest ${secondsText(oldest)} · ${found.tenants.length} ${found.tenants.length === 1 ? "tenant" : "tenants"}`}
      {found.delayed > 0 && ` · ${numberText(found.delayed, found.delayed_is_at_least)} after a failure`}
    </Card>
  );
}

function Rate({ found }: { found: OverviewView }) {
  const lately = found.last_hour.completed.slice(-RATE_OVER - 1, -1);
  const rate = lately.reduce((sum, each) => sum + each, 0) / RATE_OVER;
  const { done, failed, share } = failuresOf(found.last_hour);
  return (
    <Card title="Finished a minute, lately" tone={share > 0.1 ? "fair" : "calm"} value={rate.toFixed(rate < 10 ? 1 : 0)}>
      {numberText(done)} in the last hour · {failed === 0 ? "no failures" : `${percentText(share)} of attempts failed`}
    </Card>
  );
}
