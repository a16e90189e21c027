import { ActionIcon, Slider, Text } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay, IconVolume, IconVolumeOff } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import type { Lasting } from "@/parts/lasting";
import { boxOf, Divider, NO_SIZE } from "./CompareStills";
import classes from "./Compare.module.css";

// Beyond this the two are visibly apart; the one before is moved to where the other is.
const APART_S = 0.08;

const clock = (seconds: number) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** Two clips as one: the result leads, what it was made from follows it. Sound comes from the result. */
export function CompareClips({ before, after }: { before: Lasting; after: Lasting }) {
  const leader = useRef<HTMLVideoElement>(null);
  const follower = useRef<HTMLVideoElement>(null);
  const [at, setAt] = useState(50);
  const [playing, setPlaying] = useState(false);
  const [muted, setMuted] = useState(true);
  const [size, setSize] = useState(NO_SIZE);
  const [time, setTime] = useState({ now: 0, whole: 0 });

  useEffect(() => {
    if (!playing) return;
    let frame = 0;
    const tick = () => {
      follow(leader.current, follower.current);
      setTime({ now: leader.current?.currentTime ?? 0, whole: leader.current?.duration || 0 });
      frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(frame);
  }, [playing]);

  function seek(seconds: number) {
    if (leader.current) leader.current.currentTime = seconds;
    if (follower.current) follower.current.currentTime = seconds;
    setTime((known) => ({ ...known, now: seconds }));
  }
  function stopped() {
    setPlaying(false);
    follower.current?.pause();
  }
  function toggle() {
    if (playing) leader.current?.pause();
    else void leader.current?.play().catch(() => setPlaying(false));
  }
  return (
    <div className={`surface ${classes.player}`} style={{ width: boxOf(size).width }}>
      <div className={classes.box} style={{ aspectRatio: boxOf(size).aspectRatio }}>
        <video
          ref={leader}
          {...after}
          className={classes.after}
          muted={muted}
          loop
          playsInline
          preload="auto"
          aria-label="After"
          onPlay={() => { setPlaying(true); void follower.current?.play().catch(() => undefined); }}
          onPause={stopped}
          // Another address: it stops without a pause.
          onEmptied={stopped}
          onLoadedMetadata={({ currentTarget: { duration, videoWidth, videoHeight } }) => {
            setTime({ now: 0, whole: duration });
            if (videoHeight > 0) setSize({ width: videoWidth, height: videoHeight });
          }}
        />
        <video ref={follower} {...before} className={classes.before} style={{ clipPath: `inset(0 ${100 - at}% 0 0)` }} muted loop playsInline preload="auto" aria-label="Before" />
        <Divider at={at} setAt={setAt} />
      </div>
      <div className={classes.controls}>
        <ActionIcon size="lg" radius="xl" aria-label={playing ? "Pause" : "Play"} onClick={toggle}>
          {playing ? <IconPlayerPause size={18} /> : <IconPlayerPlay size={18} />}
        </ActionIcon>
        <Slider flex={1} value={time.now} max={time.whole || 1} step={0.01} label={null} onChange={seek} thumbLabel="Where in the clip" />
        <Text size="xs" className="numbers">{clock(time.now)} / {clock(time.whole)}</Text>
        <ActionIcon variant="subtle" color="gray" aria-label={muted ? "Sound on" : "Sound off"} onClick={() => setMuted(!muted)}>
          {muted ? <IconVolumeOff size={18} /> : <IconVolume size={18} />}
        </ActionIcon>
      </div>
    </div>
  );
}

function follow(leader: HTMLVideoElement | null, follower: HTMLVideoElement | null) {
  if (!leader || !follower || follower.seeking) return;
  const wanted = Math.min(leader.currentTime, follower.duration || leader.currentTime);
  if (Math.abs(follower.currentTime - wanted) > APART_S) follower.currentTime = wanted;
}
