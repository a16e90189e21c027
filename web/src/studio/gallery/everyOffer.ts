import { queryOptions } from "@tanstack/react-query";
import { getOffers } from "@/client";
import { everyPage } from "@/parts/everyPage";

/** To choose from. The gallery itself is read as far as somebody looks. */
export const everyOffer = queryOptions({
  queryKey: ["offers", "all"],
  queryFn: () => everyPage((cursor) => getOffers({ query: { limit: 100, cursor }, throwOnError: true }), (page) => page.effects),
});
