import {
  Annotations,
  API_VERSION,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
} from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import type { FullReading } from '../../cluster/deployment-reading.ts';
import { explainDeployment } from './deployment.ts';
import { deploymentLines } from './deployment-lines.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const at = (minutes: number): string => new Date(NOW.getTime() + minutes * 60_000).toISOString();

const meta = (name: string, more: object = {}) => ({
  name,
  namespace: 'test',
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: at(-600),
  ...more,
});
const ownedBy = (kind: string, name: string) => ({
  ownerReferences: [{ apiVersion: API_VERSION, kind, name, uid: `uid-${name}`, controller: true }],
});
const template = { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } };

function deployment(replicas: number, spec: object = {}, more: object = {}): MachineDeployment {
  return {
    apiVersion: API_VERSION,
    kind: 'MachineDeployment',
    metadata: meta('pool', more),
    spec: {
      replicas,
      selector: { matchLabels: { app: 'pool' } },
      template,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      ...spec,
    },
  } as MachineDeployment;
}

const set = (replicas: number): MachineSet =>
  ({
    apiVersion: API_VERSION,
    kind: 'MachineSet',
    metadata: meta('pool-a', {
      ...ownedBy('MachineDeployment', 'pool'),
      annotations: { 'deployment.kubernetes.io/desired-replicas': String(replicas) },
    }),
    spec: { replicas, selector: { matchLabels: { app: 'pool' } }, template },
  }) as MachineSet;

const machine = (name: string, phase: string, more: object = {}): Machine =>
  ({
    apiVersion: API_VERSION,
    kind: 'Machine',
    metadata: meta(name, { ...ownedBy('MachineSet', 'pool-a'), ...more }),
    spec: template.spec,
    status: { currentStatus: { phase, lastUpdateTime: at(-11) } },
  }) as Machine;

const many = (count: number, phase: string, prefix: string): Machine[] =>
  Array.from({ length: count }, (_, index) => machine(`${prefix}${index}`, phase));

const small = partial<MachineClass>({ apiVersion: API_VERSION, kind: 'MachineClass', metadata: meta('small') });

function read(machines: readonly Machine[], more: Partial<FullReading> = {}): FullReading {
  return {
    deployment: deployment(machines.length),
    sets: [set(machines.length)],
    machines: new Map([['uid-pool-a', machines]]),
    fleet: machines,
    classes: [small],
    others: [],
    ...more,
  };
}

const explain = (reading: FullReading): string => deploymentLines(explainDeployment(reading, NOW, []), NOW).join('\n');

