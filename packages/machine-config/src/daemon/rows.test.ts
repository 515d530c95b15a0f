import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { diffConfigs } from '../config/diff.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { encodeDataUrl } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { type DaemonView, decide } from './decide.ts';
import { kernelArgumentOperations, nextCommandLine } from './disk/kernel-arguments.ts';
import {
  DEFAULT_POLICY,
  disruptionPolicySchema,
  needsDrain,
  postActions,
  withUserPolicy,
} from './policy/disruption.ts';
import { isSafeRegistriesChange } from './policy/registries.ts';

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain } = NodeAnnotations;

const REGISTRIES = '/etc/containers/registries.conf';
const POLICY = '/etc/containers/policy.json';
const GPG = '/etc/machine-config-daemon/no-reboot/containers-gpg.pub';
const PULL_SECRET = '/var/lib/kubelet/config.json';
const CA = '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt';

const config = (files: Readonly<Record<string, string>>, spec: object = {}): MachineConfig =>
  partial<MachineConfig>({
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
  });

const actionsOf = (old: MachineConfig, wanted: MachineConfig) => postActions(diffConfigs(old, wanted), DEFAULT_POLICY);
const crio = (type: 'Reload' | 'Restart') => ({
  type,
  ...(type === 'Reload' ? { reload: { serviceName: 'crio.service' } } : { restart: { serviceName: 'crio.service' } }),
});

test('a new kernel argument is appended, and a removed one is deleted [M1]', () => {
  expect(kernelArgumentOperations([], ['hello=world'])).toEqual(['--append=hello=world']);
  expect(kernelArgumentOperations(['hello=world'], [])).toEqual(['--delete-if-present=hello=world']);
});

test('all old arguments are deleted and all new ones appended [M2]', () => {
  const old = ['foo', 'bar=1', 'hello=world'];
  expect(kernelArgumentOperations(old, ['hello=world'])).toEqual([
    ...['--delete-if-present=foo', '--delete-if-present=bar=1', '--delete-if-present=hello=world'],
    '--append=hello=world',
  ]);
  expect(nextCommandLine('ro foo bar=1 quiet hello=world', old, ['hello=world'])).toBe('ro quiet hello=world');
});

test('an entry with several arguments is split at blanks outside of quotes [M3]', () => {
  expect(kernelArgumentOperations(['foo', 'bar=1 hello=world', 'baz'], ['foo', 'bar=1', 'hello=world'])).toEqual([
    ...['foo', 'bar=1', 'hello=world', 'baz'].map((one) => `--delete-if-present=${one}`),
    ...['foo', 'bar=1', 'hello=world'].map((one) => `--append=${one}`),
  ]);
  expect(kernelArgumentOperations([], ['a="b c" d'])).toEqual(['--append=a="b c"', '--append=d']);
});

test('files of registries and policies reload crio [M7]', () => {
  for (const path of [POLICY, GPG, '/etc/containers/registries.d/x.yaml']) {
    expect(actionsOf(config({ [path]: 'a' }), config({ [path]: 'b' }))).toEqual([crio('Reload')]);
  }
  expect(actionsOf(config({ [REGISTRIES]: 'a' }), config({ [REGISTRIES]: 'b' }))).toEqual([{ type: 'Special' }]);
  expect(actionsOf(config({ [REGISTRIES]: 'a' }), config({}))).toEqual([{ type: 'Special' }]);
});

test('the pull secret together with registries.conf requires no further action [M8]', () => {
  const [old, wanted] = [
    config({ [REGISTRIES]: 'a', [PULL_SECRET]: 'a' }),
    config({ [REGISTRIES]: 'b', [PULL_SECRET]: 'b' }),
  ];
  expect(actionsOf(old, wanted)).toEqual([{ type: 'Special' }]);
  expect(actionsOf(config({ [PULL_SECRET]: 'a' }), config({ [PULL_SECRET]: 'b' }))).toEqual([{ type: 'None' }]);
});

test('the bundle of the user’s CAs restarts crio, also together with the key [M9]', () => {
  const restarts = [{ type: 'Restart', restart: { serviceName: 'coreos-update-ca-trust.service' } }, crio('Restart')];
  expect(actionsOf(config({ [CA]: 'a' }), config({ [CA]: 'b' }))).toEqual(restarts);
  expect(actionsOf(config({ [CA]: 'a', [GPG]: 'a' }), config({ [CA]: 'b', [GPG]: 'b' }))).toEqual([
    ...restarts,
    crio('Reload'),
  ]);
});

test('another OS image or other kernel arguments require a reboot, with any other changes [M10]', () => {
  const old = config({ [POLICY]: 'a' });
  for (const spec of [{ osImageURL: 'x' }, { kernelArguments: ['a'] }, { kernelType: 'realtime' }, { fips: true }]) {
    expect(actionsOf(old, config({ [POLICY]: 'b' }, spec))).toEqual([{ type: 'Reboot' }]);
  }
  expect(actionsOf(old, config({ '/etc/kubernetes/kubelet.conf': 'b' }))).toEqual([{ type: 'Reboot' }]);
});

