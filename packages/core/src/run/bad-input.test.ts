import { crds, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { events, nodes, secrets, type Transport, VirtualClock } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { afterEach, expect, test } from 'vitest';
import { MachineError } from '../driver/contract/errors.ts';
import { NAMESPACE, Rig, type RigOptions } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0)) await clean();
});

const HOUR = 3_600_000;
const RULES = new Set(['x-kubernetes-validations', 'pattern', 'minLength', 'required', 'enum']);

/** The CRDs of the original check only types, so they accept input that the CRDs of mcm refuse. */
const LENIENT = JSON.parse(JSON.stringify(crds), (_key, value: unknown) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key, rule]) => !RULES.has(key) || !isRule(key, rule)));
}) as typeof crds;

function isRule(key: string, value: unknown): boolean {
  return key === 'required' || key === 'enum' || key === 'x-kubernetes-validations'
    ? Array.isArray(value)
    : typeof value !== 'object';
}

async function started(options: Partial<RigOptions> = {}): Promise<Rig> {
  return startRig({ crds: LENIENT, eventTtlMs: 0, ...options });
}

const reported = async (rig: Rig, name: string): Promise<string> =>
  (await rig.admin.resource(events, NAMESPACE).list()).items
    .filter(({ involvedObject, type }) => involvedObject.name === name && type === 'Warning')
    .map(({ reason, message }) => `${reason}: ${message}`)
    .join('\n');

const secret = (name: string, data: Record<string, string>, rig: Rig): Promise<unknown> =>
  rig.admin.resource(secrets, NAMESPACE).create({ metadata: { name, namespace: NAMESPACE }, data });

const classOf = (name: string, change: object, rig: Rig): Promise<unknown> =>
  rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).create({
    metadata: { name, namespace: NAMESPACE },
    providerSpec: {},
    secretRef: { name, namespace: NAMESPACE },
    ...change,
  } as never);

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const ofClass = (name: string): Partial<Machine['spec']> => ({ class: { kind: 'MachineClass', name } });

interface Row {
  readonly what: string;
  readonly options?: Partial<RigOptions>;
  readonly prepare: (rig: Rig) => Promise<Partial<Machine['spec']>>;
  readonly says: RegExp;
  readonly mend: (rig: Rig) => Promise<unknown>;
}

const patchSecret = (name: string, data: Record<string, string>, rig: Rig): Promise<unknown> =>
  rig.admin.resource(secrets, NAMESPACE).patch(name, { type: 'merge', body: { data } });
const patchMachine = (spec: object, rig: Rig): Promise<unknown> =>
  rig.admin.resource(machines, NAMESPACE).patch('bad', { type: 'merge', body: { spec } });

