import { crds, type Machine, machines } from '@mcm/api';
import { serveDashboard } from '@mcm/cli';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, type Lease, leases, namespaces, realClock, seededRandom } from '@mcm/kube';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_PROBLEMS, pageProblems } from './axe.ts';
import { chromiumPath, startBrowser } from './browser.ts';

const FLEET = { flag: 'fleet-namespaces', selector: 'mcm-fleet' } as const;
const LEASES = ['machine-controller-manager', 'machine-controller'];

describe.skipIf(chromiumPath === undefined)('mcm dashboard --fleet in a browser', () => {
  let plane: ControlPlane;
  let client: KubeClient;
  let url: string;
  let close: () => Promise<void>;
  let browser: Awaited<ReturnType<typeof startBrowser>>;
  let page: Page;
  const asked: string[] = [];

  const hold = async (cluster: string, name: string): Promise<void> => {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: 'replica-0.1', leaseDurationSeconds: 3600, renewTime };
    await client.resource<Lease>(leases, cluster).create({ metadata: { name }, spec });
  };
  const addMachine = async (cluster: string, name: string, phase: string): Promise<void> => {
    const api = client.resource<Machine>(machines, cluster);
    const spec = { class: { kind: 'MachineClass', name: 'small' } };
    await api.create({ metadata: { name, namespace: cluster }, spec } as never);
    const status = { currentStatus: { phase, lastUpdateTime: new Date().toISOString() } };
    await api.patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
  };
  const addCluster = async (name: string, held: readonly string[], region = 'north'): Promise<void> => {
    const labels = { 'mcm-fleet': 'aws', 'topology.kubernetes.io/region': region };
    await client.resource(namespaces).create({ metadata: { name, labels } });
    for (const lease of held) await hold(name, lease);
  };
  const order = (): Promise<unknown> =>
    page.evaluate(`[...document.querySelectorAll('.rollout-head a')].map((link) => link.textContent)`);
  const cluster = (name: string) => page.getByRole('listitem').filter({ hasText: name });

  beforeAll(async () => {
    plane = await startControlPlane({ crds, controllers: false });
    const { transport } = plane;
    client = createClient({ transport, userAgent: 'test', clock: realClock });
    const seen = createClient({
      transport: (request) => {
        asked.push(request.path);
        return transport(request);
      },
      userAgent: 'test',
      clock: realClock,
    });
    await addCluster('shoot--calm', LEASES);
    await addMachine('shoot--calm', 'm-0', 'Running');
    await addCluster('shoot--sick', LEASES, 'south');
    await addMachine('shoot--sick', 'm-1', 'Failed');
    await addMachine('shoot--sick', 'm-2', 'Running');
    await addCluster('shoot--alone', []);
    for (const name of ['unrelated', 'mcm']) await client.resource(namespaces).create({ metadata: { name } });
    const end = new AbortController();
    const settings = { random: seededRandom(1), signal: end.signal, port: 0, allNamespaces: true, fleet: FLEET };
    const all = { client: seen, target: seen, namespace: 'mcm', close: async () => undefined };
    const dashboard = await serveDashboard(all, settings);
    url = dashboard.url;
    close = async () => {
      await dashboard.close();
      end.abort(new Error('the test is over'));
      await plane.close();
    };
    browser = await startBrowser(chromiumPath ?? '');
    page = await browser.context.newPage();
    await page.goto(new URL('/clusters', url).href);
    await page.getByText('Live', { exact: true }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await close?.();
  });

  test('the clusters with problems come first, with their machines and the health of their controllers', async () => {
    await page.getByText('3 clusters, 2 with problems').waitFor();
    expect(await order()).toEqual(['shoot--sick', 'shoot--alone', 'shoot--calm']);
    await cluster('shoot--sick').getByText('1 Failed').waitFor();
    await cluster('shoot--sick').getByText('1 Ready').waitFor();
    await cluster('shoot--sick').getByText('south').waitFor();
    await cluster('shoot--alone').getByText('No process holds a Lease of the cluster.').waitFor();
  });

  test('the page is accessible and fits the screen, on a desktop and on a phone', async () => {
    for (const width of [400, 1_280]) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await pageProblems(page)]).toEqual([width, NO_PROBLEMS]);
    }
  });

  test('the list follows changes', async () => {
    for (const lease of LEASES) await hold('shoot--alone', lease);
    await page.getByText('3 clusters, 1 with problems').waitFor();
    const unreachable = JSON.stringify({ unreachable: ['shoot--alone'] });
    const name = 'machine-controller-aws-fleet-0';
    const annotations = { 'holder-settings': `h ${unreachable}` };
    const spec = { holderIdentity: 'h', leaseDurationSeconds: 3600 };
    await client.resource<Lease>(leases, 'mcm').create({ metadata: { name, annotations }, spec });
    const silent = 'The API server does not respond to machine-controller-aws of replica 0.';
    await cluster('shoot--alone').getByText(silent).waitFor();
    await client.resource(leases, 'mcm').delete(name);
    await page.getByText('3 clusters, 1 with problems').waitFor();
    await client.resource(namespaces).delete('shoot--calm');
    await cluster('shoot--calm').getByText('The namespace is being deleted.').waitFor();
    expect(await order()).toEqual(['shoot--sick', 'shoot--calm', 'shoot--alone']);
  });

  test('a link opens the machines of one cluster, and their nodes are not read', async () => {
    await page.getByRole('link', { name: 'shoot--sick' }).click();
    await page.getByRole('link', { name: /^m-1\s*: Failed/ }).waitFor();
    expect(await page.getByRole('link', { name: /^m-0/ }).count()).toBe(0);
    await page.getByRole('link', { name: /^m-1\s*: Failed/ }).click();
    await page.getByText('mcm explain shoot--sick/machine/m-1').waitFor();
    expect(asked.filter((path) => /\/(nodes|pods)\b/.test(path))).toEqual([]);
  });
});
