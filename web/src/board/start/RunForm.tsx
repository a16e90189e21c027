import { Button, Collapse, Group, NumberInput, Paper, Select, SimpleGrid, Stack, Text, Textarea, TextInput, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { createRun, type OfferView, type PipelineView } from "@/client";
import { Problem } from "@/parts/Problem";
import { tokensText } from "@/parts/Tokens";
import { folderOf, planOf, propertyOf } from "./plan";

type Approval = "person" | "all" | "votes" | "sharpness" | "exposure" | "unique";
type Filled = {
  name: string; folder: string | null; variants: number; top: number; concurrency: number; approval: Approval; after: number;
  tokens_max: number | null; jobs_max: number | null; hours_max: number | null; finals: number | null; variables: Record<string, string | number>;
};

const APPROVALS: { value: Approval; label: string }[] = [
  { value: "person", label: "I choose at every gate" },
  { value: "votes", label: "By themselves, after enough votes" },
  { value: "all", label: "By themselves, at once" },
  { value: "sharpness", label: "By themselves, for the sharpest" },
  { value: "exposure", label: "By themselves, for the best exposed" },
  { value: "unique", label: "By themselves, for the most different" },
];

export function RunForm({ pipelines, pipeline, effects, choose }: {
  pipelines: PipelineView[]; pipeline: PipelineView; effects: OfferView[]; choose: (slug: string | null) => void;
}) {
  const [filled, setFilled] = useState<Filled>({
    name: pipeline.name, folder: null, variants: 8, top: 3, concurrency: 4, approval: "person", after: 20,
    tokens_max: null, jobs_max: null, hours_max: null, finals: null, variables: {},
  });
  const [key] = useState(() => `web-${Date.now()}-${Math.random().toString(36).slice(2)}`);
  const [tried, setTried] = useState(false);
  const [more, { toggle }] = useDisclosure();
  const go = useNavigate();
  const set = <K extends keyof Filled>(name: K, value: Filled[K]) => setFilled((before) => ({ ...before, [name]: value }));
  const missing = pipeline.variables.filter((name) => filled.variables[name] === undefined || filled.variables[name] === "");
  const plan = planOf(pipeline, effects, filled.variants, filled.top);
  const start = useMutation({
    mutationFn: async () => (await createRun({ body: bodyOf(pipeline, filled, key), throwOnError: true })).data,
    onSuccess: (run) => go({ to: "/runs/$runId", params: { runId: run.id } }),
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (missing.length === 0 && filled.name.trim()) start.mutate();
  }
  return (
    <form onSubmit={submit} noValidate>
      <Stack maw={760} gap="lg">
        {pipelines.length > 1 && (
          <Select
            label="Pipeline"
            data={pipelines.map((each) => ({ value: each.slug, label: each.name }))}
            value={pipeline.slug}
            onChange={choose}
            allowDeselect={false}
          />
        )}
        <TextInput
          label="Name"
          value={filled.name}
          maxLength={200}
          error={tried && !filled.name.trim() ? "Give it a name." : undefined}
          onChange={(event) => set("name", event.currentTarget.value)}
        />
        {pipeline.variables.map((name) => (
          <Variable
            key={name}
            name={name}
            numeric={isNumeric(propertyOf(name, pipeline, effects)?.type)}
            value={filled.variables[name]}
            problem={tried && missing.includes(name) ? "The pipeline needs this." : undefined}
            change={(value) => set("variables", { ...filled.variables, [name]: value })}
          />
        ))}
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Count label="Variants" description="Pictures of the first step, and of every parent after it" value={filled.variants} max={1000} change={(value) => set("variants", value ?? 1)} />
          <Count label="Best that go on" description="Of every step; changed at any gate" value={filled.top} max={1000} change={(value) => set("top", value ?? 1)} />
        </SimpleGrid>
        <Select label="Gates open" data={APPROVALS} value={filled.approval} allowDeselect={false} onChange={(value) => set("approval", value ?? "person")} />
        {filled.approval === "votes" && <Count label="Votes a step" value={filled.after} max={1_000_000} change={(value) => set("after", value ?? 1)} />}
        <UnstyledButton onClick={toggle} aria-expanded={more} type="button">
          <Group gap={6}><IconChevronDown size={16} style={{ rotate: more ? "180deg" : undefined }} aria-hidden /><Text size="sm" fw={600}>Budget and more</Text></Group>
        </UnstyledButton>
        <Collapse expanded={more}>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <Count label="At most, in tokens" empty value={filled.tokens_max} max={10 ** 12} change={(value) => set("tokens_max", value)} />
            <Count label="At most, in jobs" empty value={filled.jobs_max} max={10 ** 6} change={(value) => set("jobs_max", value)} />
            <Count label="At most, in hours" empty decimal value={filled.hours_max} max={8760} change={(value) => set("hours_max", value)} />
            <Count label="Enough finals" empty value={filled.finals} max={10 ** 6} change={(value) => set("finals", value)} />
            <Count label="Jobs at once" value={filled.concurrency} max={1000} change={(value) => set("concurrency", value ?? 1)} />
            <TextInput label="Folder" value={filled.folder ?? folderOf(filled.name)} onChange={(event) => set("folder", event.currentTarget.value)} />
          </SimpleGrid>
        </Collapse>
        <Paper className="surface" p="md">
          <Group justify="space-between">
            <div>
              <Text fw={600}>Up to {plan.jobs.toLocaleString("en")} pictures{plan.tokens === null ? "" : `, ${tokensText(plan.tokens)}`}</Text>
              <Text size="sm" className="quiet">What fails is refunded; you can stop at any time.</Text>
            </div>
            <Button type="submit" loading={start.isPending} leftSection={<IconPlayerPlay size={16} />}>Start</Button>
          </Group>
        </Paper>
        {start.isError && <Problem problem={start.error} />}
      </Stack>
    </form>
  );
}

const isNumeric = (type: string | undefined) => type === "integer" || type === "number";

function Variable({ name, numeric, value, problem, change }: {
  name: string; numeric: boolean; value: string | number | undefined; problem?: string; change: (value: string | number) => void;
}) {
  const label = name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
  if (numeric) {
    return <NumberInput label={label} value={value ?? ""} error={problem} withAsterisk onChange={change} />;
  }
  return (
    <Textarea label={label} value={value ?? ""} error={problem} withAsterisk autosize minRows={1} maxRows={6} onChange={(event) => change(event.currentTarget.value)} />
  );
}

function Count({ label, description, value, max, empty = false, decimal = false, change }: {
  label: string; description?: string; value: number | null; max: number; empty?: boolean; decimal?: boolean; change: (value: number | null) => void;
}) {
  return (
    <NumberInput
      label={label}
      description={description}
      placeholder={empty ? "no limit" : undefined}
      value={value ?? ""}
      min={decimal ? 0.1 : 1}
      max={max}
      allowDecimal={decimal}
      onChange={(next) => change(typeof next === "number" ? next : null)}
    />
  );
}

function bodyOf(pipeline: PipelineView, filled: Filled, key: string) {
  const { approval, after, folder, name, ...numbers } = filled;
  const kinds = {
    person: { kind: "person" }, all: { kind: "all" }, votes: { kind: "votes", after },
    sharpness: { kind: "scorer", scorer: "sharpness" }, exposure: { kind: "scorer", scorer: "exposure" }, unique: { kind: "scorer", scorer: "unique" },
  } as const;
  return {
    ...numbers,
    pipeline_id: pipeline.id,
    name: name.trim(),
    target_folder: folder?.trim() || folderOf(name),
    approval: kinds[approval],
    idempotency_key: key,
  };
}
