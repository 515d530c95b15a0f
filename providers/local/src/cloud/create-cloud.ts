import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock, Logger, Random } from '@mcm/kube';
import { Hono } from 'hono';
import type { InstanceHost, KubeletControl } from '../machine/model.ts';
import { CloudError } from './context/errors.ts';
import { Faults } from './context/faults.ts';
import { RequestLog } from './context/request-log.ts';
import { type CloudContext, type Latencies, NO_LATENCY } from './context/settings.ts';
import { accountRoutes } from './http/account-routes.ts';
import { adminRoutes } from './http/admin-routes.ts';
import { instanceRoutes } from './http/instance-routes.ts';
import { interruptionRoutes } from './http/interruption-routes.ts';
import { errorBody, operationRunner, toCloudError } from './http/operation.ts';
import { volumeRoutes } from './http/volume-routes.ts';
import { Images } from './state/images.ts';
import { Instances } from './state/instances.ts';
import { Interruptions } from './state/interruptions.ts';
import { CloudState } from './state/state.ts';
import { Volumes } from './state/volumes.ts';
import { Waiters } from './state/waiters.ts';
import { MemoryStore } from './store/memory-store.ts';
import type { CloudStore } from './store/store.ts';

/** The options of a local cloud. */
export interface CloudOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store?: CloudStore;
  /** The bearer token of clients. If `token` is undefined, requests need no token. */
  readonly token?: string | undefined;
  readonly zones?: readonly string[];
  readonly latencies?: Partial<Latencies>;
  readonly imagePolicy?: 'any' | 'registered';
  /** Runs a program on each instance. If `host` is undefined, the instances run no program. */
  readonly host?: InstanceHost & Partial<KubeletControl>;
}

/** A running cloud. */
export interface Cloud {
  fetch(request: Request): Promise<Response>;
  readonly faults: Faults;
  readonly requests: RequestLog;
  readonly instances: Instances;
  readonly volumes: Volumes;
  readonly interruptions: Interruptions;
  /**
   * Stops all timers. When the cloud starts again with the same store, it continues the transitions of instances and
   * volumes.
   */
  pause(): void;
  /** Stops all transitions and closes the store. */
  close(): void;
}

/** The zones of a cloud whose options contain no zones. */
export const DEFAULT_ZONES = ['local-a', 'local-b', 'local-c'] as const;

const nothingBoots: InstanceHost = { boot: () => undefined, halt: () => Promise.resolve(), forget: () => undefined };

/**
 * Creates a cloud.
 * @throws {StoreError} if the cloud cannot read the content of the store
 */
export function createCloud(options: CloudOptions): Cloud {
  const { clock, random, log, host = nothingBoots } = options;
  const context: CloudContext = {
    clock,
    random,
    log,
    host,
    latencies: { ...NO_LATENCY, ...options.latencies },
    zones: options.zones ?? DEFAULT_ZONES,
    imagePolicy: options.imagePolicy ?? 'any',
  };
  const store = options.store ?? new MemoryStore();
  const state = new CloudState(store);
  const waiters = new Waiters();
  const faults = new Faults(random);
  const volumes = new Volumes(context, { state, waiters });
  const instances = new Instances(context, { state, volumes, waiters, faults });
  const interruptions = new Interruptions(context, { state, instances, waiters });
  const images = new Images(context, state);
  const requests = new RequestLog();
  const app = new Hono();
  guard(app, options.token, log);
  const run = operationRunner({ clock, faults, requests, apiLatencyMs: context.latencies.apiMs, log });
  instanceRoutes(app, { context, state, instances, images, waiters }, run);
  interruptionRoutes(app, interruptions, run);
  volumeRoutes(app, { context, volumes, waiters }, run);
  accountRoutes(app, { context, state, images }, run);
  adminRoutes(app, { log, faults, requests, kubelets: kubeletControl(host) });
  volumes.resume();
  instances.resume();
  interruptions.resume();
  const pause = (): void => {
    instances.close();
    interruptions.close();
    volumes.close();
  };
  return {
    fetch: async (request) => app.fetch(request),
    faults,
    requests,
    instances,
    interruptions,
    volumes,
    pause,
    close: () => {
      pause();
      store.close();
    },
  };
}

function kubeletControl(host: InstanceHost & Partial<KubeletControl>): KubeletControl | undefined {
  const { behaviour, order } = host;
  return behaviour && order ? { behaviour: behaviour.bind(host), order: order.bind(host) } : undefined;
}

function guard(app: Hono, token: string | undefined, log: Logger): void {
  app.get('/healthz', (c) => c.text('ok'));
  app.notFound((c) =>
    c.json(
      errorBody(new CloudError('NotFound', `The local cloud does not support ${c.req.method} ${c.req.path}.`)),
      404,
    ),
  );
  app.onError((thrown, c) => {
    const error = toCloudError(thrown, log);
    return c.json(errorBody(error), error.status as 500);
  });
  if (token === undefined) return;
  const expected = digest(`Bearer ${token}`);
  app.use(async (c, next) => {
    if (timingSafeEqual(digest(c.req.header('authorization') ?? ''), expected)) return next();
    const error = new CloudError('Unauthenticated', 'The request needs the bearer token of the account.');
    return c.json(errorBody(error), 401, { 'www-authenticate': 'Bearer' });
  });
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