const ROWS: readonly Row[] = [
  {
    what: 'a credential that is no text',
    prepare: async (rig) => {
      const key = Buffer.from([0xff, 0xfe, 0x00]).toString('base64');
      await secret('odd', { userData: base64('hello'), key }, rig);
      await classOf('odd', {}, rig);
      return ofClass('odd');
    },
    says: /InvalidArgument.*data\.key of Secret default\/odd is not UTF-8 text; write base64-encoded UTF-8 text to this key/,
    mend: (rig) => patchSecret('odd', { key: base64('value') }, rig),
  },
  {
    what: 'a Secret that is not there',
    prepare: async (rig) => {
      await classOf('odd', {}, rig);
      return ofClass('odd');
    },
    says: /MachineClass odd refers to Secret default\/odd, which does not exist; create the Secret, or correct the reference/,
    mend: (rig) => secret('odd', { userData: base64('hello') }, rig),
  },
  {
    what: 'half a Secret',
    prepare: async (rig) => {
      await secret('odd', { key: base64('value') }, rig);
      await classOf('odd', {}, rig);
      return ofClass('odd');
    },
    says: /userdata field not found in secret for machine "bad"; add data\.userData to Secret default\/odd/,
    mend: (rig) => patchSecret('odd', { userData: base64('hello') }, rig),
  },
  {
    what: 'wrong credentials',
    options: { cloud: { accepts: ({ key }) => key !== 'wrong' } },
    prepare: async (rig) => {
      await secret('odd', { userData: base64('hello'), key: base64('wrong') }, rig);
      await classOf('odd', {}, rig);
      return ofClass('odd');
    },
    says: /code = \[Unauthenticated\] message = \[the cloud refuses these credentials; correct the credentials in Secret default\/odd \(data\.key\)/,
    mend: (rig) => patchSecret('odd', { key: base64('right') }, rig),
  },
  {
    what: 'an unknown kind of class',
    prepare: async () => ({ class: { kind: 'AWSMachineClass', name: 'small' } }),
    says: /spec\.class\.kind: must be MachineClass, not "AWSMachineClass"/,
    mend: (rig) => patchMachine({ class: { kind: 'MachineClass' } }, rig),
  },
  {
    what: 'a class that is not there',
    prepare: async () => ofClass('nowhere'),
    says: /spec\.class\.name: MachineClass "nowhere" does not exist in namespace default; create the class, or set the name of an existing class/,
    mend: (rig) => patchMachine(ofClass('small'), rig),
  },
  {
    what: 'no class',
    prepare: async () => ({ class: { kind: 'MachineClass', name: '' } }),
    says: /spec\.class\.name: is empty; write the name of a MachineClass in the same namespace/,
    mend: (rig) => patchMachine(ofClass('small'), rig),
  },
];

test.each(ROWS)(
  'bad input: $what: reported with field and hint, rarely retried, and works at once after its correction',
  async (row) => {
    const requests: string[] = [];
    const wrap =
      (transport: Transport): Transport =>
      (request) => {
        if (!/watch=|dummy-name/.test(request.path)) requests.push(`${request.method} ${request.path.split('?')[0]}`);
        return transport(request);
      };
    const rig = await started({ ...row.options, wrap });
    const spec = await row.prepare(rig);
    await rig.createMachine('bad', { creationTimeout: '3h', ...spec });
    await rig.until(async () => (await rig.phase('bad')) === 'CrashLoopBackOff');
    expect(await rig.description('bad')).toMatch(row.says);
    await rig.clock.advance(2_000);
    expect(await reported(rig, 'bad')).toMatch(/^CreationFailed: Cloud provider message - /);
    await rig.createMachine('good');
    await rig.until(async () => (await rig.phase('good')) === 'Running', 10_000);
    const before = rig.cloud.calls.create;
    requests.length = 0;
    await rig.clock.advance(HOUR);
    expect(rig.cloud.calls.create - before).toBeLessThanOrEqual(20);
    // After half an hour, the controller may write an unchanged failure and its Event again, as the original does.
    const wanted = /^(PATCH \S+\/machines\/bad\/status|(POST|PATCH) \S+\/events(\/\S+)?)$/;
    expect(requests.filter((request) => !wanted.test(request))).toEqual([]);
    expect(requests.length).toBeLessThanOrEqual(4);
    await row.mend(rig);
    await rig.until(async () => (await rig.phase('bad')) === 'Running', 10_000);
    expect(await rig.phase('good')).toBe('Running');
  },
);

test.each(sampled(ROWS, 3))('bad input: $what: the machine can be deleted, or reports why not', async (row) => {
  const rig = await started(row.options);
  await rig.createMachine('bad', { creationTimeout: '3h', ...(await row.prepare(rig)) });
  await rig.until(async () => (await rig.phase('bad')) === 'CrashLoopBackOff');
  await rig.deleteMachine('bad');
  await rig.clock.advance(60_000);
  if (await rig.machine('bad')) {
    expect(await rig.description('bad')).toMatch(/InvalidArgument|Unauthenticated/);
    await row.mend(rig);
  }
  await rig.until(async () => (await rig.machine('bad')) === undefined, HOUR);
  expect(rig.cloud.vms).toEqual([]);
});

test('bad input: invalid annotations and durations are each reported once and ignored, and the machine joins', async () => {
  const rig = await started();
  const annotations = {
    'machinepriority.machine.sapcloud.io': 'high',
    'node.machine.sapcloud.io/effective-creation-timeout': 'soon',
    'node.machine.sapcloud.io/preserve': 'perhaps',
    'node.machine.sapcloud.io/replace-despite-common-silence': '2030-01-31T12:00:00Z',
    'node.machine.sapcloud.io/undrainable-policy': 'Whatever',
  };
  const spec = { drainTimeout: '-5m', healthTimeout: 'never', creationTimeout: '99999999h' };
  const labels = { 'force-deletion': 'maybe', 'force-drain': 'true' };
  await rig.createMachine('bad', spec, { annotations, labels });
  await rig.until(async () => (await rig.phase('bad')) === 'Running');
  await rig.clock.advance(HOUR / 2);
  const invalid = async () =>
    (await rig.admin.resource(events, NAMESPACE).list()).items.filter(({ reason }) => reason === 'InvalidInput');
  const all = await invalid();
  await rig.kill();
  rig.start();
  await rig.clock.advance(60_000);
  expect(await invalid()).toEqual(all);
  const text = await reported(rig, 'bad');
  for (const said of [
    /spec\.drainTimeout: "-5m" is not a duration, so mcm uses the default of the controller/,
    /spec\.healthTimeout: "never" is not a duration/,
    /metadata\.annotations\[machinepriority\.machine\.sapcloud\.io\]: "high" is not an integer, so mcm uses 3/,
    /effective-creation-timeout\]: "soon" is not a duration and is ignored/,
    /\/preserve\]: "perhaps" is ignored; write one of now, when-failed/,
    /replace-despite-common-silence\]: "2030-01-31T12:00:00Z" contains no reason after the time, so mcm ignores the annotation; write/,
    /undrainable-policy of Machine bad is "Whatever", so mcm uses Hold/,
    /metadata\.labels\[force-deletion\]: "maybe" is ignored; write "true" or "false"/,
    /metadata\.labels\[force-drain\]: "true" is ignored; write "True" or "False"/,
  ])
    expect(text).toMatch(said);
  expect(new Set(all.map(({ message }) => message)).size).toBe(10);
  expect(all).toHaveLength(10);
  expect(all.every(({ count }) => (count ?? 1) === 1)).toBe(true);
  const version = (await rig.machine('bad'))?.metadata.resourceVersion;
  await rig.clock.advance(HOUR);
  expect((await rig.machine('bad'))?.metadata.resourceVersion).toBe(version);
});

