import { Finalizers } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createMemoryLogger,
  handlerTransport,
  isConflict,
  type Node,
  nodes,
  seededRandom,
  type Transport,
  VirtualClock,
  volumeAttachments,
} from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import type { MachineMemory } from '../model/memory.ts';
import { NodeActions } from './node-actions.ts';

/** Actions on Nodes and attachments of a plane, after another client changed these objects. */

const status = (code: number, reason: string): Response =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason },
    { status: code },
  );

/** @param refuse Returns an answer instead of that of the plane. */
async function start(refuse: (method: string, path: string) => Response | undefined = () => undefined) {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds: [], controllers: false });
  onTestFinished(() => plane.close());
  const asked: string[] = [];
  const direct = handlerTransport((request) => plane.fetch(request));
  const refusing: Transport = async (request) => {
    asked.push(`${request.method} ${request.path.replace(/\?.*/, '')}`);
    return refuse(request.method, request.path) ?? direct(request);
  };
  const client = (transport: Transport) => createClient({ transport, userAgent: 't', clock, random: seededRandom(1) });
  const admin = client(direct);
  const log = createMemoryLogger();
  const recorded: Node[] = [];
  const cache = { recordWrite: (node: Node) => recorded.push(node), store: { get: () => undefined } };
  const actions = new NodeActions({ target: client(refusing), log, caches: { target: { nodes: cache } } as never });
  const memory: MachineMemory = { drain: NO_DRAIN_MEMORY };
  const scope = (o: object) =>
    ({
      o: { machine: { metadata: { labels: { node: 'n' } } }, ...o },
      memory,
      now: clock.now(),
      signal: new AbortController().signal,
    }) as never;
  return { actions, admin, asked, clock, log, memory, recorded, scope };
}

const attach = (nodeName: string) => ({
  metadata: { name: 'va' },
  spec: { attacher: 'disks', nodeName, source: { persistentVolumeName: 'pv' } },
});

test('an attachment that took the name of a detached one stays', async () => {
  const { actions, admin, memory, scope } = await start();
  const client = admin.resource(volumeAttachments);
  const first = await client.create(attach('n'));
  await client.delete('va');
  const second = await client.create(attach('n'));
  await actions.deleteAttachments(scope({}), [{ name: 'va', uid: first.metadata.uid }]);
  expect((await client.get('va')).metadata.uid).toBe(second.metadata.uid);
  expect([...(memory.drain.detachRequested ?? [])]).toEqual([first.metadata.uid]);
  await actions.deleteAttachments(scope({}), [{ name: 'va', uid: second.metadata.uid }]);
  expect((await client.list()).items).toEqual([]);
});

const CORDON = { do: 'cordon', reason: 'ScaleDown', release: false } as const;

test('a cordon that the server refuses ends the pass, unless the drain is forced', async () => {
  const forbidden = (method: string) => (method === 'PATCH' ? status(403, 'Forbidden') : undefined);
  const { actions, admin, log, memory, scope } = await start(forbidden);
  const node = await admin.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
  await expect(actions.cordon(scope({ node }), { ...CORDON, tolerant: false })).rejects.toThrow(/Forbidden/);
  expect([memory.drain.cordonFailed, log.lines]).toEqual([undefined, []]);
  await actions.cordon(scope({ node }), { ...CORDON, tolerant: true });
  expect(memory.drain.cordonFailed).toBe(true);
  expect(log.lines.map(({ message }) => message)).toEqual(['Cordon failed; the forced drain continues']);
});

/** A Node as the cache shows it, and then as the server has it. */
async function changed(admin: Awaited<ReturnType<typeof start>>['admin']): Promise<[seen: Node, present: Node]> {
  const client = admin.resource(nodes);
  const seen = await client.create({ metadata: { name: 'n' }, spec: {} });
  return [seen, await client.patch('n', { type: 'merge', body: { metadata: { labels: { reports: 'again' } } } })];
}

test('a stale Node that changed is not deleted, and the next pass decides on its present version', async () => {
  const { actions, admin, memory, recorded, scope } = await start();
  const [conflictingNode, present] = await changed(admin);
  const refused = await actions.releaseStale(scope({ conflictingNode })).catch((error: unknown) => error);
  expect(isConflict(refused)).toBe(true);
  expect(recorded).toEqual([present]);
  expect(memory.releasedNode).toBeUndefined();
  await actions.releaseStale(scope({ conflictingNode: present }));
  expect((await admin.resource(nodes).list()).items).toEqual([]);
  expect(memory.releasedNode).toBe(present.metadata.uid);
});

test('a stale Node loses the finalizer of mcm first, and only that, and is decided on again', async () => {
  const { actions, admin, memory, recorded, scope } = await start();
  const finalizers = [Finalizers.Node, 'example.com/backup'];
  const conflictingNode = await admin.resource(nodes).create({ metadata: { name: 'n', finalizers }, spec: {} });
  await actions.releaseStale(scope({ conflictingNode }));
  const present = await admin.resource(nodes).get('n');
  expect(present.metadata).toMatchObject({ finalizers: ['example.com/backup'] });
  expect(present.metadata.deletionTimestamp).toBeUndefined();
  expect([recorded, memory.releasedNode]).toEqual([[present], undefined]);
});
