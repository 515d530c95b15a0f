import { expect, test } from 'vitest';
import { parseLabelSelector, selectorOf } from './label-selector.ts';

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

test('nothing asked selects everything', () => {
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
