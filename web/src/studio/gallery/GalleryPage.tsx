import { PageHead } from "@/parts/PageHead";

export function GalleryPage() {
  return <PageHead title="Effects" text="Pick one, drop a file, see what comes out." />;
}
