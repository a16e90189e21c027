import { Text } from "@mantine/core";
import { useState } from "react";
import { PropertyForm } from "@/parts/PropertyForm";
import { firstValues, type Property, type Values } from "@/parts/properties";

/** The form that users get, to try out. Nothing is sent. */
export function FormPreview({ properties }: { properties: Property[] }) {
  const [typed, setTyped] = useState<Values>({});
  if (properties.length === 0) return <Text size="sm" className="quiet">Users set nothing: they only press the button.</Text>;
  return (
    <PropertyForm
      properties={properties}
      values={{ ...firstValues(properties), ...typed }}
      change={(name, value) => setTyped((before) => ({ ...before, [name]: value }))}
      file={(property) => (
        <div style={{ border: "1px dashed var(--line)", borderRadius: 12, padding: "1.5rem", textAlign: "center" }}>
          <Text size="sm" fw={550}>{property.label || property.name}</Text>
          <Text size="xs" className="quiet">Users drop {property.type === "video" ? "a film" : "a picture"} here.</Text>
        </div>
      )}
    />
  );
}
