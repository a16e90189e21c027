import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { FleetFault, faultOf, NO_ANSWER } from "@/app/errors";
import { Problem } from "@/parts/Problem";
import { tokensText } from "@/parts/Tokens";
import { MoreTokensButton, useWayToMore } from "../wallet/MoreTokens";

const GONE = "This effect is no longer offered. Nothing was charged, and what you entered stays here for as long as this tab.";
const DELETED = "This job was deleted meanwhile. Nothing was charged.";
const INPUT_GONE = "A file that this was made from is not there any more. Nothing was charged. Change something, and choose it anew.";
const BACK = "The server is back, and nothing you entered is lost. Start again.";
const LOST = "What you uploaded is not there any more. Nothing was charged. Try again, and it is sent once more.";

/** Why there is no job, and what to do about it. Nothing that was entered is lost by any of these. `isAnsweredSince`: the
 * server has answered something else meanwhile. */
export function OrderProblem({ problem, isAnsweredSince = false, again }: { problem: unknown; isAnsweredSince?: boolean; again: () => void }) {
  const fault = faultOf(problem);
  const way = useWayToMore();
  if (fault.code === "insufficient_tokens") {
    const { required_tokens: required, available_tokens: balance } = fault.details as { required_tokens?: number; available_tokens?: number };
    const has = balance === undefined ? "" : ` You have ${tokensText(balance)}.`;
    const said = `This needs ${tokensText(required ?? 0)}.${has} ${way}`.trim();
    return (
      <Problem problem={new FleetFault({ ...fault, message: said })}>
        <MoreTokensButton />
        <Anchor size="sm" component={Link} to="/wallet">See your wallet</Anchor>
      </Problem>
    );
  }
  if (fault.code === "not_found" && fault.details.noun === "effect") {
    return (
      <Problem problem={new FleetFault({ ...fault, code: "effect_gone", message: GONE })}>
        <Anchor size="sm" component={Link} to="/">Pick another effect</Anchor>
      </Problem>
    );
  }
  if (fault.code === "not_found" && fault.details.noun === "job") return <Problem problem={new FleetFault({ ...fault, code: "job_gone", message: DELETED })} />;
  if (fault.code === "invalid_input" && fault.details.field === "job_id") return <Problem problem={new FleetFault({ ...fault, code: "input_gone", message: INPUT_GONE })} />;
  if (fault.code === "not_found" && fault.details.noun === "video") return <Problem problem={new FleetFault({ ...fault, code: "upload_gone", message: LOST })} again={again} />;
  if (fault.code === NO_ANSWER && isAnsweredSince) return <Problem problem={new FleetFault({ ...fault, code: "answers_again", message: BACK })} again={again} />;
  if (fault.code === "too_many_active_jobs") {
    return <Problem problem={problem} again={again}><Anchor size="sm" component={Link} to="/history">See your jobs</Anchor></Problem>;
  }
  return <Problem problem={problem} again={again} />;
}
