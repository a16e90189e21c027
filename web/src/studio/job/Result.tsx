import { Button, Group, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { deleteJob, type JobView, type OutputView, type VideoView } from "@/client";
import { getJobsQueryKey, getOfferOptions } from "@/client/@tanstack/react-query.gen";
import { bytesText } from "@/parts/amounts";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { Loading } from "@/parts/Loading";
import { useLasting } from "@/parts/lasting";
import { isClip, isStill, Media } from "@/parts/Media";
import { Tokens } from "@/parts/Tokens";
import { secondsText } from "@/parts/times";
import { CompareClips } from "./CompareClips";
import { CompareStills } from "./CompareStills";
import { Again } from "./Failed";
import classes from "./Result.module.css";
import { ranFor } from "./useJob";

const BETWEEN_DOWNLOADS_MS = 400;

export function Result({ job, video, waiting, offered }: { job: JobView; video: VideoView | undefined; waiting: boolean; offered: boolean }) {
  const primary = job.outputs.find((each) => each.is_primary) ?? job.outputs[0];
  const others = job.outputs.filter((each) => each !== primary);
  const ran = ranFor(job, 0);
  return (
    <Stack gap="lg">
      {primary ? (waiting ? <Loading h={420} /> : <Main output={primary} video={video} />) : <Gone job={job} />}
      {others.length > 0 && (
        <div className={classes.others}>
          {others.map((each) => <Other key={each.file_id} output={each} />)}
        </div>
      )}
      <Group justify="space-between">
        <Group gap="xs">
          <Downloads outputs={job.outputs} />
          <Again job={job} offered={offered} label="Run again" quiet />
        </Group>
        <Group gap="xs">
          <Text size="sm" className="quiet"><Tokens amount={job.credits_cost} />{ran !== null && ` · made in ${secondsText(ran)}`}{video?.processing_details?.worker && ` by ${video.processing_details.worker}`}</Text>
          <Remove job={job} />
        </Group>
      </Group>
      <Asked job={job} />
    </Stack>
  );
}

function Main({ output, video }: { output: OutputView; video: VideoView | undefined }) {
  const before = useLasting(video?.id, video?.original_file_url);
  const after = useLasting(output.file_id, output.url);
  const hasBoth = before.src !== undefined && after.src !== undefined;
  if (hasBoth && isStill(output.mime_type) && isStill(video?.mime_type)) return <CompareStills before={before} after={after} />;
  if (hasBoth && isClip(output.mime_type) && isClip(video?.mime_type)) return <CompareClips before={before} after={after} />;
  if (isClip(output.mime_type)) return <video className={`surface ${classes.alone}`} {...after} controls playsInline aria-label="The result" />;
  if (isStill(output.mime_type)) return <img className={`surface ${classes.alone}`} {...after} alt="The result" />;
  return <Other output={output} />;
}

function Other({ output }: { output: OutputView }) {
  const { src, onError } = useLasting(output.file_id, output.url);
  return <div className={`surface ${classes.other}`}><Media url={src} onError={onError} mimeType={output.mime_type} alt={output.name} fit="contain" /></div>;
}

/** What it was made from, in the words of its form. */
function Asked({ job }: { job: JobView }) {
  const offer = useQuery({ ...getOfferOptions({ path: { effect_slug: job.effect ?? "" } }), enabled: job.effect !== null, retry: false, staleTime: 60_000 });
  const labels = new Map(offer.data?.properties.map((each) => [each.name, each.label]));
  const said = Object.entries(job.properties).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  if (said.length === 0) return null;
  return (
    <dl className={classes.asked}>
      {said.map(([name, value]) => (
        <div key={name}><dt className="quiet">{labels.get(name) || name}</dt><dd>{String(value)}</dd></div>
      ))}
    </dl>
  );
}

function Gone({ job }: { job: JobView }) {
  return <Text className="quiet">{job.expired_at ? "What it made was deleted for its age." : "There is nothing to show."}</Text>;
}

function Downloads({ outputs }: { outputs: OutputView[] }) {
  const there = outputs.filter((each) => each.url);
  async function all() {
    for (const each of there) {
      const link = document.createElement("a");
      link.href = each.url ?? "";
      link.download = each.name;
      link.click();
      // Browsers drop downloads that begin at the same moment.
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_DOWNLOADS_MS));
    }
  }
  return (
    <Group gap="xs">
      {there.map((each) => (
        <Button key={each.file_id} component="a" href={each.url ?? ""} download={each.name} variant={each.is_primary ? "filled" : "default"} leftSection={<IconDownload size={17} />} maw="100%">
          <Text span inherit truncate>{there.length === 1 ? "Download" : each.name} · {bytesText(each.size)}</Text>
        </Button>
      ))}
      {there.length > 1 && <Button variant="default" onClick={() => void all()}>Download all {there.length}</Button>}
    </Group>
  );
}

function Remove({ job }: { job: JobView }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <div>
      <ConfirmAction
        label="Delete"
        question="Delete this result?"
        text="The files are deleted for good. The entry in your wallet stays."
        confirm="Delete"
        done="Deleted."
        variant="subtle"
        color="red"
        size="compact-sm"
        act={async () => {
          await deleteJob({ path: { job_id: job.id }, throwOnError: true });
          // The history may have been read a moment ago.
          void queries.invalidateQueries({ queryKey: getJobsQueryKey() });
          void navigate({ to: "/history" });
        }}
      />
    </div>
  );
}
