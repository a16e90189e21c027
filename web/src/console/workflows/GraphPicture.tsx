import { Text } from "@mantine/core";
import { CatchBoundary } from "@tanstack/react-router";
import { lazy, Suspense, type ComponentProps } from "react";
import { Loading } from "@/parts/Loading";

const GraphView = lazy(async () => ({ default: (await import("./GraphView")).GraphView }));

/** Fetched when the first graph is shown. Where that fails the page goes on without: somebody may have typed half a form. */
export function GraphPicture(props: ComponentProps<typeof GraphView> & { height: number }) {
  return (
    <CatchBoundary getResetKey={() => "graph"} errorComponent={NotShown}>
      <Suspense fallback={<Loading h={props.height} />}><GraphView {...props} /></Suspense>
    </CatchBoundary>
  );
}

function NotShown() {
  return <Text size="sm" role="alert">The picture of the graph could not be loaded. Everything else works; reload the page to see it.</Text>;
}