test('bad input: an invalid preservation on the Node is reported once and ignored: that of the machine is valid', async () => {
  const rig = await started();
  const annotations = { 'node.machine.sapcloud.io/preserve': 'when-failed' };
  await rig.createMachine('bad', {}, { annotations });
  await rig.until(async () => (await rig.phase('bad')) === 'Running');
  const body = { metadata: { annotations: { 'node.machine.sapcloud.io/preserve': 'yes' } } };
  await rig.admin.resource(nodes).patch('bad', { type: 'merge', body });
  await rig.clock.advance(60_000);
  expect(await reported(rig, 'bad')).toMatch(
    /Node bad: metadata\.annotations\[node\.machine\.sapcloud\.io\/preserve\]: "yes" is ignored; write one of now/,
  );
});

test('bad input: a node name of another machine: both are reported, and the first keeps its Node', async () => {
  const rig = await started({ cloud: { nodeName: () => 'same' }, joinAfterMs: undefined });
  await rig.createMachine('first');
  await rig.until(async () => (await rig.phase('first')) === 'Pending');
  const [vm] = rig.cloud.vms;
  if (vm) await rig.join(vm);
  await rig.until(async () => (await rig.phase('first')) === 'Running');
  await rig.clock.advance(60_000);
  await rig.createMachine('second');
  await rig.clock.advance(HOUR);
  expect(await rig.phase('first')).toBe('Running');
  expect(await rig.phase('second')).toBe('Failed');
  const text = `${await rig.description('second')}\n${await reported(rig, 'second')}`;
  expect(text).toMatch(/old node obj|is also the node of machine first/);
});

test('bad input: an edited provider ID: the report names the right value, the VM is no orphan, and the machine recovers', async () => {
  const rig = await started();
  await rig.createMachine('bad', { healthTimeout: '10h' });
  await rig.createMachine('good');
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  const id = (await rig.machine('bad'))?.spec.providerID;
  await patchMachine({ providerID: 'fake:///zone/other' }, rig);
  await rig.until(async () => (await rig.phase('bad')) === 'Unknown', 60_000);
  expect(await rig.description('bad')).toMatch(
    /Node bad has spec\.providerID "fake:\/\/zone-1a\/vm-\d", but the machine has "fake:\/\/\/zone\/other"\. If a user edited spec\.providerID of the machine, restore/,
  );
  await rig.clock.advance(HOUR / 2);
  expect(await reported(rig, 'small')).toMatch(/mcm keeps the VM because its Node bad is Ready/);
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms).toHaveLength(2);
  await patchMachine({ providerID: id }, rig);
  await rig.until(async () => (await rig.phase('bad')) === 'Running', 60_000);
  expect(await rig.phase('good')).toBe('Running');
});

test('a machine of a class with outdated credentials is deleted with credentials of another class that see its VM [incident 28]', async () => {
  let revoked = false;
  const rig = await started({ cloud: { accepts: ({ key }) => !revoked || key === 'new' } });
  await secret('old', { userData: base64('x'), key: base64('old') }, rig);
  await secret('new', { userData: base64('x'), key: base64('new') }, rig);
  await classOf('old', {}, rig);
  await rig.createMachine('m-0', ofClass('old'), { labels: { name: 'pool' } });
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  revoked = true;
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.description('m-0')).includes('Unauthenticated'), HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
  await classOf('new', {}, rig);
  await rig.createMachine('m-1', ofClass('new'), { labels: { name: 'pool' } });
  await rig.until(async () => (await rig.machine('m-0')) === undefined, HOUR);
  expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['m-1']);
});

