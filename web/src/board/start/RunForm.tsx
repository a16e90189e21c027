import { Button, Collapse, Group, Paper, Select, SimpleGrid, Stack, Text, Textarea, TextInput, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { flushSync } from "react-dom";
import { createRun, type OfferView, type OpenPropertyView, type PipelineView } from "@/client";
import { entered, numberOf, type Entered } from "@/parts/entered";
import { NumberEntry } from "@/parts/NumberEntry";
import { Problem } from "@/parts/Problem";
import { isNumeric } from "@/parts/properties";
import { tokensText } from "@/parts/Tokens";
import { bodyOf, firstFilled, LIMITS, problemsOf, type Approval, type Counted, type Filled } from "./filled";
import { forgetForm, recallForm, rememberForm } from "./formMemory";
import { folderOf, planOf, propertyOf } from "./plan";

const APPROVALS: { value: Approval; label: string }[] = [
  { value: "person", label: "I choose at every gate" },
  { value: "votes", label: "By themselves, after enough votes" },
  { value: "all", label: "By themselves, at once" },
  { value: "sharpness", label: "By themselves, for the sharpest" },
  { value: "exposure", label: "By themselves, for the best exposed" },
  { value: "unique", label: "By themselves, for the most different" },
];

const FOLDED: Counted[] = ["tokens_max", "jobs_max", "hours_max", "finals", "concurrency"];

export function RunForm({ pipelines, pipeline, effects, choose }: {
  pipelines: PipelineView[]; pipeline: PipelineView; effects: OfferView[]; choose: (slug: string | null) => void;
}) {
  const [filled, setFilled] = useState(() => recallForm(pipeline));
  const [key] = useState(() => `web-${Date.now()}-${Math.random().toString(36).slice(2)}`);
  const [tried, setTried] = useState(false);
  const [more, { toggle }] = useDisclosure(FOLDED.some((name) => filled[name] !== firstFilled(pipeline)[name]));
  const go = useNavigate();
  function set<K extends keyof Filled>(name: K, value: Filled[K]) {
    const next = { ...filled, [name]: value };
    setFilled(next);
    rememberForm(pipeline, next);
  }
  const problems = problemsOf(pipeline, effects, filled);
  const told = tried ? problems : {};
  const isUnfolded = more || FOLDED.some((name) => told[name]);
  const start = useMutation({
    mutationFn: async () => (await createRun({ body: bodyOf(pipeline, filled, key), throwOnError: true })).data,
    onSuccess: (run) => {
      forgetForm(pipeline);
      return go({ to: "/runs/$runId", params: { runId: run.id } });
    },
  });
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    flushSync(() => setTried(true));
    if (Object.keys(problems).length === 0) start.mutate();
    // What is wrong may stand above the screen, and is read out only to whoever is there.
    else event.currentTarget.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }
  const counted = (name: Counted) => ({ limits: LIMITS[name], value: filled[name], problem: told[name], change: (value: Entered) => set(name, value) });
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
          error={told.name}
          onChange={(event) => set("name", event.currentTarget.value)}
        />
        {pipeline.variables.map((name) => (
          <Variable
            key={name}
            name={name}
            property={propertyOf(name, pipeline, effects)}
            value={filled.variables[name] ?? null}
            problem={told[`variables.${name}`]}
            change={(value) => set("variables", { ...filled.variables, [name]: value })}
          />
        ))}
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Count label="Variants" description="Pictures of the first step, and of every parent after it" {...counted("variants")} />
          <Count label="Best that go on" description="Of every step; changed at any gate" {...counted("top")} />
        </SimpleGrid>
        <Select label="Gates open" data={APPROVALS} value={filled.approval} allowDeselect={false} onChange={(value) => set("approval", value ?? "person")} />
        {filled.approval === "votes" && <Count label="Votes a step" {...counted("after")} />}
        <UnstyledButton onClick={toggle} aria-expanded={isUnfolded} type="button">
          <Group gap={6}><IconChevronDown size={16} style={{ rotate: isUnfolded ? "180deg" : undefined }} aria-hidden /><Text size="sm" fw={600}>Budget and more</Text></Group>
        </UnstyledButton>
        <Collapse expanded={isUnfolded}>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <Count label="At most, in tokens" {...counted("tokens_max")} />
            <Count label="At most, in jobs" {...counted("jobs_max")} />
            <Count label="At most, in hours" {...counted("hours_max")} />
            <Count label="Enough finals" {...counted("finals")} />
            <Count label="Jobs at once" {...counted("concurrency")} />
            <TextInput label="Folder" value={filled.folder ?? folderOf(filled.name)} onChange={(event) => set("folder", event.currentTarget.value)} />
          </SimpleGrid>
        </Collapse>
        <Paper className="surface" p="md">
          <Group justify="space-between">
            <div>
              <Text fw={600}>{planned(pipeline, effects, filled)}</Text>
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

function planned(pipeline: PipelineView, effects: OfferView[], filled: Filled): string {
  const [variants, top] = [numberOf(filled.variants), numberOf(filled.top)];
  if (variants === null || top === null) return "Say how many variants, and how many go on";
  const plan = planOf(pipeline, effects, variants, top);
  return `Up to ${plan.jobs.toLocaleString("en")} pictures${plan.tokens === null ? "" : `, ${tokensText(plan.tokens)}`}`;
}

function Variable({ name, property, value, problem, change }: {
  name: string; property: OpenPropertyView | null; value: Entered; problem?: string; change: (value: Entered) => void;
}) {
  const label = name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
  if (property?.type === "seed") {
    const random = "A number, or the word random: a new one each time.";
    return <TextInput label={label} description={random} value={value ?? ""} error={problem} withAsterisk onChange={(event) => change(entered(event.currentTarget.value))} />;
  }
  if (property && isNumeric(property)) {
    return <NumberEntry label={label} value={value} error={problem} withAsterisk allowDecimal={property.type === "number"} change={change} />;
  }
  return (
    <Textarea label={label} value={value ?? ""} error={problem} withAsterisk autosize minRows={1} maxRows={6} onChange={(event) => change(event.currentTarget.value)} />
  );
}

function Count({ label, description, limits, value, problem, change }: {
  label: string; description?: string; limits: (typeof LIMITS)[Counted]; value: Entered; problem?: string; change: (value: Entered) => void;
}) {
  return (
    <NumberEntry
      label={label}
      description={description}
      placeholder={limits.isNeeded ? undefined : "no limit"}
      value={value}
      error={problem}
      min={limits.least}
      max={limits.most}
      allowDecimal={!limits.isWhole}
      change={change}
    />
  );
}
