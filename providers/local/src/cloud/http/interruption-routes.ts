import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { durationMs } from '../../machine/behaviour.ts';
import type { Instance } from '../../machine/model.ts';
import type { Interruptions } from '../state/interruptions.ts';
import { readBody, tagFilter, waitFor } from './input.ts';
import type { Answer, RunOperation, WorkContext } from './operation.ts';

const interruptBody = z.strictObject({
  kind: z.enum(['Terminate', 'Maintenance', 'Ended', 'Freeze', 'Rebalance']).default('Terminate'),
  notice: durationMs.default(120_000),
  detail: z.string().max(200).default('the cloud needs the capacity'),
});

/**
 * Adds the routes for interruptions: `/v1/interruptions` is a queue of notices, and `/v1/instances/<id>/interrupt` adds
 * a notice.
 */
export function interruptionRoutes(app: Hono, interruptions: Interruptions, run: RunOperation): void {
  app.post('/v1/instances/:id/interrupt', (c) =>
    run(c, 'instances.interrupt', async () => {
      const { notice, kind, detail } = await readBody(c, interruptBody);
      const id = c.req.param('id');
      return {
        instance: id,
        work: () => ({ status: 202, body: shown(interruptions.announce(id, { kind, detail, noticeMs: notice })) }),
      };
    }),
  );
  app.get('/v1/interruptions', (c) =>
    run(c, 'interruptions.list', () => ({ work: (work) => list(c, interruptions, work) })),
  );
  app.delete('/v1/interruptions/:id', (c) =>
    run(c, 'interruptions.acknowledge', () => ({
      work: () => {
        interruptions.acknowledge(c.req.param('id'));
        return { status: 204 };
      },
    })),
  );
}

/** Lists the notices. With `?wait=pending&timeout=…`, the response waits for a notice. */
async function list(c: Context, interruptions: Interruptions, { signal }: WorkContext): Promise<Answer> {
  const matches = tagFilter(c);
  const wait = waitFor(c, ['pending']);
  if (wait) await interruptions.untilPending(matches, { timeoutMs: wait.timeoutMs, signal });
  return { status: 200, body: { items: interruptions.pending(matches).map(shown) } };
}

const shown = ({ id, name, zone, interruption }: Instance): object => {
  const { id: notice, kind, noticedAt, deadline, detail } = interruption ?? {};
  return { id: notice, instanceId: id, name, zone, kind, noticedAt, deadline, detail };
};
