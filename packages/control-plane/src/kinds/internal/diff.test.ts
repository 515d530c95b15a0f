import { expect, test } from 'vitest';
import { internalDiff, unifiedDiff } from './diff.ts';
import { internalForm } from './form.ts';

const lines = (...text: string[]): string => text.join('\n');

test('changes close to each other share a hunk, and others have their own', () => {
  const before = lines('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l');
  expect(unifiedDiff(before, before.replace('b', 'B').replace('e', 'E'))).toBe(
    lines('@@ -1,8 +1,8 @@', ' a', '-b', '+B', ' c', ' d', '-e', '+E', ' f', ' g', ' h', ''),
  );
  expect(unifiedDiff(before, before.replace('a', 'A').replace('l', 'L'))).toBe(
    lines('@@ -1,4 +1,4 @@', '-a', '+A', ' b', ' c', ' d', '@@ -9,4 +9,4 @@', ' i', ' j', ' k', '-l', '+L', ''),
  );
  expect(unifiedDiff(lines('a', 'b'), lines('a', 'x', 'b'))).toBe(lines('@@ -1,2 +1,3 @@', ' a', '+x', ' b', ''));
  expect(unifiedDiff(before, before)).toBe('');
});

test('a value is printed in the internal form of the server, with its field order and with zero values', () => {
  expect(internalForm('Toleration', { effect: 'NoExecute', key: 'k' })).toEqual({
    Key: 'k',
    Operator: '',
    Value: '',
    Effect: 'NoExecute',
    TolerationSeconds: null,
  });
  const spec = internalForm('PodSpec', { hostNetwork: true, containers: [{ name: 'c' }] });
  expect(spec).toMatchObject({ SecurityContext: { HostNetwork: true }, Containers: [{ Name: 'c', Ports: null }] });
  expect(Object.keys(spec).slice(0, 3)).toEqual(['Volumes', 'InitContainers', 'Containers']);
});

test('the diff of two values compares the lines of their internal form', () => {
  expect(internalDiff('TypedLocalObjectReference', { kind: 'A', name: 'n' }, { kind: 'B', name: 'n' })).toBe(
    lines(
      '@@ -1,5 +1,5 @@',
      ' {',
      '  "APIGroup": null,',
      '- "Kind": "A",',
      '+ "Kind": "B",',
      '  "Name": "n"',
      ' }',
      '',
    ),
  );
});
