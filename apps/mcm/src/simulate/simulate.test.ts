import { fileURLToPath } from 'node:url';
import type { CreateDriver } from '@mcm/conformance';
import { type DriverContext, type DriverDefinition, defineDriver, MachineError } from '@mcm/core';
import { expect, test } from 'vitest';
import { createDriver } from '../../../../packages/conformance/examples/toy-driver.ts';
import { readObjects } from '../files/read.ts';
import { type OpenCloud, openLocal, openThirdParty } from './clouds.ts';
import { inputsOf } from './inputs.ts';
import { type PlayOptions, playHistory } from './play.ts';
import { simulationLines, simulationOf } from './report.ts';
import { controllerSettings } from './settings.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const DRIVER = `${ROOT}/packages/conformance/examples/toy-driver.ts`;
const JOIN_MS = 30_000;

const toyObjects = [
  {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: { name: 'toy-small' },
    provider: 'toy',
    secretRef: { name: 'toy', namespace: 'default' },
    providerSpec: { cluster: 'ours', size: 'small' },
  },
  {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineDeployment',
    metadata: { name: 'workers' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { pool: 'workers' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels: { pool: 'workers' } },
        spec: { class: { kind: 'MachineClass', name: 'toy-small' } },
      },
    },
  },
] as unknown as Parameters<typeof inputsOf>[0];

const defaults = async (): Promise<Omit<PlayOptions, 'openCloud' | 'seed' | 'inputs'>> => ({
  settings: await controllerSettings([]),
  scenario: 'roll',
  faults: true,
  completeMs: 7_200_000,
  podsPerMachine: 2,
});

const toy = () => openThirdParty(DRIVER, ROOT, JOIN_MS);

const playToy = async (change: Partial<PlayOptions>) =>
  playHistory({ ...(await defaults()), inputs: inputsOf(toyObjects, 'x'), openCloud: await toy(), seed: 1, ...change });

test('the manifests of a local fleet roll without a violation, and equal seeds give equal results', async () => {
  const inputs = inputsOf(await readObjects([`${ROOT}/examples/machine-deployment.yaml`]), 'x');
  const play = async () => playHistory({ ...(await defaults()), inputs, openCloud: openLocal(JOIN_MS), seed: 3 });
  const result = await play();
  expect(result.violations).toEqual([]);
  expect(result.figures.readyMs.length).toBeGreaterThanOrEqual(4);
  expect(Math.min(...result.figures.readyMs)).toBeGreaterThanOrEqual(JOIN_MS);
  expect(result.figures.rollMs).toHaveLength(1);
  expect(result.figures.maxUnavailable).toBe(0);
  expect(await play()).toEqual(result);
});

test('the driver of the example breaks no rule, and the story contains faults and kills', async () => {
  const { violations, story } = await playToy({ scenario: 'random', seed: 2 });
  expect(violations).toEqual([]);
  expect(story).toMatch(/cloud (GET|POST|DELETE) \/servers.*: (breaks|answer lost|status 4)/);
  expect(story).toMatch(/the (manager|machine-controller) is killed/);
});

type Toy = ReturnType<typeof createDriver>;

const spoilt = (change: (driver: Toy) => Partial<Record<keyof Toy, unknown>>): CreateDriver =>
  ((context: DriverContext) => {
    const driver = createDriver(context);
    return defineDriver({ ...driver, ...change(driver) } as DriverDefinition<never, never>);
  }) as CreateDriver;

const withDriver = async (driver: CreateDriver): Promise<OpenCloud> => {
  const open = await toy();
  return async (seed) => ({ ...(await open(seed)), createDriver: driver });
};

let tokens = 0;

/** Each request of a creation gets another token, so the cloud does not recognize a repeated request. */
const forgetful = ((context: DriverContext) => {
  const driver = createDriver({
    ...context,
    connect: (origin) => {
      const below = context.connect(origin);
      return (request) =>
        below(
          request.body && request.method === 'POST'
            ? { ...request, body: JSON.stringify({ ...JSON.parse(request.body), token: `t-${++tokens}` }) }
            : request,
        );
    },
  });
  const { status: _status, ...rest } = driver;
  return defineDriver(rest as never);
}) as CreateDriver;

const isCalled =
  (name: string) =>
  ({ machineName }: { readonly machineName: string }) =>
    machineName !== name;

test.each<[what: string, seed: number, driver: CreateDriver, why: RegExp]>([
  ['creates a second VM after a lost answer', 14, forgetful, /has two VMs/],
  [
    'reports a deletion that it does not send',
    1,
    spoilt(() => ({ delete: async () => undefined })),
    /belongs to no machine/,
  ],
  [
    'leaves a resource behind that its list does not contain',
    1,
    spoilt((driver) => ({
      create: async (request: Parameters<Toy['create']>[0]) => {
        const { machine, spec } = request;
        const metadata = { ...machine.metadata, uid: `${machine.metadata.uid}-disk` };
        const disk = { ...request, machine: { ...machine, metadata }, spec: { ...spec, cluster: 'disks' } };
        await driver.create(disk as typeof request);
        return driver.create(request);
      },
    })),
    /after the deletion of all machines, these resources remain: srv-/,
  ],
  [
    'also deletes the VM of another machine',
    1,
    spoilt((driver) => ({
      delete: async (request: Parameters<Toy['delete']>[0]) => {
        const { machine } = request;
        const other = (await driver.list?.(request))?.find(isCalled(machine.metadata.name));
        const spec = { ...machine.spec, providerID: other?.providerId };
        if (other) await driver.delete({ ...request, machine: { ...machine, spec } as typeof machine });
        return driver.delete(request);
      },
    })),
    /is lost, although machine .* is not being deleted/,
  ],
])('a driver that %s is convicted', async (_what, seed, driver, why) => {
  const results = [await playToy({ openCloud: await withDriver(driver), seed, completeMs: 600_000 })];
  expect(results.flatMap(({ violations }) => violations).join('\n')).toMatch(why);
  const model = simulationOf(results, {
    scenario: 'roll',
    driver: 'toy',
    faults: true,
    replayOf: (first) => `mcm simulate --seed ${first}`,
    story: true,
  });
  expect(simulationLines(model).join('\n')).toMatch(
    /violations: +\d+\n {2}seed \d+: .*\n {4}replay: mcm simulate --seed \d+/,
  );
  expect(model.story).toContain('VIOLATION');
});

test('a driver that never creates a VM ends the history with the reason', async () => {
  const refuses = spoilt(() => ({
    create: () => Promise.reject(new MachineError('InvalidArgument', 'the cloud has no such size')),
  }));
  const { violations, figures } = await playToy({ openCloud: await withDriver(refuses), completeMs: 600_000 });
  expect(violations).toEqual([expect.stringMatching(/^the fleet is not complete after 120 minutes: .*no such size/)]);
  expect(figures.readyMs).toEqual([]);
});
