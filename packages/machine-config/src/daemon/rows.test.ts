import { expect, test } from 'vitest';
import { diffConfigs } from '../config/diff.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { encodeDataUrl } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { type DaemonView, decide } from './decide.ts';
import { kernelArgumentOperations, nextCommandLine } from './disk/kernel-arguments.ts';
import { isSafeRegistriesChange } from './disk/registries.ts';
import { DEFAULT_POLICY, disruptionPolicySchema, needsDrain, postActions, withUserPolicy } from './disruption.ts';

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain } = NodeAnnotations;

const REGISTRIES = '/etc/containers/registries.conf';
const POLICY = '/etc/containers/policy.json';
const GPG = '/etc/machine-config-daemon/no-reboot/containers-gpg.pub';
const PULL_SECRET = '/var/lib/kubelet/config.json';
const CA = '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt';

/** A config with files of the given contents. */
const config = (files: Readonly<Record<string, string>>, spec: object = {}): MachineConfig =>
  ({
    metadata: { name: 'c' },
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        storage: {
          files: Object.entries(files).map(([path, text]) => ({ path, contents: { source: encodeDataUrl(text) } })),
        },
      },
      ...spec,
    },
  }) as unknown as MachineConfig;

const actionsOf = (old: MachineConfig, wanted: MachineConfig) => postActions(diffConfigs(old, wanted), DEFAULT_POLICY);
const crio = (type: 'Reload' | 'Restart') => ({
  type,
  ...(type === 'Reload' ? { reload: { serviceName: 'crio.service' } } : { restart: { serviceName: 'crio.service' } }),
});

test('M1 a kernel argument that comes is appended, one that goes is deleted', () => {
  expect(kernelArgumentOperations([], ['hello=world'])).toEqual(['--append=hello=world']);
  expect(kernelArgumentOperations(['hello=world'], [])).toEqual(['--delete-if-present=hello=world']);
});

test('M2 all old arguments are deleted and all new ones appended', () => {
  const old = ['foo', 'bar=1', 'hello=world'];
  expect(kernelArgumentOperations(old, ['hello=world'])).toEqual([
    ...['--delete-if-present=foo', '--delete-if-present=bar=1', '--delete-if-present=hello=world'],
    '--append=hello=world',
  ]);
  expect(nextCommandLine('ro foo bar=1 quiet hello=world', old, ['hello=world'])).toBe('ro quiet hello=world');
});

test('M3 an element that holds several arguments is split at blanks outside of quotes', () => {
  expect(kernelArgumentOperations(['foo', 'bar=1 hello=world', 'baz'], ['foo', 'bar=1', 'hello=world'])).toEqual([
    ...['foo', 'bar=1', 'hello=world', 'baz'].map((one) => `--delete-if-present=${one}`),
    ...['foo', 'bar=1', 'hello=world'].map((one) => `--append=${one}`),
  ]);
  expect(kernelArgumentOperations([], ['a="b c" d'])).toEqual(['--append=a="b c"', '--append=d']);
});

test('M7 files of registries and policies reload crio', () => {
  for (const path of [POLICY, GPG, '/etc/containers/registries.d/x.yaml']) {
    expect(actionsOf(config({ [path]: 'a' }), config({ [path]: 'b' }))).toEqual([crio('Reload')]);
  }
  expect(actionsOf(config({ [REGISTRIES]: 'a' }), config({ [REGISTRIES]: 'b' }))).toEqual([{ type: 'Special' }]);
  expect(actionsOf(config({ [REGISTRIES]: 'a' }), config({}))).toEqual([{ type: 'Special' }]);
});

test('M8 the pull secret beside registries.conf asks for nothing more', () => {
  const [old, wanted] = [
    config({ [REGISTRIES]: 'a', [PULL_SECRET]: 'a' }),
    config({ [REGISTRIES]: 'b', [PULL_SECRET]: 'b' }),
  ];
  expect(actionsOf(old, wanted)).toEqual([{ type: 'Special' }]);
  expect(actionsOf(config({ [PULL_SECRET]: 'a' }), config({ [PULL_SECRET]: 'b' }))).toEqual([{ type: 'None' }]);
});

test('M9 the bundle of the user’s authorities restarts crio, also together with the key', () => {
  const restarts = [{ type: 'Restart', restart: { serviceName: 'coreos-update-ca-trust.service' } }, crio('Restart')];
  expect(actionsOf(config({ [CA]: 'a' }), config({ [CA]: 'b' }))).toEqual(restarts);
  expect(actionsOf(config({ [CA]: 'a', [GPG]: 'a' }), config({ [CA]: 'b', [GPG]: 'b' }))).toEqual([
    ...restarts,
    crio('Reload'),
  ]);
});

