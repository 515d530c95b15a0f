import { expect, test } from 'vitest';
import type { ApiObject } from './object.ts';
import { renderObject, withRevision } from './object-text.ts';

const objectWith = (name: string, value: string): ApiObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    namespace: 'default',
    uid: 'u',
    labels: { resourceVersion: '7' },
    annotations: { '"resourceVersion":"1"': value },
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'o' }],
  },
  data: { resourceVersion: '8', text: value },
});

test.each([
  ['a', 'plain'],
  ['"resourceVersion":"5"', '"resourceVersion":"6"'],
  ['\\"resourceVersion":"5"', '\\"resourceVersion\\":\\"6\\"'],
])('the text of %j with a new revision is the text of the object with this revision', (name, value) => {
  const object = objectWith(name, value);
  for (const [before, after] of [
    [1, 2],
    [99, 100],
  ] as const) {
    expect(withRevision(renderObject(object, before), before, after)).toBe(renderObject(object, after));
  }
});
