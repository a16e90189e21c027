import { Badge, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { OfferView } from "@/client";
import { Media } from "@/parts/Media";
import { Tokens } from "@/parts/Tokens";
import { durationText } from "@/parts/times";
import { takes } from "../effect/takes";
import classes from "./EffectCard.module.css";

export function EffectCard({ effect }: { effect: OfferView }) {
  return (
    <li className={classes.item}>
      <Link to="/effects/$slug" params={{ slug: effect.slug }} className={`surface ${classes.card}`} data-paused={effect.unavailable_because !== null || undefined}>
        <div className={classes.picture}>
          <Media url={effect.preview_url} mimeType={effect.preview_mime_type} alt="" />
          <Badge className={classes.takes} tt="none" fw={550}>{takes(effect.properties)}</Badge>
        </div>
        <div className={classes.words}>
          <Group justify="space-between" wrap="nowrap" gap="xs" align="start">
            <Text fw={650} component="h2" className={classes.name}>{effect.name}</Text>
            <Text size="sm" fw={550}><Tokens amount={effect.credits_cost} /></Text>
          </Group>
          <Text size="sm" className="quiet" lineClamp={2}>{effect.description}</Text>
          <Text size="xs" className="quiet" mt={6}>
            {effect.unavailable_because !== null ? "cannot run right now" : effect.waits_because !== null ? "waits for a worker" : durationText(effect.estimated_seconds)}
          </Text>
        </div>
      </Link>
    </li>
  );
}
