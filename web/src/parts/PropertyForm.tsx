/** A form made from typed properties. Files are the caller's: it knows where they go. */
import { Checkbox, Group, Select, SegmentedControl, Slider, Stack, Switch, Text, Textarea, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { FieldFrame } from "./FieldFrame";
import { NumberEntry } from "./NumberEntry";
import { isMedia, RANDOM, type Property, type Value, type Values } from "./properties";

type Field = { property: Property; value: Value; problem?: string; disabled?: boolean; change: (value: Value) => void };
const CHOICES_SHOWN_MAX = 4;
const SLIDER_STEPS_MAX = 400;

export function PropertyForm({ properties, values, problems = {}, disabled, change, file }: {
  properties: Property[];
  values: Values;
  problems?: Record<string, string>;
  disabled?: boolean;
  change: (name: string, value: Value) => void;
  file?: (property: Property) => ReactNode;
}) {
  return (
    <Stack gap="lg">
      {properties.map((property) => (
        <div key={property.name} data-property={property.name}>
          {isMedia(property) ? (
            file?.(property) ?? <Text size="sm" className="quiet">{property.label}: a file</Text>
          ) : (
            <PropertyField
              property={property}
              value={values[property.name] ?? null}
              problem={problems[property.name]}
              disabled={disabled}
              change={(value) => change(property.name, value)}
            />
          )}
        </div>
      ))}
    </Stack>
  );
}

const FOCUSABLE = ':is(input:not([type="file"], [type="hidden"]), textarea, [tabindex="0"])';

/** Takes whoever is at the form to one of its fields: it may stand far above, and nobody hears what is only shown. */
export function focusField(form: HTMLElement | null, name: string): void {
  form?.querySelector<HTMLElement>(`[data-property="${CSS.escape(name)}"] ${FOCUSABLE}`)?.focus();
}

function PropertyField(field: Field) {
  switch (field.property.type) {
    case "boolean": return <BooleanField {...field} />;
    case "choice": return <ChoiceField {...field} />;
    case "seed": return <SeedField {...field} />;
    case "integer":
    case "number": return isSlider(field.property) ? <SliderField {...field} /> : <NumberField {...field} />;
    default: return <TextField {...field} />;
  }
}

const framed = ({ property, problem }: Field) => ({
  label: property.label || property.name,
  description: property.description || undefined,
  error: problem,
  withAsterisk: property.required,
});
const labelled = (field: Field) => ({ ...framed(field), disabled: field.disabled });

function TextField(field: Field) {
  const props = { ...labelled(field), value: String(field.value ?? "") };
  return field.property.multiline ? (
    <Textarea {...props} autosize minRows={3} maxRows={10} onChange={(event) => field.change(event.currentTarget.value)} />
  ) : (
    <TextInput {...props} onChange={(event) => field.change(event.currentTarget.value)} />
  );
}

function NumberField(field: Field) {
  const { property, value, change } = field;
  return (
    <NumberEntry
      {...labelled(field)}
      value={typeof value === "boolean" ? null : value}
      min={property.minimum ?? undefined}
      max={property.maximum ?? undefined}
      step={property.step ?? 1}
      allowDecimal={property.type === "number"}
      change={change}
    />
  );
}

const stepOf = (property: Property) => property.step ?? (property.type === "integer" ? 1 : 0.01);

function isSlider({ minimum, maximum, ...property }: Property): boolean {
  if (minimum === null || maximum === null || minimum === undefined || maximum === undefined) return false;
  return (maximum - minimum) / stepOf(property as Property) <= SLIDER_STEPS_MAX;
}

function SliderField(field: Field) {
  const { property, value, change } = field;
  const number = typeof value === "number" ? value : null;
  return (
    <FieldFrame {...framed(field)}>
      {(tied) => (
        <Group gap="md" wrap="nowrap">
          <Slider
            flex={1}
            // Where nothing is chosen it has to stand somewhere, and says that it means nothing.
            value={number ?? property.minimum ?? 0}
            thumbValueText={number === null ? "not chosen" : undefined}
            onChange={change}
            min={property.minimum ?? 0}
            max={property.maximum ?? 1}
            step={stepOf(property)}
            disabled={field.disabled}
            label={null}
            thumbProps={tied}
            thumbLabel={property.label || property.name}
          />
          <Text size="sm" className="numbers" miw="3ch" ta="end">{number ?? "–"}</Text>
        </Group>
      )}
    </FieldFrame>
  );
}

function BooleanField(field: Field) {
  return <Switch {...labelled(field)} checked={field.value === true} onChange={(event) => field.change(event.currentTarget.checked)} />;
}

function ChoiceField(field: Field) {
  const { property, value, change } = field;
  const choices = property.choices ?? [];
  const data = choices.map((each) => ({ value: String(each), label: String(each).replaceAll("_", " ") }));
  const choose = (text: string | null) => change(choices.find((each) => String(each) === text) ?? null);
  if (choices.length > CHOICES_SHOWN_MAX || choices.length === 0) {
    return <Select {...labelled(field)} data={data} value={value === null ? null : String(value)} onChange={choose} searchable />;
  }
  return (
    <FieldFrame {...framed(field)}>
      {(tied) => <SegmentedControl {...tied} data={data} value={String(value)} onChange={choose} disabled={field.disabled} fullWidth />}
    </FieldFrame>
  );
}

function SeedField(field: Field) {
  const { value, change } = field;
  const random = value === RANDOM;
  return (
    <Stack gap={6}>
      <NumberEntry
        {...labelled(field)}
        value={random || typeof value === "boolean" ? null : value}
        placeholder={random ? "a new one each time" : undefined}
        disabled={random || field.disabled}
        min={0}
        allowDecimal={false}
        hideControls
        change={change}
      />
      <Checkbox
        size="xs"
        label="A new one each time"
        checked={random}
        disabled={field.disabled}
        onChange={(event) => change(event.currentTarget.checked ? RANDOM : 0)}
      />
    </Stack>
  );
}
