/** To where one came from, above a page's title. */
import { Anchor } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import classes from "./BackLink.module.css";

export function BackLink({ to, children }: { to: string; children: string }) {
  return <Anchor component={Link} to={to} size="sm" underline="never" className={classes.back}><IconArrowLeft size={15} aria-hidden /> {children}</Anchor>;
}
