/** What is offered changes while people look at it: an effect is published, taken back, gets another price or picture. */
import { useState } from "react";
import { useNotice } from "@/app/live";
import { readAgain } from "@/app/queries";

const OF_OFFERS = new Set(["getOffers", "getOffer"]);
// Everybody is told at the same moment.
const SPREAD_MS = 1_000;

export function useFollowOffers(): void {
  const [afterMs] = useState(() => 100 + Math.random() * SPREAD_MS);
  useNotice("effects", () => readAgain({ predicate: ({ queryKey: [first] }) => first === "offers" || OF_OFFERS.has((first as { _id?: string })._id ?? "") }), afterMs);
}