test('M10 another OS image or other kernel arguments reboot, whatever else changed', () => {
  const old = config({ [POLICY]: 'a' });
  for (const spec of [{ osImageURL: 'x' }, { kernelArguments: ['a'] }, { kernelType: 'realtime' }, { fips: true }]) {
    expect(actionsOf(old, config({ [POLICY]: 'b' }, spec))).toEqual([{ type: 'Reboot' }]);
  }
  expect(actionsOf(old, config({ '/etc/kubernetes/kubelet.conf': 'b' }))).toEqual([{ type: 'Reboot' }]);
});

test('M14 no kernel arguments and an empty list of them are the same', () => {
  expect(diffConfigs(config({}, { kernelArguments: null }), config({}, { kernelArguments: [] })).kernelArguments).toBe(
    false,
  );
  expect(actionsOf(config({}, { kernelType: '' }), config({}, { kernelType: 'default' }))).toEqual([{ type: 'None' }]);
});

const view = (
  stored: string,
  current: string,
  desired: string,
  state: string,
  more: Partial<DaemonView> = {},
): DaemonView => ({
  ...{ nodeName: 'n', stored, forced: false, now: 0 },
  annotations: { [CurrentConfig]: current, [DesiredConfig]: desired, [State]: state, [Reason]: '' },
  ...more,
});

test('M15 a node at test1 that is told test2 is updated from test1', () => {
  expect(decide(view('test1', 'test1', 'test2', 'Done'))).toEqual({ kind: 'judge', target: 'test2' });
});

test('M16 a node that has what it is told and is Done does nothing', () => {
  expect(decide(view('test1', 'test1', 'test1', 'Done'))).toEqual({ kind: 'idle' });
});

test('M17 what the disk has is believed before what the node says', () => {
  expect(decide(view('test3', 'test1', 'test2', 'Done'))).toEqual({ kind: 'judge', target: 'test2' });
  expect(decide(view('test2', 'test1', 'test2', 'Working'))).toEqual({
    ...{ kind: 'write', annotations: { [CurrentConfig]: 'test2', [State]: 'Done' } },
  });
});

test('a node that is Done with what its disk does not have says what it has, and waits to be told', () => {
  const says = { kind: 'write', annotations: { [CurrentConfig]: 'test3', [DesiredConfig]: 'test3' } };
  expect(decide(view('test3', 'test1', 'test1', 'Done'))).toEqual(says);
  // One that was at work when the server forgot has its turn.
  expect(decide(view('test3', 'test1', 'test1', 'Working'))).toEqual({ kind: 'judge', target: 'test1' });
});

test('M18 a node without a state is not Done, though it has what it is told', () => {
  expect(decide(view('test1', 'test1', 'test1', ''))).toEqual({ kind: 'write', annotations: { [State]: 'Done' } });
});

test('M19 None needs no drain, a reboot among others does', () => {
  const never = () => true;
  expect(needsDrain([{ type: 'None' }], never)).toBe(false);
  expect(needsDrain([{ type: 'None' }, { type: 'Reboot' }], never)).toBe(true);
  expect(needsDrain([{ type: 'DaemonReload' }], never)).toBe(false);
  expect(needsDrain([{ type: 'Drain' }], never)).toBe(true);
  expect([needsDrain([{ type: 'Special' }], () => true), needsDrain([{ type: 'Special' }], () => false)]).toEqual([
    false,
    true,
  ]);
});

const SEARCH = 'unqualified-search-registries = ["a.io", "b.io"]\n';
const registry = (location: string, ...mirrors: string[]) =>
  `[[registry]]\nlocation = "${location}"\n${mirrors.join('')}`;
const mirror = (location: string, more = '') => `[[registry.mirror]]\nlocation = "${location}"\n${more}`;
const DIGEST = 'pull-from-mirror = "digest-only"\n';

test.each([
  ['a registry removed', registry('q.io') + registry('r.io'), registry('q.io')],
  ['a mirror removed', registry('q.io', mirror('m.io', DIGEST)), registry('q.io')],
  ['a registry added that tags may be pulled from', '', registry('q.io')],
  ['a mirror added that tags may be pulled from', registry('q.io'), registry('q.io', mirror('m.io'))],
  ['the search list shortened', SEARCH, 'unqualified-search-registries = ["a.io"]'],
  ['the search list reordered', SEARCH, 'unqualified-search-registries = ["b.io", "a.io"]'],
  ['a registry blocked', registry('q.io'), `${registry('q.io')}blocked = true\n`],
  ['text that is not understood', SEARCH, `${SEARCH}what is this`],
])('M21 %s needs a drain', (_title, before, after) => {
  expect(isSafeRegistriesChange(before, after)).toBe(false);
});