describe('explain', () => {
  test('a healthy deployment has no lines about disruption', () => {
    expect(explainDeployment(read(many(3, 'Running', 'r')), NOW, []).disruption).toEqual([]);
  });

  test('explain shows the zones, the zones that get no machines, and why the next machine goes to its zone', () => {
    const zonal = (zone: string, index: number): Machine =>
      machine(`${zone}${index}`, 'Running', { annotations: { [Annotations.ZoneOffering]: JSON.stringify({ zone }) } });
    const machines = ['a', 'a', 'b', 'c'].map(zonal);
    const annotations = {
      [Annotations.Zones]: '[{"zone":"a"},{"zone":"b"},{"zone":"c"},{"zone":"d"}]',
      [Annotations.ZonesEvacuated]: 'c',
      [Annotations.ZonesStandby]: 'd=2026-01-01T11:00:00Z',
    };
    const lines = explain(read(machines, { deployment: deployment(4, {}, { annotations }) }));
    expect(lines).toContain(
      'machines by zone: a 2, b 1, c 1 (evacuated: mcm moves the machines to other zones), d 0 (on standby: the machines of the zone are unreachable',
    );
    expect(lines).toContain(
      'zone of the next new machine: b, because the zone has 1 of 2 machines; zone c is evacuated; zone d is on standby',
    );
    expect(explain(read(machines))).not.toContain('zone');
  });

  test('explain names the zones in which a rollout waits', () => {
    const annotations = { [Annotations.Zones]: '[{"zone":"a"},{"zone":"b"}]', [Annotations.ZonesMaxUnavailable]: '1' };
    const zonal = (zone: string, phase: string, uid: string): Machine =>
      machine(`${zone}-${phase}`, phase, {
        annotations: { [Annotations.ZoneOffering]: JSON.stringify({ zone }) },
        ownerReferences: [{ apiVersion: API_VERSION, kind: 'MachineSet', name: uid, uid, controller: true }],
      });
    const next = { ...template, spec: { class: { kind: 'MachineClass', name: 'large' } } };
    const current = set(2);
    const newest = {
      ...current,
      metadata: { ...current.metadata, name: 'n', uid: 'n' },
      spec: { ...current.spec, template: next },
    };
    const old = [zonal('a', 'Running', 'uid-pool-a'), zonal('b', 'Running', 'uid-pool-a')];
    const fresh = [zonal('a', 'Pending', 'n'), zonal('b', 'Running', 'n')];
    const lines = explain({
      ...read([...old, ...fresh]),
      deployment: deployment(4, { template: next }, { annotations }),
      sets: [current, newest],
      machines: new Map([
        ['uid-pool-a', old],
        ['n', fresh],
      ]),
      classes: [small, { ...small, metadata: meta('large') }],
    });
    expect(lines).toContain('zone a: 1 missing, at most 1 may be missing; the rollout waits in this zone');
    expect(lines).not.toContain('zone b:');
  });

  test('explain shows which failed machines are replaced, which wait, and how to replace more at once', () => {
    const lines = explain(read([...many(7, 'Running', 'r'), ...many(3, 'Failed', 'f')]));
    expect(lines).toContain('7 of 10 are available; 3 are unavailable (3 failed)');
    expect(lines).toContain('mcm is replacing the failed machines f0, at most 1 at the same time');
    expect(lines).toContain(
      'failed machines wait for their replacement: f1, f2. mcm replaces at most 1 at the same time',
    );
    expect(lines).toContain('--max-unhealthy-replacements');
  });

  test('many machines with the same wait are one line with the first deadline', () => {
    const waits = ({ metadata, ...rest }: Machine, index: number): Machine => ({
      ...rest,
      metadata: { ...metadata, creationTimestamp: at(index - 10) },
      status: { ...rest.status, lastOperation: { description: `Machine ${metadata.name} has no room` } },
    });
    const lines = explain(read(many(5, 'CrashLoopBackOff', 'n').map(waits)));
    expect(lines).toMatch(
      /^Waits for:\n {2}- 5 machines, for example n0 \(CrashLoopBackOff for 10m\): Machine n0 has no room; in 10m0s the machine may be Failed.*\n\n/m,
    );
    expect(lines).toContain('next   the deployment waits until 5 machines of the newest MachineSet are Running');
  });

  test('other failed machines wait for a repair in progress', () => {
    const gone = machine('f0', 'Terminating', { deletionTimestamp: at(-1) });
    const lines = explain(read([...many(7, 'Running', 'r'), gone, ...many(2, 'Failed', 'g')]));
    expect(lines).toContain('1 machine still terminates and counts towards the surge only during a rollout');
    expect(lines).toContain(
      'failed machines wait for their replacement: g0, g1. mcm replaces at most 1 at the same time (1 terminating)',
    );
  });

  test('explain lists quarantined VMs of its own classes, with possible actions', () => {
    const withVms = (name: string, ids: string) =>
      ({
        ...small,
        metadata: meta(name, { annotations: { [Annotations.QuarantinedVMs]: ids } }),
      }) as MachineClass;
    const classes = [withVms('small', 'fake:///a,fake:///b'), withVms('other', 'fake:///c')];
    const lines = explain(read(many(3, 'Running', 'r'), { classes }));
    expect(lines).toContain(
      [
        'VMs in quarantine:',
        '  - VM fake:///a of MachineClass small',
        '  - VM fake:///b of MachineClass small',
        `  - create the Machines of the VMs again, or add the VMs to annotation ${Annotations.ReleaseVMs} of the MachineClass`,
      ].join('\n'),
    );
    expect(lines).not.toContain('fake:///c');
    expect(explain(read(many(3, 'Running', 'r')))).not.toContain('quarantine');
  });

  test('explain lists unreadable kinds together with everything else', () => {
    const known = explainDeployment(read(many(3, 'Running', 'r')), NOW);
    const lines = deploymentLines({ ...known, unread: ['nodes is forbidden'] }, NOW).join('\n');
    expect(lines).toContain('has    3 of set');
    expect(lines).toContain('\n\nNo permission to read:\n  - nodes is forbidden');
  });

  test('an open circuit breaker shows the kept machines, the cause, and when they are replaced', () => {
    const lines = explain(read([...many(2, 'Running', 'r'), ...many(4, 'Unknown', 'u')]));
    expect(lines).toContain(
      'the circuit breaker prevents replacing u0, u1, u2, u3: 4 of 6 machines of the cluster became unreachable at the same time',
    );
    expect(lines).toContain('mcm replaces the machines after the circuit breaker closes');
    expect(lines).not.toContain('VMs in the cloud');
  });

  test('the warm machines of a CapacityBuffer are a part of the wanted state', () => {
    const of = (annotations: Record<string, string>) => {
      const reading = read(many(1, 'Running', 'r'));
      const one = { ...reading.deployment, metadata: { ...reading.deployment.metadata, annotations } };
      return explainDeployment({ ...reading, deployment: one }, NOW, []).wants;
    };
    const buffer = { [Annotations.WarmBuffer]: 'shop/web' };
    const computed = { ...buffer, [Annotations.WarmBufferMachines]: '2' };
    expect(of(computed)).toContain('. CapacityBuffer shop/web needs 2 warm machines');
    expect(of(buffer)).toContain('. CapacityBuffer shop/web needs warm machines');
    expect(of({})).not.toContain('CapacityBuffer');
  });

  test('an open circuit breaker shows the recorded states of the VMs', () => {
    const seen = (machine: Machine, state: string): Machine => ({
      ...machine,
      metadata: { ...machine.metadata, annotations: { [Annotations.VmState]: `${NOW.toISOString()} ${state}` } },
    });
    const [u0, u1, u2, ...rest] = many(4, 'Unknown', 'u') as [Machine, Machine, Machine, Machine];
    const lost = [seen(u0, 'exists'), seen(u1, 'exists'), seen(u2, 'gone'), ...rest];
    const lines = explain(read([...many(2, 'Running', 'r'), ...lost]));
    expect(lines).toContain('VMs in the cloud: 2 exist, 1 gone, 1 not looked up');
  });

  test('during a rollout shows the machines that start, end and remain, and how to undo a wrong class', () => {
    const [failing] = many(1, 'CrashLoopBackOff', 'n');
    const status = { ...failing?.status, lastOperation: { state: 'Failed', errorCode: 'InvalidArgument' } };
    const ofSize = (replicas: number, name: string, more: object = {}) =>
      ({
        ...set(3),
        metadata: { ...set(3).metadata, name, uid: `uid-${name}` },
        spec: { ...set(3).spec, replicas, ...more },
      }) as MachineSet;
    const other = { ...template, spec: { class: { kind: 'MachineClass', name: 'large' } } };
    const gone = machine('o9', 'Terminating', { deletionTimestamp: at(-1) });
    const machines = new Map([
      ['uid-pool-a', [...many(2, 'Running', 'o'), gone]],
      ['uid-pool-b', [{ ...failing, status } as Machine]],
    ]);
    const reading = read([...machines.values()].flat(), {
      deployment: deployment(3, { template: other }),
      sets: [ofSize(2, 'pool-a'), ofSize(1, 'pool-b', { template: other })],
      machines,
      classes: [small, { ...small, metadata: meta('large') }],
    });
    const { next, hints } = explainDeployment(reading, NOW, []);
    expect(next).toBe(
      'the deployment waits until 1 machine of the newest MachineSet is Running and 1 machine of older MachineSets is deleted; after the wait, mcm deletes the next of 2 other machines of older MachineSets',
    );
    expect(hints).toContain('to restore the previous revision: mcm rollout undo pool');
  });

  test('a rollout that waits for the rollout budget of a fleet names the budget', () => {
    const because = 'other clusters use all claims of the rollout budget (ConfigMap fleet/rollouts)';
    const waiting = {
      ...deployment(2, { template: { ...template, spec: { class: { kind: 'MachineClass', name: 'large' } } } }),
      status: {
        conditions: [
          {
            type: 'RolloutWaiting',
            status: 'True',
            reason: 'RolloutBudget',
            message: `The rollout waits: ${because}.`,
          },
        ],
      },
    } as MachineDeployment;
    const classes = [small, { ...small, metadata: meta('large') }];
    const reading = read(many(2, 'Running', 'm'), { deployment: waiting, sets: [set(2)], classes });
    const { next, changes, blockers } = explainDeployment(reading, NOW, []);
    expect(next).toBe(`the deployment waits: ${because}`);
    expect(changes).toEqual([]);
    expect(blockers.join()).toContain(because);
    const { next: acting } = explainDeployment({ ...reading, deployment: { ...waiting, status: {} } }, NOW, []);
    expect(acting).toContain('creating');
  });

  test('explain reports a missing class', () => {
    const lines = explain(read(many(1, 'Running', 'r'), { classes: [] }));
    expect(lines).toContain('the deployment waits: MachineClass "small" does not exist');
    expect(lines).toContain('create MachineClass small, or change spec.template.spec.class.name');
  });

  test('a hint does not repeat a condition of the deployment, and adds the conditions of its sets', () => {
    const message = 'spec.template.spec.class.name: there is no MachineClass "small" in namespace "test".';
    const frozen = {
      type: 'Frozen',
      status: 'True',
      reason: 'OverShootingReplicaCount',
      message: 'It has 9 machines',
    } as const;
    const status = { conditions: [{ type: 'InvalidSpec', status: 'True', reason: 'ClassNotFound', message }] };
    const reported = explain(
      read([], {
        deployment: { ...deployment(1), status } as MachineDeployment,
        sets: [partial<MachineSet>({ ...set(1), status: { machineSetCondition: [frozen] } })],
        classes: [],
      }),
    );
    expect(reported).toContain('machineset pool-a: Frozen=True (OverShootingReplicaCount): It has 9 machines');
    expect(reported.match(/in namespace "test"/g)).toHaveLength(1);
  });

  test.each([
    [0, false],
    [1, true],
  ])('an old set with %s replicas whose class is missing is a reported problem: %s', (replicas, isProblem) => {
    const absent = {
      type: 'InvalidSpec',
      status: 'True',
      reason: 'ClassNotFound',
      message: 'there is no class "gone"',
    };
    const old = set(replicas);
    const status = { machineSetCondition: [absent] };
    const former = { ...old, metadata: { ...old.metadata, name: 'pool-old', uid: 'uid-old' }, status } as MachineSet;
    const reported = explain(read([], { sets: [set(1), former] }));
    expect(reported.includes('machineset pool-old: InvalidSpec=True')).toBe(isProblem);
  });

  test('machines that are not created because of a missing class are not reported as starting', () => {
    const reported = explain(
      read([machine('a', 'Running')], { deployment: deployment(2), sets: [set(2)], classes: [] }),
    );
    expect(reported).toContain('1 is unavailable (1 not replaced yet)');
  });

  test('an older deployment selects the same machines', () => {
    const other = { ...deployment(1), metadata: meta('elder', { creationTimestamp: at(-700) }) } as MachineDeployment;
    const lines = explain(read([], { others: [other], sets: [], deployment: deployment(2) }));
    expect(lines).toContain('spec.selector overlaps with the selector of the older deployment elder');
    expect(lines).toContain('fix this problem: spec.selector: selects the same machines as MachineDeployment elder');
  });

  test('the reasons in the status are printed with their object and age', () => {
    const object = { kind: 'PodDisruptionBudget', namespace: 'default', name: 'web' };
    const blockedBy = [
      { cause: 'Budget', reason: 'other machines are being replaced', since: at(-90) },
      { cause: 'Drain', object, reason: 'pod default/web-1 waits', since: at(-5) },
    ];
    const blocked = { ...deployment(2), status: { blockedBy } } as MachineDeployment;
    const lines = deploymentLines(
      explainDeployment({ deployment: blocked, sets: [], machines: new Map(), fleet: [] }, NOW),
      NOW,
    );
    const title = lines.indexOf('Blocked by:');
    expect(lines.slice(title + 1, title + 3)).toEqual([
      '  - Budget, for 90m: other machines are being replaced',
      '  - Drain by PodDisruptionBudget default/web, for 5m: pod default/web-1 waits',
    ]);
  });

  test('explain reports invalid rollout annotations', () => {
    const annotations = { 'rollout.machine.sapcloud.io/canary': 'a few' };
    const { next, hints } = explainDeployment(read([], { deployment: deployment(2, {}, { annotations }) }), NOW, []);
    expect(next).toBe('no step, because the spec of the deployment is not valid');
    expect(hints).toEqual([expect.stringContaining('metadata.annotations[rollout.machine.sapcloud.io/canary]')]);
  });

  test('a rollout that paused itself names the machine, keeps it, and says how to undo', () => {
    const annotations = {
      'rollout.machine.sapcloud.io/canary': '1',
      'rollout.machine.sapcloud.io/paused-by': 'pool-b-x~uid-pool-b-x',
    };
    const pool = deployment(1, { paused: true }, { annotations });
    const former = { ...template, spec: { class: { kind: 'MachineClass', name: 'former' } } };
    const old = { ...set(1), metadata: meta('pool-old'), spec: { ...set(1).spec, template: former } } as MachineSet;
    const canary = machine('pool-b-x', 'Failed');
    const reading = read([], { deployment: pool });
    const reported = explainDeployment(
      {
        ...reading,
        sets: [old, set(1)],
        machines: new Map([
          ['uid-pool-old', many(1, 'Running', 'o')],
          ['uid-pool-a', [canary]],
        ]),
      },
      NOW,
      [],
    );
    expect(reported.next).toBe('no step, because mcm paused the rollout: pool-b-x failed with the new template');
    expect(reported.disruption).toContain(
      'pool-b-x failed, but mcm replaces no machine of the new template while the rollout is paused',
    );
    expect(reported.hints).toEqual(
      expect.arrayContaining([
        'to continue the rollout: mcm rollout resume pool',
        'to restore the previous revision: mcm rollout undo pool',
        'to try the same template again, delete the failed machine, or resume the rollout',
      ]),
    );
  });

  test('a hint names the time at which the deletion mark of an autoscaler expires', () => {
    const annotations = {
      'deployment.machine.sapcloud.io/mark-expiry': '1h',
      'deployment.kubernetes.io/desired-replicas': '1',
    };
    const marked = machine('m-1', 'Running', {
      annotations: {
        'machinepriority.machine.sapcloud.io': '1',
        'machine.sapcloud.io/marked-for-deletion-time': at(0),
      },
    });
    const hintsWith = (given: Record<string, string>) =>
      explainDeployment(read([marked], { deployment: deployment(1, {}, { annotations: given }) }), NOW, []).hints;
    const hint = expect.stringMatching(
      /^mcm removes the deletion mark of machine m-1 at \S+, unless spec.replicas is reduced before$/,
    );
    expect(hintsWith(annotations)).toContainEqual(hint);
    expect(hintsWith({})).not.toContainEqual(hint);
  });

  test.each([
    ['undo-on-failure', 'undoes'],
    ['pause-on-failure', 'pauses'],
  ])('until the check of the pods of canaries, a hint announces the check with %s', (key, then) => {
    const annotations = {
      'rollout.machine.sapcloud.io/canary': '1',
      'rollout.machine.sapcloud.io/canary-soak': '10m',
      'rollout.machine.sapcloud.io/canary-pods-ready': 'true',
      [`rollout.machine.sapcloud.io/${key}`]: 'true',
    };
    const former = { ...template, spec: { class: { kind: 'MachineClass', name: 'former' } } };
    const old = { ...set(2), metadata: meta('pool-old'), spec: { ...set(2).spec, template: former } } as MachineSet;
    const machines = new Map([
      ['uid-pool-old', many(2, 'Running', 'o')],
      ['uid-pool-a', [machine('canary', 'Pending')]],
    ]);
    const hint = `if a pod of the canaries is not Ready after the soak time, mcm ${then} the rollout`;
    const hintsWith = (given: Record<string, string>) => {
      const reading = read([], { deployment: deployment(2, {}, { annotations: given }) });
      return explainDeployment({ ...reading, sets: [old, set(1)], machines }, NOW, []).hints;
    };
    expect(hintsWith(annotations)).toContain(hint);
    const { 'rollout.machine.sapcloud.io/canary-pods-ready': _ready, ...others } = annotations;
    expect(hintsWith(others)).not.toContain(hint);
    const seen = { 'rollout.machine.sapcloud.io/canary-pods-seen': set(1).metadata.name };
    expect(hintsWith({ ...annotations, ...seen })).not.toContain(hint);
  });

  test('the deployment does not wait for a machine whose drain cannot end', () => {
    const deleted = { deletionTimestamp: at(-200) };
    const held = { ...deleted, annotations: { 'node.machine.sapcloud.io/undrained': 'Hold' } };
    const next = (more: object) => {
      const former = { ...template, spec: { class: { kind: 'MachineClass', name: 'former' } } };
      const old = { ...set(0), metadata: meta('pool-old'), spec: { ...set(0).spec, template: former } } as MachineSet;
      const machines = new Map([
        ['uid-pool-old', [machine('gone', 'Terminating', more)]],
        ['uid-pool-a', many(1, 'Running', 'r')],
      ]);
      const reported = explainDeployment(
        { ...read([], { deployment: deployment(1) }), sets: [old, set(1)], machines },
        NOW,
        [],
      );
      return reported.next;
    };
    expect(next(deleted)).toBe('the deployment waits until 1 machine of older MachineSets is deleted');
    expect(next(held)).not.toContain('older sets');
  });

  test.each([
    [0, 0],
    [0, '10%'],
    ['0%', '10%'],
  ])(
    'maxSurge %s and maxUnavailable %s of three are both 0, and one machine may be unavailable',
    (maxSurge, maxUnavailable) => {
      const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } };
      const { wants } = explainDeployment(
        read(many(3, 'Running', 'r'), { deployment: deployment(3, { strategy }) }),
        NOW,
        [],
      );
      expect(wants).toContain(`1 unavailable machine (maxSurge ${maxSurge}, maxUnavailable ${maxUnavailable})`);
    },
  );
});

