import { expect, test } from 'vitest';
import { builtinKinds } from '../kinds/index.ts';
import { parseFieldSelector } from './field-selector.ts';

const kind = (plural: string) => {
  const found = builtinKinds.find((one) => one.plural === plural);
  if (found === undefined) throw new Error(`no kind ${plural}`);
  return found;
};

test.each(['', ',', '=', '==', '!='])('%j has no requirements', (text) => {
  expect(parseFieldSelector(kind('pods'), text)).toBeUndefined();
  expect(parseFieldSelector(kind('configmaps'), text)).toBeUndefined();
});

test.each([
  ['pods', '=a', 'field label not supported: '],
  ['configmaps', 'a=', '"a" is not a known field selector: only "metadata.name", "metadata.namespace"'],
  ['pods', 'metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
])('%s refuse %s', (plural, text, message) => {
  expect(() => parseFieldSelector(kind(plural), text)).toThrow(message);
});

test('a selector returns its requirements for the index', () => {
  const selector = parseFieldSelector(kind('configmaps'), 'metadata.name=a,metadata.namespace!=b');
  expect(selector?.where).toEqual([
    { field: 'metadata.name', value: 'a' },
    { field: 'metadata.namespace', values: ['b'], not: true },
  ]);
});
