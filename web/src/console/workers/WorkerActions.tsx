import { Group } from "@mantine/core";
import { useState } from "react";
import { adminApproveWorker, adminDrainWorker, adminForgetWorker, adminRevokeWorker, adminRotateToken, type WorkerView } from "@/client";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { Act } from "../parts/Act";
import { then } from "../parts/reading";
import { ShownOnce } from "../parts/ShownOnce";

const leasesGoBack = (held: number) =>
  held === 0 ? "" : held === 1 ? ", and the lease it holds goes back to the queue at once" : `, and the ${held} leases it holds go back to the queue at once`;

/** What can be done to it now. A drain can be taken back; a revocation cannot. */
export function WorkerActions({ worker }: { worker: WorkerView }) {
  const [token, setToken] = useState<string | null>(null);
  const named = { path: { worker_id: worker.worker_id }, throwOnError: true } as const;
  const approve = () => adminApproveWorker(named);
  const drained = worker.drained_at !== null;
  const drain = () => adminDrainWorker(named);
  const rotate = async () => setToken((await adminRotateToken(named)).data.token);
  return (
    <Group gap="xs">
      {worker.status === "pending" && <Act label="Approve" variant="filled" act={approve} done={`${worker.worker_id} may take work.`} />}
      {drained && <Act label="Undrain" variant="filled" act={approve} done={`${worker.worker_id} takes work again.`} undo={drain} />}
      {(worker.status === "revoked" || (worker.status === "gone" && !drained)) && <Act label={worker.status === "revoked" ? "Approve" : "Approve"} act={approve} done={`${worker.worker_id} may register again.`} />}
      {worker.status === "approved" && <Act label="Drain" act={drain} done={`${worker.worker_id} gets nothing new.`} undo={approve} />}
      {worker.status !== "revoked" && (
        <ConfirmAction
          label="Rotate token"
          question={`A new token for worker “${worker.worker_id}”?`}
          text="The old one stops at once: the worker must be given the new one and started again, or waits until it was silent for a lease. What it holds stays with it."
          act={then(rotate)}
          done="The old token is dead."
        />
      )}
      {worker.status !== "revoked" && (
        <ConfirmAction
          label="Revoke"
          color="red"
          variant="light"
          question={`Shut out worker “${worker.worker_id}”?`}
          text={`Its token dies${leasesGoBack(worker.open_leases)}. This cannot be undone: it would have to register again.`}
          act={then(() => adminRevokeWorker(named))}
          done={`${worker.worker_id} is shut out.`}
        />
      )}
      {worker.status === "gone" && (
        <ConfirmAction
          label="Forget"
          question={`Forget worker “${worker.worker_id}”?`}
          text="Its name is free then, for any fleet. Its attempts stay in the history of their jobs."
          act={then(() => adminForgetWorker(named))}
          done={`${worker.worker_id} is forgotten.`}
        />
      )}
      <ShownOnce title="The new token" text="It is shown this once. Put it into the file worker.token of the worker's folder, and start it again." value={token} label="Copy the token" close={() => setToken(null)} />
    </Group>
  );
}
