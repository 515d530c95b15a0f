import { writeFile } from 'node:fs/promises';
import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';

const plane = await startControlPlane({ port: 0, store: { dir: './cluster' }, crds });
await writeFile('kubeconfig', plane.kubeconfig(), { mode: 0o600 });