test.each([
  ['the same with a comment', SEARCH, `${SEARCH}# hello\n`],
  ['a search registry appended', SEARCH, 'unqualified-search-registries = [\n "a.io",\n "b.io",\n "c.io",\n]'],
  ['a mirror for digests added', registry('q.io'), registry('q.io', mirror('m.io', DIGEST))],
  ['a registry added whose mirrors are for digests', '', registry('q.io', mirror('m.io', DIGEST))],
])('M21 %s needs none', (_title, before, after) => {
  expect(isSafeRegistriesChange(before, after)).toBe(true);
});

test('entries of a user stand in place of those of the same path; the longest path decides', () => {
  const policy = withUserPolicy(
    disruptionPolicySchema.parse({
      files: [
        { path: POLICY, actions: [{ type: 'None' }] },
        { path: '/etc/app', actions: [{ type: 'Restart', restart: { serviceName: 'app.service' } }] },
        { path: '/etc/app/quiet', actions: [{ type: 'None' }] },
      ],
    }),
  );
  const of = (path: string) =>
    postActions(diffConfigs(config({}), config({ [path]: 'x' })), policy).map(({ type }) => type);
  expect([of(POLICY), of('/etc/app/a'), of('/etc/app/quiet/a'), of('/etc/apple')]).toEqual([
    ...[['None'], ['Restart'], ['None'], ['Reboot']],
  ]);
  const mixed = disruptionPolicySchema.safeParse({
    files: [{ path: '/a', actions: [{ type: 'None' }, { type: 'Drain' }] }],
  });
  expect(mixed.error?.issues[0]?.message).toBe('None and Reboot stand alone');
});

test('a drain is asked for once, waited for an hour, and then the node says that it failed', () => {
  const fits = { verdict: { kind: 'fits', drains: true } } as const;
  const told = view('a', 'a', 'b', 'Done', fits);
  expect(decide(told)).toEqual({ kind: 'write', annotations: { [State]: 'Working', [DesiredDrain]: 'drain-b' } });
  const annotations = { ...told.annotations, [State]: 'Working', [DesiredDrain]: 'drain-b' };
  expect(decide({ ...told, annotations, askedAt: 0, now: 10_000 })).toEqual({ kind: 'wait', ms: 3_590_000 });
  expect(decide({ ...told, annotations, askedAt: 0, now: 3_600_000 })).toMatchObject({
    annotations: { [State]: 'Degraded', [Reason]: expect.stringContaining('failed to drain node: n after 1 hour') },
  });
  expect(decide({ ...told, annotations: { ...annotations, [LastAppliedDrain]: 'drain-b' } })).toMatchObject({
    kind: 'apply',
  });
  const single = { ...told.annotations, [NodeAnnotations.ControlPlaneTopology]: 'SingleReplica', [State]: 'Working' };
  expect(decide({ ...told, annotations: single })).toMatchObject({ kind: 'apply' });
});

test('a node told back what it has gives back what the drain took, and is Done', () => {
  const asked = {
    ...view('a', 'a', 'a', 'Degraded').annotations,
    [DesiredDrain]: 'drain-b',
    [LastAppliedDrain]: 'drain-b',
  };
  const back = view('a', 'a', 'a', 'Degraded', { annotations: asked });
  expect(decide(back)).toEqual({ kind: 'write', annotations: { [DesiredDrain]: 'uncordon-a' } });
  const waiting = { ...asked, [DesiredDrain]: 'uncordon-a' };
  expect(decide({ ...back, annotations: waiting, askedAt: 0 })).toEqual({ kind: 'wait', ms: 600_000 });
  const given = { ...waiting, [LastAppliedDrain]: 'uncordon-a' };
  expect(decide({ ...back, annotations: given })).toEqual({ kind: 'write', annotations: { [State]: 'Done' } });
});

test('a disk that drifted is told, and stops every update until it is repaired', () => {
  const drifted = view('a', 'a', 'b', 'Done', { drift: 'content mismatch for file "/etc/a"' });
  expect(decide(drifted)).toEqual({
    ...{ kind: 'write', annotations: { [State]: 'Degraded', [Reason]: 'content mismatch for file "/etc/a"' } },
  });
  expect(decide({ ...drifted, forced: true })).toEqual({ kind: 'force' });
});
