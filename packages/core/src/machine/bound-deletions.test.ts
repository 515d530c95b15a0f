import { Labels } from '@mcm/api';
import { createClient, createMemoryLogger, type Node, seededRandom, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NO_DRAIN_MEMORY } from '../drain/model/observation.ts';
import { Performer } from './calls/perform.ts';
import type { MachineMemory } from './model/memory.ts';
import type { Action } from './model/plan.ts';
import { machine, node } from './testing.ts';

const SUCCESS = { kind: 'Status', apiVersion: 'v1', status: 'Success' };
const CONFLICT = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 409, reason: 'Conflict' };
const seen = { uid: 'uid-seen', resourceVersion: '7' };

async function perform(action: Action, isFresh: boolean, finalizers: string[] = []) {
  const asked: string[] = [];
  const recorded: Node[] = [];
  const transport: Transport = async ({ method, path, body }) => {
    const { preconditions = {} } = JSON.parse(body ?? '{}') as { readonly preconditions?: object };
    asked.push([method, path.split('/').at(-1), ...Object.values(preconditions)].join(' '));
    if (method !== 'DELETE') return Response.json(node({ name: 'theirs', metadata: { resourceVersion: '8' } }));
    return isFresh ? Response.json(SUCCESS) : Response.json(CONFLICT, { status: 409 });
  };
  const clock = new VirtualClock();
  const client = createClient({ transport, userAgent: 't', clock, random: seededRandom(1) });
  const caches = {
    machines: { recordWrite: () => undefined },
    target: { nodes: { recordWrite: (one: Node) => recorded.push(one) } },
  };
  const options = {
    target: client,
    control: client,
    caches,
    log: createMemoryLogger(),
    recorder: { event: () => undefined },
  };
  const memory: MachineMemory = { drain: NO_DRAIN_MEMORY };
  const o = {
    machine: machine({ name: 'mine', metadata: { ...seen, labels: { [Labels.Node]: 'theirs' } } }),
    conflictingNode: node({ name: 'theirs', metadata: { ...seen, finalizers } }),
  };
  const scope = { o, memory, now: clock.now(), signal: new AbortController().signal };
  const said = await new Performer(options as never).perform(action, scope as never).then(
    () => 'done',
    (error: unknown) => String(error),
  );
  return { said, asked, recorded: recorded.map(({ metadata }) => metadata.resourceVersion), memory };
}

test('a Machine is deleted with its Node only in the version of the decision', async () => {
  expect((await perform({ do: 'deleteMachine' }, true)).asked).toEqual(['DELETE mine uid-seen 7']);
  expect((await perform({ do: 'deleteMachine' }, false)).said).toContain('HTTP 409');
});

test('a Node without a reporting kubelet is deleted only in the version of the decision; a changed one is read again', async () => {
  const gone = await perform({ do: 'deleteStaleNode' }, true);
  expect([gone.asked, gone.memory.releasedNode]).toEqual([['DELETE theirs uid-seen 7'], 'uid-seen']);
  const changed = await perform({ do: 'deleteStaleNode' }, false);
  expect(changed.asked).toEqual(['DELETE theirs uid-seen 7', 'GET theirs']);
  expect([changed.recorded, changed.memory.releasedNode]).toEqual([['8'], undefined]);
});

test('a Node without a reporting kubelet first loses the finalizer of mcm, then is evaluated again', async () => {
  const { asked, recorded } = await perform({ do: 'deleteStaleNode' }, true, [
    'node.machine.sapcloud.io/machine-controller',
  ]);
  expect([asked, recorded]).toEqual([['PATCH theirs'], ['8']]);
});

test('an attachment is deleted by its UID, so a newer one for a Node of the same name stays', async () => {
  const attachments = [{ name: 'va', uid: 'uid-va' }];
  expect((await perform({ do: 'deleteAttachments', attachments }, true)).asked).toEqual(['DELETE va uid-va']);
});
