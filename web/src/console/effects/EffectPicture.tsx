import { AspectRatio, Center } from "@mantine/core";
import { IconPhoto } from "@tabler/icons-react";
import type { EffectView } from "@/client";

export function EffectPicture({ effect }: { effect: EffectView }) {
  const kind = effect.assets.preview?.mime_type ?? "";
  return (
    <AspectRatio ratio={4 / 3}>
      {effect.preview_url && kind.startsWith("video/") ? <video src={effect.preview_url} muted loop autoPlay playsInline aria-label={`Preview of ${effect.name}`} />
        : effect.preview_url ? <img src={effect.preview_url} alt="" style={{ objectFit: "cover" }} />
        : <Center bg="light-dark(#f3f1ed, #262521)"><IconPhoto size={32} stroke={1.2} opacity={0.5} aria-hidden /></Center>}
    </AspectRatio>
  );
}
