import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { durationMs } from '../../machine/behaviour.ts';
import { bootText } from '../../machine/boot-text.ts';
import type { Instance, InstanceState } from '../../machine/model.ts';
import { CloudError } from '../context/errors.ts';
import type { CloudContext } from '../context/settings.ts';
import type { Images } from '../state/images.ts';
import type { Instances } from '../state/instances.ts';
import { DEFAULT_MACHINE_TYPE } from '../state/machine-types.ts';
import type { CloudState } from '../state/state.ts';
import { visibleState } from '../state/visibility.ts';
import type { Waiters } from '../state/waiters.ts';
import { page, readBody, tagChanges, tagFilter, tagsSchema, waitFor } from './input.ts';
import type { Answer, Prepared, RunOperation, WorkContext } from './operation.ts';

const MAX_USER_DATA = 65_536;

const createBody = z
  .strictObject({
    name: z.string().min(1).max(253),
    clientToken: z.string().min(1).max(128).optional(),
    zone: z.string().optional(),
    machineType: z.string().default(DEFAULT_MACHINE_TYPE),
    image: z.string().min(1),
    tags: tagsSchema.default({}),
    userData: z.string().max(MAX_USER_DATA).default(''),
    userDataBase64: z.base64().max(MAX_USER_DATA).optional(),
    volumes: z
      .array(z.strictObject({ sizeGi: z.int().positive(), tags: tagsSchema.default({}) }))
      .max(24)
      .default([]),
    bootLatency: durationMs.optional(),
  })
  .refine(({ userData, userDataBase64 }) => userData === '' || userDataBase64 === undefined, {
    path: ['userDataBase64'],
    message: 'contradicts userData; send only one of the two fields',
  });

export interface InstanceRouteParts {
  readonly context: CloudContext;
  readonly state: CloudState;
  readonly instances: Instances;
  readonly images: Images;
  readonly waiters: Waiters;
}

const WAIT_STATES = ['running', 'stopped', 'terminated'] as const;

export function instanceRoutes(app: Hono, parts: InstanceRouteParts, run: RunOperation): void {
  const path = '/v1/instances/:id';
  app.post('/v1/instances', (c) => run(c, 'instances.create', () => prepareCreate(c, parts)));
  app.get('/v1/instances', (c) => run(c, 'instances.list', () => ({ work: (work) => list(c, parts, work) })));
  app.get(path, (c) => run(c, 'instances.get', () => onInstance(c, parts, (work) => read(c, parts, work))));
  app.delete(path, (c) => run(c, 'instances.delete', () => onInstance(c, parts, (work) => remove(c, parts, work))));
  app.post(`${path}/stop`, (c) =>
    run(c, 'instances.stop', () =>
      onInstance(c, parts, (work) => power(c, parts, parts.instances.stop(idOf(c)), work)),
    ),
  );
  app.post(`${path}/start`, (c) =>
    run(c, 'instances.start', () =>
      onInstance(c, parts, (work) => power(c, parts, parts.instances.start(idOf(c)), work)),
    ),
  );
  app.get(`${path}/console`, (c) =>
    run(c, 'instances.console', () =>
      onInstance(c, parts, () => ({ status: 200, body: { output: parts.instances.get(idOf(c)).console } })),
    ),
  );
  app.put(`${path}/tags`, (c) =>
    run(c, 'instances.tag', async () => {
      const { tags } = await readBody(c, tagChanges);
      return onInstance(c, parts, () => shown(200, parts, parts.instances.setTags(idOf(c), tags)));
    }),
  );
}

const idOf = (c: Context): string => c.req.param('id') ?? '';

async function prepareCreate(c: Context, parts: InstanceRouteParts): Promise<Prepared> {
  const body = await readBody(c, createBody);
  const zone = body.zone ?? parts.context.zones[0] ?? '';
  return {
    subject: { zone, machineType: body.machineType, name: body.name },
    work: async ({ signal }) => {
      parts.images.requireUsable(body.image);
      const { bootLatency, clientToken, userData, userDataBase64, ...rest } = body;
      const { instance, created } = parts.instances.create({
        ...rest,
        zone,
        userData: userDataBase64 === undefined ? userData : bootText(Buffer.from(userDataBase64, 'base64')),
        clientToken,
        bootLatencyMs: bootLatency,
      });
      await waited(c, parts, instance, signal);
      return shown(created ? 201 : 200, parts, instance);
    },
  };
}