test('credentials that do not see the VM do not count, so the VM is not treated as deleted [incident 28]', async () => {
  let revoked = false;
  const rig = await started({
    cloud: {
      accepts: ({ key }) => !revoked || key !== 'old',
      gate: (method) => {
        if (revoked && method === 'status') throw new MachineError('NotFound', 'no such VM');
      },
    },
  });
  await secret('old', { userData: base64('x'), key: base64('old') }, rig);
  await classOf('old', {}, rig);
  await rig.createMachine('m-0', ofClass('old'));
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  revoked = true;
  await rig.deleteMachine('m-0');
  await rig.clock.advance(3 * HOUR);
  expect(rig.cloud.vms.some(({ machineName }) => machineName === 'm-0')).toBe(true);
  expect(await rig.description('m-0')).toContain('Unauthenticated');
});

test('a class that cannot work is reported by one event, and its correction by another', async () => {
  const rig = await started();
  await classOf('odd', {}, rig);
  await rig.clock.advance(HOUR);
  const said = (await reported(rig, 'odd')).split('\n').filter((line) => line.startsWith('InvalidClass'));
  expect(said).toEqual([
    'InvalidClass: mcm cannot create VMs: MachineClass odd refers to Secret default/odd, which does not exist; create the Secret, or correct the reference',
  ]);
  await secret('odd', { userData: base64('hello') }, rig);
  await rig.clock.advance(2_000);
  const { items } = await rig.admin.resource(events, NAMESPACE).list();
  expect(items.map(({ reason }) => reason)).toContain('ClassIsValid');
});

const network = (code: string): MachineError =>
  new MachineError('Internal', 'no answer', { cause: Object.assign(new Error('it broke'), { code }) });

test.each<[what: string, spec: object, thrown: MachineError, reason: string, says: RegExp]>([
  [
    'refused credentials',
    {},
    new MachineError('Unauthenticated', 'no'),
    'CredentialsRefused',
    /no; correct the credentials in Secret default\/odd \(data\.key\), or the permissions of the account$/,
  ],
  [
    'a region that does not exist',
    { region: 'nowhere-1' },
    network('ENOTFOUND'),
    'CloudUnreachable',
    /\(ENOTFOUND\); check providerSpec\.region \("nowhere-1"\), the endpoint in Secret or environment/,
  ],
  [
    'an endpoint that does not answer',
    {},
    network('ECONNREFUSED'),
    'CloudUnreachable',
    /cannot reach the cloud \(ECONNREFUSED\); check/,
  ],
  ['an unknown CA', {}, network('SELF_SIGNED_CERT_IN_CHAIN'), 'CloudUnreachable', /NODE_EXTRA_CA_CERTS/],
  [
    'a field that the cloud refuses',
    { disks: [{ image: 'img-of-old' }] },
    new MachineError('InvalidArgument', 'there is no image img-of-old'),
    'CloudRefuses',
    /check providerSpec\.disks\[0\]\.image \("img-of-old"\) of MachineClass odd$/,
  ],
])(
  '%s: reported once on the class with field and hint, and on its machines; others run; reported when it works again',
  async (_what, spec, thrown, reason, says) => {
    let broken = true;
    const rig = await started({
      cloud: {
        gate: (_method, point, machine) => {
          if (broken && point === 'before' && machine.startsWith('bad')) throw thrown;
        },
      },
    });
    await secret('odd', { userData: base64('hello'), key: base64('of-the-account') }, rig);
    await classOf('odd', { providerSpec: spec }, rig);
    for (const name of ['bad-1', 'bad-2', 'bad-3'])
      await rig.createMachine(name, { creationTimeout: '9h', ...ofClass('odd') });
    await rig.createMachine('good');
    await rig.until(async () => (await rig.phase('good')) === 'Running', 10_000);
    await rig.clock.advance(HOUR);
    expect(await rig.description('bad-2')).toMatch(new RegExp(says.source.replace(/\$$/, '')));
    const ofOdd = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
      ({ involvedObject }) => involvedObject.name === 'odd' && involvedObject.kind === 'MachineClass',
    );
    expect(
      ofOdd
        .filter((event) => event.reason === reason)
        .map(({ message, count }) => [says.test(message ?? ''), count ?? 1]),
    ).toEqual([[true, 1]]);
    expect(JSON.stringify(ofOdd)).not.toContain('of-the-account');
    const calls = rig.cloud.calls.create + rig.cloud.calls.status;
    await rig.clock.advance(HOUR);
    expect(rig.cloud.calls.create + rig.cloud.calls.status - calls).toBeLessThanOrEqual(3 * 40);
    broken = false;
    await rig.until(async () => (await rig.phase('bad-1')) === 'Running', HOUR);
    await rig.clock.advance(10_000);
    const { items } = await rig.admin.resource(events, NAMESPACE).list();
    expect(items.filter(({ reason: each }) => each === 'CloudAnswers')).toHaveLength(1);
  },
);

