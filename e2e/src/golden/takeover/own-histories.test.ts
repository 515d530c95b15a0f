import { fileURLToPath } from 'node:url';
import { formatTime } from '@mcm/api';
import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { Pace } from './recordings/cloud.ts';
import { type History, parseHistory, type Recorded, readHistories } from './recordings/recording.ts';
import { sameContract } from './same-contract.ts';
import { put } from './stage/load.ts';
import { record, type UserAction } from './stage/record.ts';
import { Stage } from './stage/stage.ts';
import { takeOver } from './take-over.ts';

/** Histories of mcm with user actions that the recordings of the original lack. */
const [birth] = (await readHistories(fileURLToPath(new URL('../../../testdata/takeover', import.meta.url)))).filter(
  ({ file }) => file === 'birth.json',
);
const first = [...(birth?.states[0]?.objects.values() ?? [])];
const given = (kind: string): Recorded => {
  const found = first.find((object) => object.kind === kind);
  if (!found) throw new Error(`birth.json begins without a ${kind}`);
  return found;
};

const deployment = (spec: object): UserAction => ({
  at: 0.1,
  after: 'deployment created',
  act: async (stage) => {
    for (const kind of ['Secret', 'MachineClass']) await put(stage, given(kind), new Map(), false);
    const large = { ...given('MachineClass'), metadata: { ...given('MachineClass').metadata, name: 'large' } };
    await put(stage, large as Recorded, new Map(), false);
    const draft = given('MachineDeployment');
    await put(stage, { ...draft, spec: { ...(draft.spec as object), ...spec } }, new Map(), false);
  },
});
const patch = (at: number, after: string, body: object, kind = 'MachineDeployment', name?: Finder): UserAction => ({
  at,
  after,
  act: async (stage) => {
    const target = name ? await name(stage) : 'pool';
    await stage.resource(kind).patch(target, { type: 'merge', body });
  },
});
const remove = (at: number, after: string, kind: string, name: Finder): UserAction => ({
  at,
  after,
  act: async (stage) => {
    await stage.resource(kind).delete(await name(stage), { propagationPolicy: 'Background' });
  },
});
type Finder = (stage: Stage) => Promise<string>;
const machine =
  (place: number): Finder =>
  async (stage) =>
    (await stage.machines()).map(({ metadata }) => metadata.name).sort()[place] ?? 'none';
const toClass = (name: string) => ({ spec: { template: { spec: { class: { name } } } } });
const annotate = (annotations: object) => ({ metadata: { annotations } });
const rolling = (maxSurge: number, maxUnavailable: number) => ({
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
});
const notReady = (at: number, after: string, node: Finder): UserAction => ({
  at,
  after,
  act: async (stage) => {
    const time = formatTime(stage.clock.now());
    const ready = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'gone' };
    const conditions = [{ ...ready, lastHeartbeatTime: time, lastTransitionTime: time }];
    const body = { status: { conditions } };
    await stage.resource('Node').patch(await node(stage), { type: 'merge', body }, { subresource: 'status' });
  },
});
const PRESERVE = 'node.machine.sapcloud.io/preserve';

const HISTORIES: readonly (readonly [string, readonly UserAction[], number])[] = [
  [
    'a rollback',
    [
      deployment({ replicas: 5, ...rolling(2, 1) }),
      patch(20, 'class changed', toClass('large')),
      patch(60, 'rolled back', { spec: { rollbackTo: { revision: 1 } } }),
    ],
    100,
  ],
  [
    'a pause before a rollout, and a scale-out during it',
    [
      deployment({ replicas: 4, ...rolling(1, 0) }),
      patch(20, 'paused', { spec: { paused: true } }),
      patch(30, 'class changed while paused', toClass('large')),
      patch(50, 'resumed', { spec: { paused: false } }),
      patch(80, 'scaled to 7', { spec: { replicas: 7 } }),
    ],
    150,
  ],
  [
    'strategy Recreate',
    [deployment({ replicas: 3, strategy: { type: 'Recreate' } }), patch(20, 'class changed', toClass('large'))],
    60,
  ],
  ['a node deleted', [deployment({ replicas: 3 }), remove(20, 'a node deleted by hand', 'Node', machine(1))], 60],
  [
    'two machines deleted',
    [
      deployment({ replicas: 4 }),
      remove(20, 'a machine deleted', 'Machine', machine(0)),
      remove(50, 'another machine deleted', 'Machine', machine(2)),
    ],
    80,
  ],
  [
    'a machine preserved',
    [
      deployment({ replicas: 2 }),
      patch(20, 'a machine preserved', annotate({ [PRESERVE]: 'now' }), 'Machine', machine(0)),
      patch(50, 'preservation ended', annotate({ [PRESERVE]: null }), 'Machine', machine(0)),
    ],
    80,
  ],
  [
    'a preserved node that fails',
    [
      deployment({ replicas: 2 }),
      patch(20, 'a node preserved when it fails', annotate({ [PRESERVE]: 'when-failed' }), 'Node', machine(0)),
      notReady(40, 'the node fails', machine(0)),
    ],
    120,
  ],
  [
    'in-place updates with nodes that a user selects',
    [
      deployment({
        replicas: 2,
        strategy: {
          type: 'InPlaceUpdate',
          inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Manual' },
        },
      }),
      patch(20, 'class changed', toClass('large')),
      patch(
        40,
        'a node selected',
        { metadata: { labels: { 'node.machine.sapcloud.io/selected-for-update': 'true' } } },
        'Node',
        machine(0),
      ),
      patch(
        60,
        'the agent reports success',
        { metadata: { labels: { 'node.machine.sapcloud.io/update-result': 'successful' } } },
        'Node',
        machine(0),
      ),
    ],
    100,
  ],
  [
    'a class corrected',
    [
      deployment({ replicas: 2 }),
      patch(
        20,
        'the cloud no longer creates',
        { providerSpec: { CreateError: 'Internal' } },
        'MachineClass',
        async () => 'small',
      ),
      patch(30, 'scaled to 4', { spec: { replicas: 4 } }),
      patch(40, 'the cloud recovers', { providerSpec: { CreateError: null } }, 'MachineClass', async () => 'small'),
    ],
    100,
  ],
];

/** A deletion takes long, because the recording must show the states during the deletion. */
const SLOW: Pace = { joinMs: () => 0, leaveMs: () => 15_000 };

async function historyOf(actions: readonly UserAction[], until: number): Promise<History> {
  if (!birth) throw new Error('there is no birth.json');
  const stage = await Stage.open(birth, { pace: SLOW });
  try {
    stage.startControllers();
    return parseHistory('own.json', await record(stage, actions, until));
  } finally {
    await stage.close();
  }
}

test.each(sampled(HISTORIES, 6, 2))(
  '%s: the replay finds the action in the recording',
  async (_what, actions, until) => {
    const history = await historyOf(actions, until);
    const failures: string[] = [];
    let checks = 0;
    for (const index of [0.3, 0.6, 0.9].map((part) => Math.floor(history.states.length * part))) {
      const { failure, name } = await takeOver(history, index);
      checks += 1;
      if (failure) failures.push(`${name}: ${failure}`);
    }
    for await (const { failure, name } of sameContract(history)) {
      checks += 1;
      if (failure) failures.push(`${name}: ${failure}`);
    }
    expect(checks).toBeGreaterThan(3);
  },
);
