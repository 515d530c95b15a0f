import { expect, test } from 'vitest';
import type { JsonObject } from '../apimachinery/objects/object.ts';
import { applyJsonPatch } from './jsonPatch.ts';
import { RepeatedValues } from './repeatedValues.ts';

const TWICE = { op: 'add', path: '/spec/b', value: { x: 2 } };

test.each<[operations: object[], repeated: string[], left: string[]]>([
  [[TWICE], ['[0].value.x'], ['spec.b.x']],
  [[{ ...TWICE, op: 'replace', path: '/spec' }], ['[0].value.x'], ['spec.x']],
  [[{ ...TWICE, path: '/list/-', value: [{ x: 2 }] }], ['[0].value[0].x'], ['list[1][0].x']],
  [[{ ...TWICE, value: { a: { x: 2 }, z: 1 } }], ['[0].value.a.x', '[0].value.z'], ['spec.b.a.x', 'spec.b.z']],
  [
    [
      { ...TWICE, value: { a: { x: 2 }, z: 1 } },
      { op: 'add', path: '/spec/b/c', value: 1 },
    ],
    ['[0].value.a.x', '[0].value.z'],
    ['spec.b.a.x'],
  ],
  [[TWICE, { op: 'copy', from: '/spec/b', path: '/spec/a' }], ['[0].value.x'], ['spec.a.x', 'spec.b.x']],
  [[TWICE, { op: 'copy', from: '/spec/b/x', path: '/spec/a' }], ['[0].value.x'], []],
  [[TWICE, { op: 'move', from: '/spec/b', path: '/spec/a' }], ['[0].value.x'], ['spec.a.x']],
  [[TWICE, { op: 'test', path: '/spec/b', value: { x: 2 } }], ['[0].value.x'], []],
  [[TWICE, { op: 'remove', path: '/spec/b' }], ['[0].value.x'], []],
  [[TWICE], ['[0].op'], []],
])('after the operations %j, %j become %j', (operations, repeated, left) => {
  const values = new RepeatedValues(repeated);
  const target: JsonObject = { spec: {}, list: [0] };
  expect(values.left(applyJsonPatch(target, operations, values))).toEqual(left);
});