test('an unknown field: one warning on the class with the most similar name, and the machine runs', async () => {
  const rig = await started();
  await secret('odd', { userData: base64('hello') }, rig);
  await classOf('odd', { providerSpec: { sise: 'large' } }, rig);
  await rig.createMachine('m', ofClass('odd'));
  await rig.until(async () => (await rig.phase('m')) === 'Running', 10_000);
  await rig.clock.advance(HOUR);
  expect(await reported(rig, 'odd')).toBe(
    'UnknownField: providerSpec.sise: is not a field of provider fake, so mcm ignores the field; did you mean size?',
  );
});

test('a nodeTemplate without cpu and region: one warning on the class names both, and the machine runs', async () => {
  const rig = await started();
  await secret('odd', { userData: base64('hello') }, rig);
  const nodeTemplate = { capacity: { gpu: '0', memory: '8Gi' }, instanceType: 'large', zone: 'a' };
  await classOf('odd', { nodeTemplate }, rig);
  await rig.createMachine('m', ofClass('odd'));
  await rig.until(async () => (await rig.phase('m')) === 'Running', 10_000);
  await rig.clock.advance(HOUR);
  const said = await reported(rig, 'odd');
  expect(said).toMatch(/^InvalidClass: nodeTemplate\.region: [^\n]*nodeTemplate\.capacity\.cpu: must be set[^\n]*$/);
  expect(said).not.toContain('nodeTemplate.capacity.memory');
});

test.each([
  ['no class', { class: { kind: 'MachineClass', name: '' } }, /spec\.class\.name.*must not be empty/],
  [
    'a negative duration',
    { class: { kind: 'MachineClass', name: 'small' }, drainTimeout: '-5m' },
    /spec\.drainTimeout.*must be a duration/,
  ],
  [
    'a duration that is too long',
    { class: { kind: 'MachineClass', name: 'small' }, drainTimeout: '99999999h' },
    /spec\.drainTimeout/,
  ],
])('the CRDs of mcm refuse %s, with field and hint', async (_what, spec, says) => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false, eventTtlMs: 0 });
  const rig = new Rig({ clock, plane });
  cleanUp.push(() => plane.close());
  await expect(rig.createMachine('bad', spec)).rejects.toThrow(says);
});

test('bad input: a node label of another machine: the report names the right value, and the machine recovers', async () => {
  const rig = await started();
  await rig.createMachine('bad', { healthTimeout: '10h' });
  await rig.createMachine('good');
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  await rig.clock.advance(60_000);
  const label = (node: string) =>
    rig.admin.resource(machines, NAMESPACE).patch('bad', { type: 'merge', body: { metadata: { labels: { node } } } });
  await label('good');
  await rig.until(async () => (await rig.phase('bad')) === 'Unknown', 60_000);
  await rig.clock.advance(2_000);
  expect(await reported(rig, 'bad')).toContain(
    'NodeMissing: The machine has no Node. Node good already belongs to machine good; Node bad belongs to the machine: set the label node=bad on the machine',
  );
  expect(await rig.phase('good')).toBe('Running');
  await label('bad');
  await rig.until(async () => (await rig.phase('bad')) === 'Running', 60_000);
});

test.each([
  ['in the same process', false],
  ['in the next process', true],
])(
  'a machine without a set gets its VM when its class is fixed after its creation timeout, %s',
  async (_when, restart) => {
    const rig = await started();
    await secret('odd', { key: base64('value') }, rig);
    await classOf('odd', {}, rig);
    await rig.createMachine('bad', ofClass('odd'));
    await rig.until(async () => (await rig.phase('bad')) === 'Failed', HOUR);
    await rig.clock.advance(HOUR);
    expect(rig.cloud.vms).toEqual([]);
    if (restart) {
      await rig.kill();
      rig.start();
    }
    await patchSecret('odd', { userData: base64('hello') }, rig);
    await rig.until(async () => (await rig.phase('bad')) === 'Running', HOUR);
    expect(rig.cloud.vms).toHaveLength(1);
    expect(await reported(rig, 'bad')).not.toContain('FailedToJoin');
  },
);
