import { Annotations, Labels, type Machine } from '@mcm/api';
import { createMemoryLogger, type Node, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { MachineError } from '../../driver/contract/errors.ts';
import { at, hc, machine, NOON, node } from '../../machine/testing.ts';
import { NodeCollector } from './node-collector.ts';
import { ORPHAN_DEFAULTS, type OrphanReconcileOptions } from './orphan-options.ts';

const MINUTE = 60_000;
const CLASS = 'test/small';
const CLASS_ANNOTATION = { [Annotations.MachineClassOfNode]: CLASS };

const orphan = (metadata: object = {}): Node =>
  node({
    metadata: {
      creationTimestamp: at(-60),
      labels: { [Labels.MachineName]: 'machine-0' },
      annotations: { ...CLASS_ANNOTATION, [Annotations.NotManagedByMCM]: '1' },
      ...metadata,
    },
    spec: { providerID: 'aws:///eu-west-1/i-1' },
    conditions: hc('Unknown'),
  });

interface StageCloud {
  readonly status?: () => Promise<unknown>;
  readonly canStatus?: boolean;
  readonly lacksClass?: boolean;
}

function stage(found: readonly Node[], machines: readonly Machine[] = [], cloud: StageCloud = {}) {
  const { status = () => new Promise(() => undefined), canStatus = true, lacksClass = false } = cloud;
  const deleted: string[] = [];
  const clock = new VirtualClock({ start: NOON });
  const log = createMemoryLogger();
  const texts: string[] = [];
  const byNode = (_: string, name: string) =>
    machines.filter(({ metadata }) => metadata.labels?.[Labels.Node] === name);
  const machineClass = { metadata: { namespace: 'test', name: 'small' } };
  const parts = {
    clock,
    log,
    namespace: 'test',
    caches: {
      machines: {
        store: {
          byIndex: byNode,
          get: (key: string) => machines.find(({ metadata }) => key === `test/${metadata.name}`),
        },
      },
      classes: { store: { list: () => [machineClass], get: () => (lacksClass ? undefined : machineClass) } },
      target: { nodes: { store: { list: () => found }, recordWrite: () => undefined } },
    },
    control: { resource: () => ({ list: async () => ({ items: [], metadata: {} }) }) },
    target: {
      resource: () => ({
        patch: async () => undefined,
        get: async (name: string) => found.find(({ metadata }) => metadata.name === name),
        delete: async (name: string) => void deleted.push(name),
      }),
    },
    targetRecorder: { event: (_about: object, _type: string, _reason: string, text: string) => texts.push(text) },
    invoker: { can: { list: true, status: canStatus }, status },
    defaults: { creationTimeoutMs: 20 * MINUTE },
    options: ORPHAN_DEFAULTS,
  };
  const listings = { of: () => ({ startedAt: clock.now(), vms: [] }) };
  const collector = new NodeCollector(
    parts as unknown as OrphanReconcileOptions,
    partial<ConstructorParameters<typeof NodeCollector>[1]>(listings),
  );
  const search = async (afterMs: number): Promise<Date | undefined> => {
    await clock.advance(afterMs);
    return collector.pass(clock.now());
  };
  const logged = (start: string) => log.lines.filter(({ message }) => message.startsWith(start));
  return { collector, search, texts, logged, deleted };
}

test('the next search starts early only if a Node is suspected', async () => {
  const early = new Date(NOON.getTime() + ORPHAN_DEFAULTS.confirmAfterMs);
  expect(await stage([]).search(0)).toBeUndefined();
  expect(await stage([orphan()]).search(0)).toEqual(early);
});

test.each<[what: string, found: Node, machines: readonly Machine[], suspects: number]>([
  ['belongs to no machine', orphan(), [machine({ name: 'other' })], 1],
  ['is Ready', { ...orphan(), status: { conditions: hc('True') } }, [], 0],
  ['another client deletes', orphan({ deletionTimestamp: at(-1) }), [], 0],
  ['belongs to another namespace', orphan({ annotations: { [Annotations.MachineClassOfNode]: 'other/small' } }), [], 0],
  ['has no label with a machine', orphan({ labels: {} }), [], 0],
  ['has the name of a machine with another Node', orphan(), [machine({ name: 'machine-0' })], 0],
  [
    'is in the label of a machine with another name',
    orphan(),
    [machine({ name: 'other', metadata: { labels: { [Labels.Node]: 'fakeNode-0' } } })],
    0,
  ],
])('a Node that %s is suspected or not', async (_what, found, machines, suspects) => {
  const { collector, search } = stage([found], machines);
  await search(0);
  expect(collector.suspects).toBe(suspects);
});

test('each outcome is logged once, and no event reports a deletion that waits for the cloud', async () => {
  const { search, texts, logged } = stage([orphan()]);
  for (const afterMs of [0, MINUTE, ORPHAN_DEFAULTS.confirmAfterMs, MINUTE, MINUTE]) await search(afterMs);
  expect(logged('Node without a machine').map(({ fields }) => fields.outcome)).toEqual([
    'mcm keeps the Node: the minimum time since the deletion of the Machine has not passed',
    'mcm checks the API servers and the cloud, and then deletes the Node',
    'mcm is deleting the Node',
  ]);
  expect(texts).toEqual([]);
});

test.each([
  ['no machine', [], 'Node belongs to no machine'],
  [
    'a machine again',
    [machine({ name: 'machine-0', metadata: { labels: { [Labels.Node]: 'fakeNode-0' } } })],
    'Node belongs to a machine again',
  ],
])('a changed mark is logged: the Node belongs to %s', async (_what, machines, message) => {
  const marked = machines.length > 0;
  const { search, logged } = stage([orphan(marked ? {} : { annotations: CLASS_ANNOTATION })], machines);
  await search(0);
  expect(logged('Node belongs').map(({ message: text }) => text)).toEqual([message]);
});

const fails = (error: unknown) => (): Promise<never> => Promise.reject(error);

test.each<[what: string, cloud: StageCloud, deleted: readonly string[]]>([
  ['the VM does not exist', { status: fails(new MachineError('NotFound', 'no VM')) }, ['fakeNode-0']],
  ['the driver has no method for the status', { canStatus: false }, ['fakeNode-0']],
  ['the VM exists', { status: async () => ({}) }, []],
  ['the class of the VM was deleted', { lacksClass: true }, []],
  ['the cloud does not answer', { status: fails(new MachineError('Unavailable', 'later')) }, []],
  ['the driver has a defect', { status: fails({ code: 'NotFound' }) }, []],
])('the last check before the deletion of a Node: %s', async (_what, cloud, expected) => {
  const { search, deleted } = stage([orphan()], [], cloud);
  for (const afterMs of [0, ORPHAN_DEFAULTS.confirmAfterMs, MINUTE]) await search(afterMs);
  expect([...new Set(deleted)]).toEqual(expected);
});
