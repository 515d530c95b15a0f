import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { KubeError } from '@mcm/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findKubeconfig, noAnswer } from './cluster.ts';

let dir: string;
let one: string;
let other: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'mcm cluster '));
  one = join(dir, 'one');
  other = join(dir, 'other');
  for (const file of [one, other]) writeFileSync(file, '');
});
afterAll(() => rmSync(dir, { recursive: true }));

const flags = { dataDir: '/none', namespace: 'default' };
const found = (list: string): string => findKubeconfig(flags, { KUBECONFIG: list }, '/none');

test('of the files of $KUBECONFIG the one that is there counts', () => {
  expect(found(one)).toBe(one);
  expect(found(['/none/a', one].join(delimiter))).toBe(one);
  expect(found('/none/a')).toBe('/none/a');
});

test('several are refused: which of them is meant nobody can know', () => {
  expect(() => found([one, other].join(delimiter))).toThrow(
    `$KUBECONFIG names several files, ${one} and ${other}; name one of them: --kubeconfig`,
  );
});

test('a cluster that does not answer is named, and of a local instance that it does not run', () => {
  const error = new KubeError('GET /api/v1/nodes: no answer: connect ECONNREFUSED 127.0.0.1:1', { code: 0 });
  const told = (kubeconfig: string, dataDir: string): string =>
    String(noAnswer(error, { kubeconfig, dataDir, namespace: 'default' }));
  expect(told('a.yaml', '.mcm')).toBe(`UserError: the cluster of a.yaml does not answer (${error.message})`);
  expect(told('./.mcm/kubeconfig', '.mcm')).toBe(
    `UserError: the cluster of ./.mcm/kubeconfig does not answer; no instance runs on it: start it with: mcm up (${error.message})`,
  );
});

test('any other error stays what it is', () => {
  const error = new KubeError('forbidden', { code: 403 });
  expect(noAnswer(error, flags)).toBe(error);
});
