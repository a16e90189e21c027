import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { BusyWorkerView } from "@/client";
import { percentText } from "../parts/numbers";
import classes from "./WorkerTiles.module.css";

const SHOWN_MAX = 240;

/** A tile for each; the fuller, the busier. */
export function WorkerTiles({ workers }: { workers: BusyWorkerView[] }) {
  const there = workers.filter((each) => each.status !== "gone" && each.status !== "revoked");
  if (there.length === 0) return <Text size="sm" className="quiet">No worker is there.</Text>;
  return (
    <>
      <ul className={classes.tiles}>
        {there.slice(0, SHOWN_MAX).map((each) => (
          <li key={each.worker_id}>
            <Link to="/console/workers/$workerId" params={{ workerId: each.worker_id }} className={classes.tile} data-status={each.status}>
              <span className={classes.fill} style={{ width: `${each.busy_share * 100}%` }} />
              <span className={classes.name}>{each.worker_id}</span>
              <span className={`${classes.share} numbers`}>{each.status === "approved" ? percentText(each.busy_share) : each.status}</span>
            </Link>
          </li>
        ))}
      </ul>
      {there.length > SHOWN_MAX && <Text size="sm" className="quiet" mt="sm">and {there.length - SHOWN_MAX} more</Text>}
    </>
  );
}
