import { PageHead } from "@/parts/PageHead";

export function OverviewPage() {
  return <PageHead title="Overview" />;
}
