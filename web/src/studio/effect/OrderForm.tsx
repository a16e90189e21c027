import { Alert, Button, Group, Progress, Stack, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState, type FormEvent } from "react";
import { flushSync } from "react-dom";
import { faultOf, sentenceOf } from "@/app/errors";
import type { OfferView } from "@/client";
import { InSight } from "@/parts/InSight";
import { focusField, PropertyForm } from "@/parts/PropertyForm";
import { firstValues, isMedia, problemsOf, type Value } from "@/parts/properties";
import { Tokens, tokensText } from "@/parts/Tokens";
import { asSentence } from "@/parts/sentences";
import { useInstallation } from "../installation";
import { MoreTokensButton, useWayToMore } from "../wallet/MoreTokens";
import { useWallet } from "../wallet/useWallet";
import { FileField } from "./FileField";
import { recallForm, rememberForm } from "./formMemory";
import { LeaveQuestion } from "./LeaveQuestion";
import { FileRefused, useOrder, type Files, type Stage } from "./order";
import { OrderProblem } from "./OrderProblem";
import { STOPPED } from "./send";

function changed<T>(known: Record<string, T>, name: string, value: T | undefined): Record<string, T> {
  const others = Object.entries(known).filter(([each]) => each !== name);
  return Object.fromEntries(value === undefined ? others : [...others, [name, value]]);
}

/** `gone`: why it is not offered any more. Said and not forbidden: it may come back. */
export function OrderForm({ effect, gone }: { effect: OfferView; gone: unknown }) {
  const installation = useInstallation();
  const navigate = useNavigate();
  const [typed, setTyped] = useState(() => recallForm(effect.slug, effect.properties));
  // Another version of its workflow may come into force meanwhile: what is new in it stands at its default.
  const values = { ...firstValues(effect.properties), ...typed };
  const [files, setFiles] = useState<Files>({});
  const [problems, setProblems] = useState<Record<string, string>>({});
  const form = useRef<HTMLFormElement>(null);
  const [failedAt, setFailedAt] = useState(0);
  const order = useOrder(effect);
  const wallet = useWallet();

  function change(name: string, value: Value) {
    const next = { ...values, [name]: value };
    setTyped(next);
    rememberForm(effect.slug, next);
    tellProblem(name, undefined);
  }
  function tellProblem(name: string, problem: string | undefined) {
    setProblems((known) => changed(known, name, problem));
  }
  function choose(name: string, file: File | undefined, problem: string | undefined) {
    setFiles((known) => changed(known, name, file));
    tellProblem(name, problem);
    order.reset();
  }
  function start() {
    const missing = effect.properties.filter((each) => isMedia(each) && each.required && !files[each.name]);
    const found = {
      ...problemsOf(effect.properties, values),
      ...Object.fromEntries(missing.map((each) => [each.name, problems[each.name] ?? `Choose ${each.type === "video" ? "a clip" : "a picture"} first.`])),
    };
    // At once: what is wrong is read out with the field that gets the focus.
    flushSync(() => setProblems(found));
    const first = effect.properties.find((each) => each.name in found);
    if (first) return focusField(form.current, first.name);
    // Told to this very call, and so to nobody who has left.
    order.mutate({ values, files }, {
      onSuccess: (job) => void navigate({ to: "/jobs/$jobId", params: { jobId: job.id } }),
      onError: (problem) => {
        setFailedAt(Date.now());
        if (problem instanceof FileRefused) choose(problem.property.name, undefined, sentenceOf(problem));
      },
    });
  }
  const busy = order.isPending;
  // Said and not forbidden: somebody may have added some since this was read.
  const isShort = wallet.data !== undefined && wallet.data.balance < effect.credits_cost;
  const wasStopped = faultOf(order.error).code === STOPPED;
  return (
    <form ref={form} noValidate onSubmit={(event: FormEvent) => { event.preventDefault(); start(); }}>
      <Stack gap="lg">
        {effect.unavailable_because !== null && (
          <Alert color="orange" title="Cannot run right now">{asSentence(effect.unavailable_because)}</Alert>
        )}
        {effect.waits_because !== null && <Alert color="orange" variant="light" title="Starts later">{asSentence(effect.waits_because)}</Alert>}
        <PropertyForm
          properties={effect.properties}
          values={values}
          problems={problems}
          disabled={busy}
          change={change}
          file={(property) => installation && (
            <FileField
              property={property}
              installation={installation}
              file={files[property.name]}
              problem={problems[property.name]}
              disabled={busy}
              change={(file, problem) => choose(property.name, file, problem)}
            />
          )}
        />
        {order.isError && !busy && (
          <InSight>
            {wasStopped ? <Text size="sm" role="status">{sentenceOf(order.error)}</Text> : <OrderProblem problem={order.error} isAnsweredSince={wallet.dataUpdatedAt > failedAt} again={start} />}
          </InSight>
        )}
        {gone !== null && !busy && !order.isError && <OrderProblem problem={gone} again={start} />}
        {isShort && !busy && !order.isError && <Short price={effect.credits_cost} balance={wallet.data?.balance ?? 0} />}
        {busy && <Going stage={order.stage} stop={order.stop} />}
        <LeaveQuestion uploading={order.stage.name === "sending" || order.stage.name === "checking"} />
        <Button type="submit" size="md" loading={busy} disabled={effect.unavailable_because !== null} leftSection={<IconPlayerPlay size={18} />}>
          <Group gap={8}>Start <Text span inherit fw={500}>· <Tokens amount={effect.credits_cost} /></Text></Group>
        </Button>
      </Stack>
    </form>
  );
}

/** Before anything is uploaded in vain. */
function Short({ price, balance }: { price: number; balance: number }) {
  const way = useWayToMore();
  return (
    <Stack gap="xs" align="start">
      <Text size="sm">This costs {tokensText(price)}; you have {tokensText(balance)}. {way}</Text>
      <MoreTokensButton />
    </Stack>
  );
}

function Going({ stage, stop }: { stage: Stage; stop: () => void }) {
  if (stage.name !== "sending") {
    return <Text size="sm" role="status">{stage.name === "checking" ? "Looking at your file…" : "Ordering…"}</Text>;
  }
  const percent = Math.round(stage.fraction * 100);
  return (
    <Stack gap={6}>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" truncate role="status">Uploading {stage.label}</Text>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm" className="numbers">{percent}%</Text>
          <Button size="compact-xs" variant="default" onClick={stop}>Stop</Button>
        </Group>
      </Group>
      <Progress value={percent} aria-label="Upload" />
    </Stack>
  );
}
