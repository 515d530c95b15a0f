import { Annotations, Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { expect, test } from 'vitest';
import { set } from '../../set/test-objects.ts';
import { zoneSettingOf } from '../../zones/setting.ts';
import { machineIn, nodeIn, type UpdateState } from '../testing/updated-machine.ts';
import { planInPlaceUpdate } from './in-place.ts';

const CANDIDATE: UpdateState = { marks: ['candidate'] };
const SELECTED: UpdateState = { marks: ['candidate', 'selected'], template: 'new' };
const READY: UpdateState = {};
const DOWN: UpdateState = { phase: 'Unknown' };
const DOWN_CANDIDATE: UpdateState = { marks: ['candidate'], phase: 'Unknown' };
const GONE: UpdateState = { deleting: true };

type Zoned = Readonly<
  Record<string, { readonly old?: readonly UpdateState[]; readonly updated?: readonly UpdateState[] }>
>;

function selected(zoned: Zoned, limit: string | undefined, unavailable = 9): readonly string[] {
  const nodes = new Map<string, Node>();
  const made = (kind: 'old' | 'updated'): readonly Machine[] =>
    Object.entries(zoned).flatMap(([zone, states]) =>
      (states[kind] ?? []).map((state, index) => {
        const name = `${zone}-${kind}-${index}`;
        const node = nodeIn(state, name);
        const labels = { ...node.metadata.labels, [Labels.Zone]: zone };
        nodes.set(name, { ...node, metadata: { ...node.metadata, labels } });
        return machineIn(state, name);
      }),
    );
  const [old, updated] = [made('old'), made('updated')];
  const nodeOf = (name: string) => nodes.get(name);
  const annotations = {
    [Annotations.Zones]: JSON.stringify(['a', 'b', 'x'].map((zone) => ({ zone }))),
    ...(limit === undefined ? {} : { [Annotations.ZonesMaxUnavailable]: limit }),
  };
  const setting = zoneSettingOf({ metadata: { annotations } });
  if (!setting) throw new Error('the zones of the test are invalid');
  const counted = (all: readonly Machine[]) => all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const step = planInPlaceUpdate({
    current: { set: set('new', counted(updated).length), machines: updated },
    old: [{ set: set('old', counted(old).length, { labels: { [Labels.ScaleUpDisabled]: 'true' } }), machines: old }],
    replicas: counted([...old, ...updated]).length,
    surge: 0,
    unavailable,
    manual: false,
    nodeOf,
    zones: { setting, machines: [...old, ...updated], nodeOf },
  });
  return step.work.nodes
    .filter(({ change: { metadata } }) => metadata?.labels?.[Labels.SelectedForUpdate] === 'true')
    .map(({ node }) => node.metadata.name);
}

const THREE = [CANDIDATE, CANDIDATE, CANDIDATE];

test.each<[what: string, zoned: Zoned, limit: string | undefined, names: readonly string[]]>([
  ['one of each zone', { a: { old: THREE }, b: { old: THREE } }, '1', ['a-old-0', 'b-old-0']],
  [
    'a percentage of each zone',
    { a: { old: THREE }, b: { old: [CANDIDATE] } },
    '67%',
    ['a-old-0', 'a-old-1', 'b-old-0'],
  ],
  ['none of a zone with a started update', { a: { old: [SELECTED, CANDIDATE] }, b: { old: THREE } }, '1', ['b-old-0']],
  [
    'none of a zone with an updated machine that is down',
    { a: { old: THREE, updated: [DOWN] }, b: { old: THREE, updated: [READY] } },
    '1',
    ['b-old-0'],
  ],
  ['none of a zone that loses a machine', { a: { old: [...THREE, GONE] }, b: { old: THREE } }, '1', ['b-old-0']],
  [
    'a machine that is down already, and one of another zone',
    { a: { old: [DOWN_CANDIDATE, CANDIDATE] }, b: { old: THREE } },
    '1',
    ['a-old-0', 'b-old-0'],
  ],
  [
    'machines outside of all zones without a limit',
    { other: { old: THREE } },
    '1',
    THREE.map((_, i) => `other-old-${i}`),
  ],
  ['all without a limit for each zone', { a: { old: THREE } }, undefined, THREE.map((_, i) => `a-old-${i}`)],
])('an in-place update selects %s', (_what, zoned, limit, names) => {
  expect(selected(zoned, limit)).toEqual(names);
});

test('the limit of the deployment applies too', () => {
  expect(selected({ a: { old: THREE }, b: { old: THREE } }, '2', 1)).toEqual(['a-old-0']);
});
