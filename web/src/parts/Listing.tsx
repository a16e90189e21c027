import { Button, Center, Skeleton, Stack, Table } from "@mantine/core";
import type { ReactNode } from "react";
import { Loading } from "@/parts/Loading";
import { Problem } from "@/parts/Problem";
import classes from "./Listing.module.css";

/** `end`: numbers stand at the right. */
export type Column<T> = { name: string; cell: (row: T) => ReactNode; end?: boolean };

type Listed<T> = {
  label: string;
  columns: Column<T>[];
  rows: T[] | undefined;
  keyOf: (row: T) => string;
  empty: ReactNode;
  problem?: unknown;
  again?: () => void;
  more?: { has: boolean; busy: boolean; load: () => void };
};

/** A table; on a phone each row is a card, with the name of its column before each value. */
export function Listing<T>({ label, columns, rows, keyOf, empty, problem, again, more }: Listed<T>) {
  if (rows === undefined) return problem ? <Problem problem={problem} again={again} /> : <Waiting />;
  if (rows.length === 0) return empty;
  return (
    <Stack gap="sm">
      <div className={`surface ${classes.frame}`}>
        <Table className={classes.table} aria-label={label} verticalSpacing="sm" horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              {columns.map((each) => <Table.Th key={each.name} scope="col" ta={each.end ? "end" : undefined}>{each.name}</Table.Th>)}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => (
              <Table.Tr key={keyOf(row)}>
                {columns.map((each) => (
                  <Table.Td key={each.name} data-label={each.name} data-end={each.end} className={each.end ? "numbers" : undefined}>
                    <div className={classes.value}>{each.cell(row)}</div>
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      {more?.has && <Center><Button variant="default" loading={more.busy} onClick={more.load}>Show more</Button></Center>}
    </Stack>
  );
}

function Waiting() {
  return (
    <Loading>
      <Stack gap="xs">{[0, 1, 2, 3].map((each) => <Skeleton key={each} h={48} />)}</Stack>
    </Loading>
  );
}

export const moreOf = (found: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }) => ({
  has: found.hasNextPage,
  busy: found.isFetchingNextPage,
  load: () => void found.fetchNextPage(),
});
