import { expect, test } from 'vitest';
import { duplicateFields } from './duplicate-fields.ts';

const find = (text: string): string[] => duplicateFields(text, JSON.parse(text));

test.each([
  ['{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}', []],
  ['{"a":1,"a":2}', ['a']],
  ['{ "spec": { "list": [ {"n": 1}, {"n": 1, "x": [], "n" : 2} ], "list": [] } }', ['spec.list[1].n', 'spec.list']],
  ['{"a":"\\"a\\":1","b":"{\\"a\\":1,"}', []],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['{"\\u0061":1,"a":2}', ['a']],
  ['{"a":[[{"b":1,"b":1}]]}', ['a[0][0].b']],
  ['{"a": "x", "b": "a:", "c": {"d": "e" , "f": "d"}}', []],
])('%s', (text, paths) => {
  expect(find(text)).toEqual(paths);
});
