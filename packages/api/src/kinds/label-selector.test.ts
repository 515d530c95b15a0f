import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatSelector, isEmptySelector, selectorMatches } from './label-selector.ts';
import type { LabelSelector } from './shared.ts';

const labels = { app: 'pool', tier: 'web' };

test.each<[title: string, selector: LabelSelector | undefined, matches: boolean]>([
  ['an absent selector matches nothing', undefined, false],
  ['an empty selector matches everything', {}, true],
  ['an existing label', { matchLabels: { app: 'pool' } }, true],
  ['a label with another value', { matchLabels: { app: 'other' } }, false],
  ['a missing label', { matchLabels: { zone: 'a' } }, false],
  ['In', { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'pool'] }] }, true],
  ['In, absent', { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }, false],
  ['NotIn', { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['pool'] }] }, false],
  ['NotIn, absent', { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }, true],
  ['Exists', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }, true],
  ['DoesNotExist', { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, false],
  ['an inherited property is not a label', { matchExpressions: [{ key: 'toString', operator: 'Exists' }] }, false],
  [
    'all labels and requirements must be fulfilled',
    { matchLabels: { app: 'pool' }, matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
    false,
  ],
])('%s', (_title, selector, matches) => {
  expect(selectorMatches(selector, labels)).toBe(matches);
});

test('without labels only NotIn and DoesNotExist are fulfilled', () => {
  expect(selectorMatches({ matchLabels: { app: 'pool' } }, undefined)).toBe(false);
  expect(selectorMatches({ matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, undefined)).toBe(true);
});

describe('algebra', () => {
  const key = fc.constantFrom('a', 'b', 'c');
  const value = fc.constantFrom('1', '2', '3');
  const map = fc.dictionary(key, value);

  test('In and NotIn, Exists and DoesNotExist are opposites', () => {
    fc.assert(
      fc.property(map, key, fc.array(value, { minLength: 1 }), (of, name, values) => {
        const holds = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'): boolean =>
          selectorMatches({ matchExpressions: [{ key: name, operator, values }] }, of);
        expect(holds('In')).toBe(!holds('NotIn'));
        expect(holds('Exists')).toBe(!holds('DoesNotExist'));
      }),
    );
  });

  test('a selector with all labels matches them, and one with another label does not', () => {
    fc.assert(
      fc.property(map, (of) => {
        expect(selectorMatches({ matchLabels: of }, of)).toBe(true);
        expect(selectorMatches({ matchLabels: { ...of, d: '1' } }, of)).toBe(false);
      }),
    );
  });
});

test('formatting sorts the requirements, so equal selectors result in equal queries', () => {
  const selector: LabelSelector = {
    matchLabels: { tier: 'web', app: 'pool' },
    matchExpressions: [
      { key: 'zone', operator: 'In', values: ['b', 'a'] },
      { key: 'env', operator: 'NotIn', values: ['dev'] },
      { key: 'old', operator: 'DoesNotExist' },
      { key: 'new', operator: 'Exists' },
    ],
  };
  expect(formatSelector(selector)).toBe('!old,app=pool,env notin (dev),new,tier=web,zone in (a,b)');
  expect(isEmptySelector(selector)).toBe(false);
  expect(isEmptySelector({ matchLabels: {}, matchExpressions: [] })).toBe(true);
});
