import { PageHead } from "@/parts/PageHead";

export function RunsPage() {
  return <PageHead title="Runs" />;
}
