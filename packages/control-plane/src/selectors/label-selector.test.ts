import { expect, test } from 'vitest';
import { meets } from '../store/demand.ts';
import { labelDemands, parseLabelSelector, selectorDemands, selectorOf } from './label-selector.ts';

test.each([
  ['a=1', { a: '1' }, true],
  ['a==1', { a: '2' }, false],
  ['a!=1', {}, true],
  ['a in (1, 2)', { a: '2' }, true],
  ['a notin (1,2)', { a: '1' }, false],
  ['a notin (1,2)', {}, true],
  ['a', { a: '' }, true],
  ['!a', { a: '' }, false],
  ['a>5', { a: '10' }, true],
  ['a<5', { a: 'x' }, false],
  ['a in (), b', { a: '', b: 'x' }, true],
  ['constructor', {}, false],
  ['a=1,b!=2,c in (x),!d', { a: '1', b: '3', c: 'x' }, true],
])('%s of %o: %s', (selector, labels, matches) => {
  expect(parseLabelSelector(selector)?.(labels)).toBe(matches);
});

test('an empty selector selects everything', () => {
  expect(parseLabelSelector(' ')).toBeUndefined();
});

test.each([['=1'], ['a b'], ['a in ('], ['a,,b'], ['a=1=2'], ['a>x'], ['-a'], ['a=-'], ['!']])(
  '%s is refused',
  (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(/found|Invalid value/);
  },
);

test('a selector of a spec: absent matches nothing, empty everything', () => {
  expect(selectorOf(undefined)({ a: '1' })).toBe(false);
  expect(selectorOf({})({})).toBe(true);
  const selector = selectorOf({
    matchLabels: { a: '1' },
    matchExpressions: [{ key: 'b', operator: 'NotIn', values: ['x'] }],
  });
  expect(selector({ a: '1' })).toBe(true);
  expect(selector({ a: '1', b: 'x' })).toBe(false);
});

const SETS: Record<string, string>[] = [{}, { a: '1' }, { a: '2' }, { a: '' }, { a: '1', b: '5' }, { b: '-3' }];

test.each([
  ['a=1', [1, 4]],
  ['a==2', [2]],
  ['a in (1,2)', [1, 2, 4]],
  ['a=', [3]],
  ['a!=1', [0, 2, 3, 5]],
  ['a notin (1,2)', [0, 3, 5]],
  ['a', [1, 2, 3, 4]],
  ['!a', [0, 5]],
  ['b>4', [4]],
  ['a,!b', [1, 2, 3]],
])(
  'the requirements of %s hold for everything that it selects, and are sufficient except for numbers',
  (text, selected) => {
    const matches = parseLabelSelector(text);
    expect(SETS.flatMap((labels, at) => (matches?.(labels) === true ? [at] : []))).toEqual(selected);
    const record = { namespace: '', name: '', revision: 1, json: '', fields: undefined };
    const found = SETS.flatMap((labels, at) => (meets({ ...record, labels }, labelDemands(text)) ? [at] : []));
    expect(found).toEqual(text === 'b>4' ? [4, 5] : selected);
  },
);

test('a selector of a spec has the same requirements as its text', () => {
  const selector = {
    matchLabels: { a: '1' },
    matchExpressions: [
      { key: 'b', operator: 'NotIn', values: ['x'] },
      { key: 'c', operator: 'Exists' },
      { key: 'd', operator: 'DoesNotExist' },
    ],
  };
  expect(selectorDemands(selector)).toEqual(labelDemands('a=1,b notin (x),c,!d'));
});
