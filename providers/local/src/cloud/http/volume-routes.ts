import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { Volume } from '../../machine/model.ts';
import type { CloudContext } from '../context/settings.ts';
import type { Volumes } from '../state/volumes.ts';
import type { Waiters } from '../state/waiters.ts';
import { page, readBody, tagChanges, tagFilter, tagsSchema, waitFor } from './input.ts';
import type { Answer, Prepared, RunOperation } from './operation.ts';

const createBody = z.strictObject({
  name: z.string().max(253).default(''),
  zone: z.string().optional(),
  sizeGi: z.int().positive().max(65_536),
  tags: tagsSchema.default({}),
});
const attachBody = z.strictObject({ instanceId: z.string().min(1) });

export interface VolumeRouteParts {
  readonly context: CloudContext;
  readonly volumes: Volumes;
  readonly waiters: Waiters;
}

export function volumeRoutes(app: Hono, parts: VolumeRouteParts, run: RunOperation): void {
  const { volumes } = parts;
  const path = '/v1/volumes/:id';
  app.post('/v1/volumes', (c) =>
    run(c, 'volumes.create', async () => {
      const body = await readBody(c, createBody);
      const zone = body.zone ?? parts.context.zones[0] ?? '';
      return { subject: { zone, name: body.name }, work: () => ok(201, volumes.create({ ...body, zone })) };
    }),
  );
  app.get('/v1/volumes', (c) => run(c, 'volumes.list', () => ({ work: () => list(c, volumes) })));
  app.get(path, (c) => run(c, 'volumes.get', () => onVolume(c, (id) => settled(c, parts, volumes.get(id)))));
  app.delete(path, (c) =>
    run(c, 'volumes.delete', () =>
      onVolume(c, (id) => {
        volumes.delete(id);
        return { status: 204 };
      }),
    ),
  );
  app.put(`${path}/tags`, (c) =>
    run(c, 'volumes.tag', async () => {
      const { tags } = await readBody(c, tagChanges);
      return onVolume(c, (id) => ok(200, volumes.setTags(id, tags)));
    }),
  );
  app.post(`${path}/attach`, (c) =>
    run(c, 'volumes.attach', async () => {
      const { instanceId } = await readBody(c, attachBody);
      return onVolume(c, (id) => settled(c, parts, volumes.attach(id, instanceId)));
    }),
  );
  app.post(`${path}/detach`, (c) =>
    run(c, 'volumes.detach', () => onVolume(c, (id) => settled(c, parts, volumes.detach(id)))),
  );
}

function onVolume(c: Context, work: (id: string) => Answer | Promise<Answer>): Prepared {
  return { work: () => work(c.req.param('id') ?? '') };
}

const ok = (status: number, volume: Volume): Answer => {
  const { settlesAt: _, ...reported } = volume;
  return { status, body: reported };
};

/**
 * Returns the response with a volume. With `?wait=attached|available`, the function first waits until the volume has
 * the requested state.
 */
async function settled(c: Context, parts: VolumeRouteParts, volume: Volume): Promise<Answer> {
  const wait = waitFor(c, ['attached', 'available']);
  if (wait) {
    const { clock } = parts.context;
    const reached = (): boolean => volume.state === wait.state;
    await parts.waiters.until(volume.id, reached, { clock, timeoutMs: wait.timeoutMs, signal: c.req.raw.signal });
  }
  return ok(volume.settlesAt === undefined ? 200 : 202, volume);
}

function list(c: Context, volumes: Volumes): Answer {
  const { instanceId, zone } = c.req.query();
  const tagged = tagFilter(c);
  const found = [...volumes.list()].filter(
    (volume) =>
      tagged(volume) &&
      (instanceId === undefined || volume.instanceId === instanceId) &&
      (zone === undefined || volume.zone === zone),
  );
  return { status: 200, body: page(c, found) };
}
