import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { Api } from '../client/api.ts';
import { Directory, type ServedResource } from '../discovery/directory.ts';
import { TestClock } from '../testing.ts';
import { Collector } from './collector.ts';
import { Graph } from './graph.ts';

const MAPS: ServedResource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  namespaced: true,
  kind: 'ConfigMap',
  verbs: [],
  subresources: [],
};
const ghost = { apiVersion: 'v1', kind: 'ConfigMap', name: 'ghost', uid: 'ghost' };
const dependent = (resourceVersion: string, ...ownerReferences: object[]): ApiObject =>
  ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'd', namespace: 'default', uid: 'd', resourceVersion, ownerReferences },
  }) as ApiObject;

async function collect(
  states: readonly ApiObject[],
  refusals: number,
): Promise<{ deletes: unknown[]; gets: string[] }> {
  const deletes: unknown[] = [];
  const gets: string[] = [];
  let reads = 0;
  const api = new Api({
    async handle(request) {
      const answer = (status: number, body: unknown) => ({
        status,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (request.method === 'DELETE') {
        deletes.push(JSON.parse(new TextDecoder().decode(await request.body())).preconditions);
        return deletes.length <= refusals ? answer(409, { message: 'changed' }) : answer(200, {});
      }
      if (request.path === '/api') {
        const resource = {
          resource: 'configmaps',
          responseKind: { kind: 'ConfigMap' },
          scope: 'Namespaced',
          verbs: [],
        };
        return answer(200, { items: [{ versions: [{ version: 'v1', resources: [resource] }] }] });
      }
      if (request.path === '/apis') return answer(200, { items: [] });
      gets.push(request.path.split('/').at(-1) ?? '');
      return request.path.endsWith('/d') ? answer(200, states[Math.min(reads++, states.length - 1)]) : answer(404, {});
    },
  });
  const directory = new Directory(api, new TestClock());
  await directory.refresh();
  const graph = new Graph();
  graph.put(dependent('1', ghost), MAPS);
  const collector = new Collector(api, graph, directory, () => undefined);
  await collector.look('d');
  await collector.look('d');
  return { deletes, gets };
}

test('an object is deleted with its checked version; after a change with the same owners it is deleted too', async () => {
  const { deletes } = await collect([dependent('1', ghost), dependent('2', ghost)], 1);
  expect(deletes.slice(0, 2)).toEqual([{ uid: 'd', resourceVersion: '1' }, { uid: 'd' }]);
});

test('an object that got another owner in between is checked again', async () => {
  const other = { ...ghost, name: 'other', uid: 'other' };
  await expect(collect([dependent('1', ghost), dependent('2', ghost, other)], 1)).rejects.toThrow('changed');
});

test('an object without owners remains, also if the cache is outdated', async () => {
  expect((await collect([dependent('2')], 0)).deletes).toEqual([]);
});

test('a missing owner is not requested again', async () => {
  const { gets } = await collect([dependent('1', ghost)], 0);
  expect(gets.filter((name) => name === 'ghost')).toHaveLength(1);
});
