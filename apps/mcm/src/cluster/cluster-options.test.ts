import { expect, test } from 'vitest';
import { objectText } from './cluster-options.ts';

test.each([
  [['machine', 'm-0'], 'machine/m-0'],
  [['machdeploy', 'workers'], 'machdeploy/workers'],
  [['mcp', 'infra'], 'mcp/infra'],
  [['workers'], 'workers'],
])('the words %j are the object %s', (words, object) => {
  expect(objectText(words)).toBe(object);
});

test('two words with an unknown kind name the kinds, and more words name the form', () => {
  expect(() => objectText(['md', 'workers'])).toThrow(
    '"md workers" has an unknown kind; write one of machinedeployment',
  );
  expect(() => objectText(['a', 'b', 'c'])).toThrow(
    '"a b c" is not the name of an object; write TYPE/NAME or TYPE NAME',
  );
});
