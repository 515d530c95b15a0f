import { expect, test } from 'vitest';
import { realClock } from '../../apimachinery/objects/clock.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { BindingIndex } from './bindings.ts';

const BINDINGS = 'rbac.authorization.k8s.io/clusterrolebindings';
const alice = { name: 'alice', groups: [], extra: {}, uid: '' };

const draft = (name: string, role: string) => {
  const subjects = [{ kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' }];
  const json = JSON.stringify({ metadata: { name }, roleRef: { kind: 'ClusterRole', name: role }, subjects });
  return { namespace: '', name, labels: undefined, fields: {}, render: () => json };
};

const setUp = () => {
  const store = new MemoryStore(realClock);
  const index = new BindingIndex(store);
  const grants = () => [...index.grants(alice, '')].map(({ binding }) => `${binding.name}=${binding.role.name}`);
  return { store, grants };
};

test.each([false, true])('the last changed binding is the last grant (read before the change: %s)', (isRead) => {
  const { store, grants } = setUp();
  for (const name of ['a', 'b']) store.put(BINDINGS, draft(name, 'view'));
  if (isRead) expect(grants()).toEqual(['a=view', 'b=view']);
  store.put(BINDINGS, draft('a', 'edit'));
  expect(grants()).toEqual(['b=view', 'a=edit']);
  expect(grants()).toEqual(['b=view', 'a=edit']);
});

test.each([false, true])('a deleted binding grants nothing (read before its deletion: %s)', (isRead) => {
  const { store, grants } = setUp();
  store.put(BINDINGS, draft('a', 'view'));
  if (isRead) expect(grants()).toEqual(['a=view']);
  store.delete(BINDINGS, draft('a', 'view'));
  expect(grants()).toEqual([]);
});
