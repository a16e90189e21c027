/** What operators were notified of and is not over, on top of the overview. */
import { Alert, Anchor, List, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { AlertView } from "@/client";
import { Ago } from "@/parts/Ago";

export function FiringAlerts({ alerts }: { alerts: AlertView[] }) {
  if (alerts.length === 0) return null;
  const isPage = alerts.some((each) => each.severity === "page");
  return (
    <Alert color={isPage ? "red" : "orange"} variant="light" icon={<IconAlertTriangle size={18} />}
      title={alerts.length === 1 ? "1 alert fires" : `${alerts.length} alerts fire`}>
      <List size="sm" spacing={4}>
        {alerts.slice(0, 5).map((each) => (
          <List.Item key={each.id}><b>{each.condition}</b>{each.subject && ` (${each.subject})`}, <Ago at={each.since} />: {each.text}</List.Item>
        ))}
      </List>
      <Text size="sm" mt="xs">
        <Anchor inherit underline="always" renderRoot={(props) => <Link to="/console/notifications" {...props} />}>
          {alerts.length > 5 ? `All ${alerts.length} alerts` : "Alerts and notifications"}
        </Anchor>
      </Text>
    </Alert>
  );
}
