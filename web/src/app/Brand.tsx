import { Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import classes from "./Brand.module.css";

export function Brand({ to }: { to: string }) {
  return <Link to={to} className={classes.brand} aria-label="comfyfleet, home"><Mark /></Link>;
}

export function Mark() {
  return (
    <Group gap={8} wrap="nowrap">
      <img src="/assets/icon.svg" alt="" width={26} height={26} />
      <Text fw={700} className={classes.name}>comfyfleet</Text>
    </Group>
  );
}
