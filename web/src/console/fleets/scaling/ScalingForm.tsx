import { Button, Checkbox, Fieldset, Group, Modal, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { adminSetFleetScaling, type FleetDetailView, type ScalingSettingsView } from "@/client";
import { tellDone } from "@/parts/ConfirmAction";
import type { Entered } from "@/parts/entered";
import { NumberEntry } from "@/parts/NumberEntry";
import { Problem } from "@/parts/Problem";
import { then } from "../../parts/reading";
import { bodyOf, draftOf, emptyProblems, NEW_CLASS, refusedField, type ClassDraft, type ScalingDraft } from "./draft";

const EAGERNESS = [{ value: "calm", label: "Calm: cheapest" }, { value: "normal", label: "Normal" }, { value: "eager", label: "Eager: shortest waits" }];

/** Changes how the fleet scales. What the server refuses is said at its field. */
export function ScalingForm({ fleet, settings }: { fleet: FleetDetailView; settings: ScalingSettingsView }) {
  const [opened, { open, close }] = useDisclosure();
  const [draft, setDraft] = useState<ScalingDraft>(() => draftOf(settings));
  const save = useMutation({
    mutationFn: then(() => adminSetFleetScaling({ path: { slug: fleet.slug, stage: fleet.stage }, body: bodyOf(draft), throwOnError: true })),
    onSuccess: () => {
      close();
      tellDone("Saved. The next look at the fleet follows it.");
    },
  });
  const refused = save.isError ? refusedField(save.error, draft) : null;
  const typed = emptyProblems(draft);
  const errorAt = (field: string) => typed[field] ?? (refused?.field === field ? refused.problem : undefined);
  const change = (next: Partial<ScalingDraft>) => {
    save.reset();
    setDraft((before) => ({ ...before, ...next }));
  };
  const changeClass = (index: number, next: Partial<ClassDraft>) => change({ classes: draft.classes.map((each, place) => (place === index ? { ...each, ...next } : each)) });
  const number = (label: string, field: string, value: Entered, key: keyof ScalingDraft, description?: string) => (
    <NumberEntry label={label} description={description} value={value} change={(next) => change({ [key]: next })} error={errorAt(field)} min={0} />
  );
  const isShown = refused !== null && [...SHOWN, ...draft.classes.flatMap((each) => fieldsOf(each))].includes(refused.field);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (Object.keys(typed).length === 0) save.mutate();
  };
  return (
    <>
      <Button variant="default" onClick={() => { setDraft(draftOf(settings)); save.reset(); open(); }}>Change settings</Button>
      <Modal opened={opened} onClose={close} title="How this fleet scales" size="lg">
        <form onSubmit={submit} noValidate>
          <Stack>
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              {number("Minimum", "min_workers", draft.least, "least", "Workers that always run.")}
              {number("Maximum", "max_workers", draft.most, "most", "Workers and machines.")}
              {number("Buffer", "buffer", draft.buffer, "buffer", "Workers beyond the load.")}
              {number("Target wait (s)", "target_wait_s", draft.wait, "wait", "What a job may wait.")}
              <Select label="Eagerness" description="Reserve for fluctuations." data={EAGERNESS} value={draft.eagerness} allowDeselect={false}
                onChange={(next) => next && change({ eagerness: next as ScalingDraft["eagerness"] })} />
              {number("Budget ($ an hour)", "budget_per_hour", draft.budget, "budget", "Empty: no limit.")}
              {number("Surplus lasts (s)", "down_delay_s", draft.delay, "delay", "Then it is drained. Empty: a start-up time.")}
              {number("Load window (s)", "load_window_s", draft.window, "window", "Empty fleet after so long without a job.")}
              {number("First start (s)", "first_start_s", draft.start, "start", "Assumed until five were seen.")}
            </SimpleGrid>
            {draft.classes.map((each, index) => (
              <MachineClassFields key={index} draft={each} change={(next) => changeClass(index, next)} errorAt={errorAt}
                remove={draft.classes.length > 1 ? () => change({ classes: draft.classes.filter((_, place) => place !== index) }) : undefined} />
            ))}
            {errorAt("classes") && <Text size="sm" c="var(--mantine-color-error)" role="alert">Classes: {errorAt("classes")}</Text>}
            <Group><Button size="compact-sm" variant="default" onClick={() => change({ classes: [...draft.classes, NEW_CLASS] })}>Add a class of machines</Button></Group>
            {save.isError && !isShown && <Problem problem={save.error} />}
            <Group justify="end" gap="xs">
              <Button variant="default" onClick={close}>Cancel</Button>
              <Button type="submit" loading={save.isPending} disabled={Object.keys(typed).length > 0}>Save</Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}

const SHOWN = ["min_workers", "max_workers", "buffer", "target_wait_s", "budget_per_hour", "down_delay_s", "load_window_s", "first_start_s", "classes"];
const fieldsOf = ({ name }: ClassDraft) => ["speed", "memory_gb", "offers", "zones", "spot.price", "on_demand.price"].map((each) => `classes.${name.trim()}.${each}`);

function MachineClassFields({ draft, change, errorAt, remove }: {
  draft: ClassDraft; change: (next: Partial<ClassDraft>) => void; errorAt: (field: string) => string | undefined; remove?: () => void;
}) {
  const at = (field: string) => errorAt(`classes.${draft.name.trim()}.${field}`);
  return (
    <Fieldset legend={draft.name.trim() || "New class"}>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <TextInput label="Class" description="As its provider names it." value={draft.name} onChange={(event) => change({ name: event.currentTarget.value })} error={draft.name.trim() ? undefined : "Enter a name."} />
        <NumberEntry label="GPU memory (GB)" description="Empty: not known." value={draft.memory} change={(memory) => change({ memory })} error={at("memory_gb")} min={0} />
        <NumberEntry label="Speed" description="1: as expected times refer to." value={draft.speed} change={(speed) => change({ speed })} error={at("speed")} min={0} />
        <Stack gap={4}>
          <Checkbox label="On demand" checked={draft.demand} onChange={(event) => change({ demand: event.currentTarget.checked })} error={at("offers")} />
          {draft.demand && <NumberEntry label="$ an hour, on demand" value={draft.demandPrice} change={(demandPrice) => change({ demandPrice })} error={at("on_demand.price")} min={0} />}
        </Stack>
        <Stack gap={4}>
          <Checkbox label="Spot" checked={draft.spot} onChange={(event) => change({ spot: event.currentTarget.checked })} />
          {draft.spot && <NumberEntry label="$ an hour, Spot" value={draft.spotPrice} change={(spotPrice) => change({ spotPrice })} error={at("spot.price")} min={0} />}
        </Stack>
        <TextInput label="Zones" description="With commas; empty: none." value={draft.zones} onChange={(event) => change({ zones: event.currentTarget.value })} error={at("zones")} />
      </SimpleGrid>
      {remove && <Button mt="sm" size="compact-sm" variant="subtle" color="gray" onClick={remove}>Remove this class</Button>}
    </Fieldset>
  );
}