test('an in-place update shows the manual steps', () => {
  const strategy = {
    type: 'InPlaceUpdate',
    inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Manual' },
  };
  const names = ['a', 'b'];
  const fleet = names.map((name) => machine(name, 'Running', { labels: { node: name } }));
  const node = (name: string, metadata: object, spec: object) =>
    ({ apiVersion: 'v1', kind: 'Node', metadata: { ...meta(name), ...metadata }, spec }) as never;
  const nodes = [
    node('a', { labels: { 'node.machine.sapcloud.io/candidate-for-update': 'true' } }, {}),
    node('b', {}, { taints: [{ key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' }] }),
  ];
  const wanted = { ...template, spec: { class: { kind: 'MachineClass', name: 'small' }, providerID: 'other' } };
  const reading = read(fleet, { deployment: deployment(2, { strategy, template: wanted }) });
  expect(explainDeployment(reading, NOW, nodes).hints).toEqual([
    'select nodes for the update: kubectl label node NAME node.machine.sapcloud.io/selected-for-update=true (a)',
    'b runs no pods until its critical components are ready; to remove the taint: kubectl taint node NAME node.gardener.cloud/critical-components-not-ready-',
  ]);
});

test('machines with one error code share one hint', () => {
  const refused = (name: string, errorCode: string): Machine => {
    const one = machine(name, 'CrashLoopBackOff');
    return { ...one, status: { ...one.status, lastOperation: { type: 'Create', state: 'Failed', errorCode } } };
  };
  const machines = [refused('a', 'Internal'), refused('b', 'ResourceExhausted'), refused('c', 'Internal')];
  const { hints } = explainDeployment(read([...machines, ...many(2, 'Unknown', 'u')]), NOW, []);
  expect(hints).toEqual([
    'show the error and its fix: mcm explain machine/a (Internal, and 1 other machine)',
    'show the error and its fix: mcm explain machine/b (ResourceExhausted)',
    'show its problem: mcm explain machine/u0',
    'show its problem: mcm explain machine/u1',
  ]);
});