/** Prepares an operation on an instance. Fault rules match the zone, the machine type and the name of the instance. */
function onInstance(c: Context, parts: InstanceRouteParts, work: Prepared['work']): Prepared {
  const instance = parts.state.instances.get(idOf(c));
  if (!instance) return { instance: idOf(c), work };
  const { zone, machineType, name } = instance;
  return { subject: { zone, machineType, name }, work };
}

async function read(c: Context, parts: InstanceRouteParts, { staleMs, signal }: WorkContext): Promise<Answer> {
  const instance = parts.instances.get(idOf(c));
  await waited(c, parts, instance, signal);
  const state = visibleState(instance, staleMs, parts.context.clock.now());
  if (state === undefined) throw new CloudError('NotFound', `Instance ${JSON.stringify(instance.id)} does not exist.`);
  return shown(200, parts, instance, state);
}

async function remove(c: Context, parts: InstanceRouteParts, { signal }: WorkContext): Promise<Answer> {
  const instance = parts.instances.terminate(idOf(c));
  await waited(c, parts, instance, signal);
  return shown(instance.state === 'terminated' ? 200 : 202, parts, instance);
}

async function power(
  c: Context,
  parts: InstanceRouteParts,
  instance: Instance,
  { signal }: WorkContext,
): Promise<Answer> {
  await waited(c, parts, instance, signal);
  return shown(instance.state === 'stopped' || instance.state === 'running' ? 200 : 202, parts, instance);
}

/** Waits until the instance has the requested state, or has passed it. */
async function waited(c: Context, parts: InstanceRouteParts, instance: Instance, signal: AbortSignal): Promise<void> {
  const wait = waitFor(c, [...WAIT_STATES]);
  if (!wait) return;
  const { clock } = parts.context;
  const reached = (): boolean => {
    if (wait.state === 'terminated') return instance.state === 'terminated';
    return instance.state !== (wait.state === 'running' ? 'pending' : 'stopping');
  };
  await parts.waiters.until(instance.id, reached, { clock, timeoutMs: wait.timeoutMs, signal });
}

/**
 * Lists instances. The list contains terminated instances only if the request filters by state, client token or name.
 */
function list(c: Context, parts: InstanceRouteParts, { staleMs }: WorkContext): Answer {
  const { name, clientToken, state, zone } = c.req.query();
  const tagged = tagFilter(c);
  const now = parts.context.clock.now();
  const found: { readonly id: string; readonly instance: Instance; readonly state: InstanceState }[] = [];
  for (const instance of candidates(parts, clientToken)) {
    const seen = visibleState(instance, staleMs, now);
    if (seen === undefined || (state === undefined ? seen === 'terminated' : seen !== state)) continue;
    if (name !== undefined && instance.name !== name) continue;
    if (zone !== undefined && instance.zone !== zone) continue;
    if (tagged(instance)) found.push({ id: instance.id, instance, state: seen });
  }
  const { items, nextPageToken } = page(c, found);
  const body = { items: items.map((item) => view(parts, item.instance, item.state)) };
  return { status: 200, body: nextPageToken === undefined ? body : { ...body, nextPageToken } };
}

function candidates(parts: InstanceRouteParts, clientToken: string | undefined): Iterable<Instance> {
  if (clientToken === undefined) return parts.instances.list();
  const id = parts.state.clientTokens.get(clientToken);
  const instance = id === undefined ? undefined : parts.state.instances.get(id);
  return instance ? [instance] : [];
}

const shown = (status: number, parts: InstanceRouteParts, instance: Instance, state?: InstanceState): Answer => ({
  status,
  body: view(parts, instance, state ?? instance.state),
});

/** Returns the instance in a response, without its user data and its console. */
function view(parts: InstanceRouteParts, instance: Instance, state: InstanceState): object {
  const { id, name, clientToken, zone, machineType, image, privateIp, createdAt, tags, terminatedAt, stateReason } =
    instance;
  const volumes = parts.state.volumesOf(id).map((volume) => volume.id);
  return {
    id,
    name,
    clientToken,
    zone,
    machineType,
    image,
    privateIp,
    createdAt,
    tags,
    state,
    volumes,
    terminatedAt,
    stateReason,
  };
}
