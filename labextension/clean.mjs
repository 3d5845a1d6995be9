// Removes what the builds write, so that a production build ships nothing stale.
import { rm } from 'node:fs/promises';

for (const folder of ['lib', '../nbfn/labextension', '../nbfn/views/static']) {
  await rm(new URL(folder, import.meta.url), { recursive: true, force: true });
}
