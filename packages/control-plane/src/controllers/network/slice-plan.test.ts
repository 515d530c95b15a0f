import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { Plain } from '../../apimachinery/objects/plain.ts';
import { planSlices } from './slice-plan.ts';

const web = [{ name: '', port: 8080, protocol: 'TCP' }];
const endpoint = (name: string, more: Plain = {}): Plain => ({ addresses: [name], targetRef: { name }, ...more });
const many = (from: number, to: number): Plain[] =>
  Array.from({ length: to - from }, (_, index) => endpoint(`p${from + index}`));
const slice = (name: string, endpoints: readonly Plain[], ports: readonly Plain[] = web): ApiObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name },
  addressType: 'IPv4',
  ports,
  endpoints,
});
const group = (endpoints: readonly Plain[], ports: readonly Plain[] = web) => ({
  addressType: 'IPv4',
  ports,
  endpoints,
});

function shown(known: readonly ApiObject[], groups: Parameters<typeof planSlices>[1], hasLabels = true): string[] {
  const { create, update, remove } = planSlices(known, groups, () => hasLabels);
  return [
    ...create.map(({ endpoints }) => `+${endpoints.length}`),
    ...update.map(({ slice: { metadata }, content }) => `${metadata.name}:${content.endpoints.length}`),
    ...remove.map(({ metadata }) => `-${metadata.name}`),
  ];
}

const full = slice('full', many(0, 100));
const rest = slice('rest', many(100, 103));

test.each<[string, readonly ApiObject[], Parameters<typeof planSlices>[1], string[]]>([
  ['new endpoints make slices of a hundred', [], [group(many(0, 203))], ['+100', '+100', '+3']],
  ['what stands is not written', [full, rest], [group(many(0, 103))], []],
  ['an endpoint that goes leaves a gap: nothing is packed anew', [full, rest], [group(many(6, 103))], ['full:94']],
  [
    'the slice that fits best takes what is new',
    [slice('a', many(0, 2)), rest],
    [group([...many(0, 2), ...many(100, 110)])],
    ['rest:10'],
  ],
  [
    'a slice that is written anyway is filled first',
    [full, rest],
    [group([...many(1, 103), endpoint('new')])],
    ['full:100'],
  ],
  ['what fits nowhere makes a slice', [full], [group(many(0, 101))], ['+1']],
  ['a slice without endpoints goes', [full, rest], [group(many(0, 100))], ['-rest']],
  ['other ports: the slice is used again', [rest], [group(many(100, 103), [{ ...web[0], port: 9090 }])], ['rest:3']],
  ['no endpoints: one empty slice', [full, rest], [group([], [])], ['full:0', '-rest']],
  ['the empty slice stands', [slice('none', [], [])], [group([], [])], []],
  ['the empty slice is used again', [slice('none', [], [])], [group(many(0, 2))], ['none:2']],
])('%s', (_title, known, groups, expected) => {
  expect(shown(known, groups)).toEqual(expected);
});

test('a changed endpoint stays in its slice, and a slice with other labels is updated', () => {
  const changed = endpoint('p101', { conditions: { ready: false } });
  const wanted = [endpoint('p100'), changed, endpoint('p102')];
  const { update } = planSlices([full, rest], [group([...many(0, 100), ...wanted])], () => true);
  expect(update).toEqual([{ slice: rest, content: group(wanted) }]);
  expect(shown([rest], [group(many(100, 103))], false)).toEqual(['rest:3']);
});
