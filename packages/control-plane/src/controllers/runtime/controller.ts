import type { Clock } from '../../apimachinery/objects/clock.ts';
import { Api, type PlaneClient, type Resource, resourceKey } from '../client/api.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../client/resources.ts';
import { Directory } from '../discovery/directory.ts';
import { type Announcer, announcerOf, EventWriter, type Recorder, recorderOf } from '../events/events.ts';
import { metadataOnly, type Projection, projectionOf } from '../objects/projections.ts';
import { Informer } from './informer.ts';
import { WorkQueue } from './queue.ts';

/** The environment of the controllers. */
export interface RuntimeEnvironment {
  readonly client: PlaneClient;
  readonly clock: Clock;
  /** Returns a number in [0, 1), for the names of pods. */
  readonly random: () => number;
  /** Reports a failed key, which the queue retries. */
  readonly onError?: ((controller: string, key: string, error: unknown) => void) | undefined;
}

/** The API, caches and queues of a controller stop with the control plane. */
export interface ControllerContext {
  readonly api: Api;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** The cache starts after the setup of all controllers. */
  readonly informer: (resource: Resource) => Informer;
  /** A cache of metadata only. Controllers may request a cache of metadata even after the setup. */
  readonly metadataInformer: (resource: Resource) => Informer;
  /** Stops the shared cache of a resource that the server no longer serves. */
  readonly drop: (resource: Resource) => void;
  readonly directory: Directory;
  readonly queue: (work: (key: string) => Promise<void>) => WorkQueue;
  readonly recorder: (component: string) => Recorder;
  /** The program `userAgent` is the field manager of the events. */
  readonly announcer: (component: string, userAgent: string) => Announcer;
}

/**
 * One controller. `setup` requests caches, and connects event handlers with queues. The queues start when all caches
 * are filled.
 */
export interface Controller {
  readonly name: string;
  /** Without this alpha API version, the controller does not run. */
  readonly needs?: string;
  readonly setup: (context: ControllerContext) => void;
}

/** A queue that processes no keys until the queue is opened. */
class GatedQueue extends WorkQueue {
  #open = false;
  readonly #held = new Set<string>();

  override add(key: string): void {
    if (this.#open) super.add(key);
    else this.#held.add(key);
  }

  open(): void {
    this.#open = true;
    for (const key of this.#held) super.add(key);
    this.#held.clear();
  }
}

/**
 * The controllers share one set of caches, and run until the signal aborts. The promise resolves when all caches are
 * filled.
 */
export async function runControllers(
  controllers: readonly Controller[],
  environment: RuntimeEnvironment,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock } = environment;
  const api = new Api(client);
  const informers = new Map<string, Informer>();
  const queues: GatedQueue[] = [];
  let started = false;

  const share = (resource: Resource, project: Projection): Informer => {
    const key = resourceKey(resource);
    let informer = informers.get(key);
    if (informer === undefined) {
      informer = new Informer(api, clock, resource, project);
      informers.set(key, informer);
      if (started) void informer.start(signal);
    }
    return informer;
  };

  const directory = new Directory(api, clock);
  const eventsOf = (own: Api): EventWriter =>
    new EventWriter(own, clock, (key, error) => environment.onError?.('events', key, error));
  const events = eventsOf(api);
  for (const { name, setup } of controllers) {
    setup({
      api,
      clock,
      random: environment.random,
      signal,
      informer: (resource) => share(resource, projectionOf(resource)),
      metadataInformer: (resource) => share(resource, metadataOnly),
      drop: (resource) => {
        const key = resourceKey(resource);
        informers.get(key)?.stop();
        informers.delete(key);
      },
      directory,
      recorder: (component) => recorderOf(events, component),
      announcer: (component, userAgent) => announcerOf(eventsOf(api.as(userAgent)), component),
      queue: (work) => {
        const queue = new GatedQueue(clock, work, (key, error) => environment.onError?.(name, key, error));
        queues.push(queue);
        if (started) queue.open();
        return queue;
      },
    });
  }
  signal.addEventListener('abort', () => {
    for (const queue of queues) queue.stop();
  });
  share(CUSTOM_RESOURCE_DEFINITIONS, projectionOf(CUSTOM_RESOURCE_DEFINITIONS)).onChange(({ type, object, old }) =>
    directory.definitionChanged(type === 'deleted' ? undefined : object, old),
  );
  await directory.refresh();
  await Promise.all([...informers.values()].map((informer) => informer.start(signal)));
  started = true;
  // Starts the caches that controllers requested during the setup.
  for (const informer of informers.values()) void informer.start(signal);
  for (const queue of queues) queue.open();
}
