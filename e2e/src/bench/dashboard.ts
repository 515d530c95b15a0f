import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Machine, machines } from '@mcm/api';
import { createClient, loadKubeconfig, realClock, seededRandom, sleep, undiciTransport } from '@mcm/kube';
import { chromiumPath, startBrowser } from '../dashboard/browser.ts';
import { addLargeFleet, addLeases, statusOf } from '../dashboard/large-fleet.ts';
import { type McmRun, mcm } from '../harness/mcm.ts';
import { cpuMs } from '../harness/process-usage.ts';
import { startPlane } from './control-plane/plane-process.ts';
import { atMost, type Figure, reported } from './machines/figure.ts';

const BANDS = 10;
const MACHINES = 5_000;
const CHANGES_PER_SECOND = 50;
const SECONDS = 20;
const PAGE_PERCENT = 20;
const SERVER_PERCENT = 10;

/** Other processes affect the duration of tasks, but not their CPU time. */
const TASKS = 'ThreadTime';

/**
 * Measures the dashboard in Chromium, with 5,000 machines and 50 changes per second. If Chromium is missing, the
 * benchmark returns no figures.
 */
export async function* dashboardFigures(): AsyncGenerator<Figure> {
  if (chromiumPath === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'mcm-bench-dashboard-'));
  const plane = await startPlane('memory');
  const config = join(folder, 'kubeconfig');
  writeFileSync(config, JSON.stringify(kubeconfigOf(plane)), { mode: 0o600 });
  const transport = undiciTransport({ ...(await loadKubeconfig(config)), connections: 32 });
  const client = createClient({ transport, userAgent: 'bench', clock: realClock });
  const browser = await startBrowser(chromiumPath);
  let server: McmRun | undefined;
  try {
    const bands = Array.from({ length: BANDS }, (_, index) => ({ name: `pool-${index}`, machines: MACHINES / BANDS }));
    const names = await addLargeFleet(client, bands, seededRandom(1));
    await addLeases(client);
    server = mcm(['dashboard', '--port=0', `--kubeconfig=${config}`], { cwd: folder });
    const line = await server.line(/^dashboard of /);
    const url = /http:\S+/.exec(line)?.[0] ?? '';
    const page = await browser.context.newPage();
    const session = await browser.context.newCDPSession(page);
    await session.send('Performance.enable');
    await page.goto(url);
    await page
      .locator('.tile')
      .nth(MACHINES - 1)
      .waitFor({ timeout: 120_000 });
    const tasks = async (): Promise<number> =>
      (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === TASKS)?.value ?? Number.NaN;
    const api = client.resource<Machine>(machines, 'default');
    const pid = server.child.pid ?? 0;
    const [began, usedMs, workedS] = [realClock.monotonic(), cpuMs(pid), await tasks()];
    let changes = 0;
    while (realClock.monotonic() - began < SECONDS * 1_000) {
      const due = Math.ceil(((realClock.monotonic() - began) / 1_000) * CHANGES_PER_SECOND);
      const batch = Array.from({ length: Math.max(0, due - changes) }, (_, index) => changes + index);
      changes += batch.length;
      await Promise.all(
        batch.map((index) => {
          const body = { status: statusOf(index % 2 === 0 ? 'unknown' : 'running') };
          return api.patch(names[(index * 7) % names.length] ?? '', { type: 'merge', body }, { subresource: 'status' });
        }),
      );
      await sleep(realClock, 20);
    }
    const seconds = (realClock.monotonic() - began) / 1_000;
    const note = `${MACHINES} machines, ${(changes / seconds).toFixed(1)} changes/s`;
    yield atMost(
      'CPU of the main thread of the dashboard page',
      (((await tasks()) - workedS) / seconds) * 100,
      PAGE_PERCENT,
      '% of a core',
      note,
    );
    yield atMost('dashboard, server', (cpuMs(pid) - usedMs) / seconds / 10, SERVER_PERCENT, '% of a core', note);
    yield reported('dashboard, changes', changes / seconds, 'per second');
  } finally {
    await browser.close();
    server?.child.kill('SIGTERM');
    await server?.ended;
    await transport.close();
    await plane.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const kubeconfigOf = (plane: { readonly port: number; readonly caCertificate: string; readonly token: string }) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'bench',
  contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench', namespace: 'default' } }],
  clusters: [
    {
      name: 'bench',
      cluster: {
        server: `https://127.0.0.1:${plane.port}`,
        'certificate-authority-data': Buffer.from(plane.caCertificate).toString('base64'),
      },
    },
  ],
  users: [{ name: 'bench', user: { token: plane.token } }],
});
