import { createClient, createMemoryLogger, seededRandom, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { type DrainMemory, NO_DRAIN_MEMORY } from '../drain/model/observation.ts';
import { Performer } from './calls/perform.ts';
import type { MachineMemory } from './model/memory.ts';

const status = (code: number, reason: string): Response =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason },
    { status: code },
  );

const uidsOf = ({ detachRequested }: DrainMemory): readonly string[] =>
  [...(detachRequested?.values() ?? [])].map(({ uid }) => uid);

async function detach(second: () => Response) {
  const transport: Transport = async ({ path }) =>
    path.endsWith('/second') ? second() : Response.json({ kind: 'Status', status: 'Success' });
  const clock = new VirtualClock();
  const target = createClient({ transport, userAgent: 't', clock, random: seededRandom(1) });
  const log = createMemoryLogger();
  const memory: MachineMemory = { drain: NO_DRAIN_MEMORY };
  const scope = { o: { machine: {} }, memory, now: clock.now(), signal: new AbortController().signal };
  const done = new Performer({ target, log } as never)
    .perform(
      {
        do: 'deleteAttachments',
        attachments: [
          { name: 'first', uid: 'uid-1' },
          { name: 'second', uid: 'uid-2' },
        ],
      },
      scope as never,
    )
    .then(
      () => 'done',
      (error: unknown) => String(error),
    );
  await clock.advance(600_000);
  return { said: await done, asked: uidsOf(memory.drain), log };
}

test('only a deletion of an attachment without an answer, or with a server error, is repeated', async () => {
  const lost = await detach(() => {
    throw new Error('read ECONNRESET');
  });
  expect(lost).toMatchObject({ said: expect.stringContaining('ECONNRESET'), asked: ['uid-1'] });
  const broken = await detach(() => status(500, 'InternalError'));
  expect(broken).toMatchObject({ said: expect.stringContaining('InternalError'), asked: ['uid-1'] });
});

test('a deletion that is refused permanently is not repeated, and reported once', async () => {
  const { said, asked, log } = await detach(() => status(403, 'Forbidden'));
  expect([said, asked]).toEqual(['done', ['uid-1', 'uid-2']]);
  expect(log.lines.map(({ message }) => message)).toEqual(['VolumeAttachment not deleted']);
});
