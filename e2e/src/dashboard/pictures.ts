import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { crds, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { serveDashboard } from '@mcm/cli';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, nodes, realClock, seededRandom } from '@mcm/kube';
import type { Page } from 'playwright-core';
import { chromiumPath, startBrowser } from './browser.ts';
import { addLargeFleet, addLeases, type FleetPart, statusOf } from './large-fleet.ts';

const INTO = join(import.meta.dirname, '../../../docs/images/dashboard');
const NAMESPACE = 'default';
const BANDS: readonly FleetPart[] = [
  { name: 'gateway', machines: 12 },
  { name: 'workers-general', machines: 120, states: { creating: 6, joining: 8, refused: 3, leaving: 2 }, old: 20 },
  {
    name: 'workers-memory-optimized',
    machines: 60,
    states: { failed: 2, unknown: 3 },
    problem: 'The rollout has timed out: 5 machines are not available',
  },
  { name: 'batch-spot', machines: 90, states: { leaving: 9 }, paused: true },
];

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function addNode(client: KubeClient, name: string): Promise<void> {
  await client.resource(nodes).create({ metadata: { name }, spec: {} });
  const body = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  await client.resource(nodes).patch(name, { type: 'merge', body }, { subresource: 'status' });
}

/** Replaces the machines of the deployment `gateway` one by one, so that the pages show a history. */
async function rollGateway(client: KubeClient): Promise<string> {
  const api = client.resource<Machine>(machines, NAMESPACE);
  const old = (await api.list()).items.filter(({ metadata }) => metadata.name.startsWith('gateway-')).slice(0, 6);
  const setStatus = (name: string, state: Parameters<typeof statusOf>[0]) =>
    api.patch(name, { type: 'merge', body: { status: statusOf(state) } }, { subresource: 'status' });
  const deployments = client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
  const setCounts = (updated: number, available: number, replicas: number) => {
    const status = { replicas, updatedReplicas: updated, availableReplicas: available };
    return deployments.patch('gateway', { type: 'merge', body: { status } }, { subresource: 'status' });
  };
  let last = '';
  for (const [index, machine] of old.entries()) {
    const name = `gateway-8b4d2-${['k2m4x', 'w7p9c', 'd3f8z', 'q6t1v', 'n5r0b', 'h9j2l'][index]}`;
    const { metadata, spec } = machine;
    const { node: _, ...labels } = metadata.labels ?? {};
    const { providerID: __, ...withoutVm } = spec;
    const owners = metadata.ownerReferences ?? [];
    await api.create({
      metadata: { name, namespace: NAMESPACE, labels, ownerReferences: owners, finalizers: metadata.finalizers ?? [] },
      spec: withoutVm,
    } as never);
    await setStatus(name, 'creating');
    await setCounts(index, 12, 13);
    await pause(1_200);
    if (index === 2) {
      await setStatus(name, 'refused');
      await pause(2_500);
    }
    await api.patch(name, { type: 'merge', body: { spec: { providerID: `aws:///x/i-${index}` } } });
    await setStatus(name, 'joining');
    await pause(1_500);
    await addNode(client, `ip-10-0-1-${index}`);
    await api.patch(name, { type: 'merge', body: { metadata: { labels: { node: `ip-10-0-1-${index}` } } } });
    await setStatus(name, 'running');
    await setCounts(index + 1, 13, 13);
    await setStatus(metadata.name, 'leaving');
    await api.delete(metadata.name);
    await setCounts(index + 1, 12, 12);
    await pause(1_300);
    await api.patch(metadata.name, { type: 'merge', body: { metadata: { finalizers: null } } });
    if (index === 2) last = name;
  }
  return last;
}

async function shoot(page: Page, url: string, name: string, options: { width: number; dark?: boolean }): Promise<void> {
  await page.emulateMedia({ colorScheme: options.dark === true ? 'dark' : 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: options.width, height: options.width < 600 ? 800 : 860 });
  await page.goto(url);
  await page.getByText('Live', { exact: true }).waitFor();
  await pause(1_500);
  await page.screenshot({ path: join(INTO, `${name}.png`) });
}

/** Usage: pnpm dashboard:pictures. Creates the pictures in the documentation. Requires Chromium. */
async function main(): Promise<void> {
  if (chromiumPath === undefined) throw new Error('Chromium is not installed; set MCM_CHROMIUM to its path');
  mkdirSync(INTO, { recursive: true });
  const plane = await startControlPlane({ crds, controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'pictures', clock: realClock });
  const end = new AbortController();
  await addLargeFleet(client, BANDS, seededRandom(3));
  await addLeases(client);
  const cluster = { client, target: client, namespace: NAMESPACE, close: async () => undefined };
  const { url, close } = await serveDashboard(cluster, { random: seededRandom(1), signal: end.signal, port: 0 });
  const browser = await startBrowser(chromiumPath);
  const page = await browser.context.newPage();
  const rolled = await rollGateway(client);
  await shoot(page, url, 'fleet', { width: 1_280 });
  await shoot(page, url, 'fleet-dark', { width: 1_280, dark: true });
  await shoot(page, `${url}rollouts/default/gateway`, 'rollout', { width: 1_280 });
  await shoot(page, `${url}machines/default/${rolled}`, 'machine', { width: 1_280 });
  await shoot(page, url, 'phone', { width: 400, dark: true });
  await browser.close();
  await close();
  end.abort(new Error('the pictures are written'));
  await plane.close();
}

await main();
