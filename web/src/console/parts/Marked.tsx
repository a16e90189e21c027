/** Text in which names stand between backticks. */
export function Marked({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index} className="mono">{part}</code> : part))}</>;
}