test('absent kernel arguments and an empty list are the same [M14]', () => {
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
  nodeName: 'n',
  stored,
  forced: false,
  now: 0,
  annotations: { [CurrentConfig]: current, [DesiredConfig]: desired, [State]: state, [Reason]: '' },
  ...more,
});

test('a node at test1 with the target test2 is updated from test1 [M15]', () => {
  expect(decide(view('test1', 'test1', 'test2', 'Done'))).toEqual({ kind: 'evaluate', target: 'test2' });
});

test('a node that has its target and is Done does nothing [M16]', () => {
  expect(decide(view('test1', 'test1', 'test1', 'Done'))).toEqual({ kind: 'idle' });
});

test('the state of the disk takes precedence over the annotations of the node [M17]', () => {
  expect(decide(view('test3', 'test1', 'test2', 'Done'))).toEqual({ kind: 'evaluate', target: 'test2' });
  expect(decide(view('test2', 'test1', 'test2', 'Working'))).toEqual({
    kind: 'write',
    annotations: { [CurrentConfig]: 'test2', [State]: 'Done' },
  });
});

test('a node that is Done with a config that its disk does not have reports its real config, and waits for a target', () => {
  const says = { kind: 'write', annotations: { [CurrentConfig]: 'test3', [DesiredConfig]: 'test3' } };
  expect(decide(view('test3', 'test1', 'test1', 'Done'))).toEqual(says);
  // The update of the node was already in progress before the restore, so the node does not wait.
  expect(decide(view('test3', 'test1', 'test1', 'Working'))).toEqual({ kind: 'evaluate', target: 'test1' });
});

test('a node without a state is not Done, although it has its target [M18]', () => {
  expect(decide(view('test1', 'test1', 'test1', ''))).toEqual({ kind: 'write', annotations: { [State]: 'Done' } });
});

test('the action None needs no drain, and a list of actions with a reboot needs one [M19]', () => {
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
])('%s needs a drain [M21]', (_title, before, after) => {
  expect(isSafeRegistriesChange(before, after)).toBe(false);
});

test.each([
  ['the same with a comment', SEARCH, `${SEARCH}# hello\n`],
  ['a search registry appended', SEARCH, 'unqualified-search-registries = [\n "a.io",\n "b.io",\n "c.io",\n]'],
  ['a mirror for digests added', registry('q.io'), registry('q.io', mirror('m.io', DIGEST))],
  ['a registry added whose mirrors are for digests', '', registry('q.io', mirror('m.io', DIGEST))],
])('%s needs none [M21]', (_title, before, after) => {
  expect(isSafeRegistriesChange(before, after)).toBe(true);
});

test('entries of a user replace those of the same path, and the longest path decides', () => {
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
  expect(mixed.error?.issues[0]?.message).toBe('None and Reboot cannot be combined with other actions');
});

test('a drain is requested once, and the node reports a failure after an hour', () => {
  const fits = { verdict: { kind: 'fits', drains: true } } as const;
  const targeted = view('a', 'a', 'b', 'Done', fits);
  expect(decide(targeted)).toEqual({ kind: 'write', annotations: { [State]: 'Working', [DesiredDrain]: 'drain-b' } });
  const annotations = { ...targeted.annotations, [State]: 'Working', [DesiredDrain]: 'drain-b' };
  expect(decide({ ...targeted, annotations, askedAt: 0, now: 10_000 })).toEqual({ kind: 'wait', ms: 3_590_000 });
  expect(decide({ ...targeted, annotations, askedAt: 0, now: 3_600_000 })).toMatchObject({
    annotations: { [State]: 'Degraded', [Reason]: expect.stringContaining('failed to drain node: n after 1 hour') },
  });
  expect(decide({ ...targeted, annotations: { ...annotations, [LastAppliedDrain]: 'drain-b' } })).toMatchObject({
    kind: 'apply',
  });
  const single = {
    ...targeted.annotations,
    [NodeAnnotations.ControlPlaneTopology]: 'SingleReplica',
    [State]: 'Working',
  };
  expect(decide({ ...targeted, annotations: single })).toMatchObject({ kind: 'apply' });
});

test('a node whose target is reset to its current config undoes the drain and is Done', () => {
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

test('a changed disk is reported, and stops every update until it is repaired', () => {
  const drifted = view('a', 'a', 'b', 'Done', { drift: 'content mismatch for file "/etc/a"' });
  expect(decide(drifted)).toEqual({
    kind: 'write',
    annotations: { [State]: 'Degraded', [Reason]: 'content mismatch for file "/etc/a"' },
  });
  expect(decide({ ...drifted, forced: true })).toEqual({ kind: 'force' });
});
